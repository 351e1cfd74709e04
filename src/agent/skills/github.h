// Files of a repository on GitHub, through its contents API.
//
// The answers are untrusted: sizes and counts are bounded, names are checked, links are refused.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/skills/tree.h"
#include "base/json.h"
#include "base/result.h"

namespace skills {

inline constexpr std::string_view kGithubApi = "https://api.github.com";
inline constexpr std::size_t kAnswerBytesMax = std::size_t{8} << 20;
// Requests that one install may make.
inline constexpr std::size_t kRequestsMax = 600;

struct Fetched {
    std::int64_t status{0};
    std::string body;
};
// Answers a GET. An Error means that no answer came. Blocks; any thread but the loop's.
using Fetch = std::function<base::Result<Fetched>(const std::string& url)>;

// A folder in a repository. `rest` has the ref and the path, of which nobody knows where one ends
// and the other begins: branches may have slashes.
struct GithubFolder {
    std::string url;
    std::string owner;
    std::string repo;
    std::vector<std::string> rest;
    friend bool operator==(const GithubFolder&, const GithubFolder&) = default;
};

// Of https://github.com/<owner>/<repo>/tree/<ref>/<path>. InvalidInput, with the form, for anything
// else.
base::Result<GithubFolder> parse_github_url(std::string_view url);

class Github {
public:
    Github(Fetch fetch, std::string api_base)
        : fetch_(std::move(fetch)), api_base_(std::move(api_base)) {}

    // The folder split in a ref and a path, so that `file` is in it: with the shortest ref.
    // NotFound when no split has the file.
    struct Found {
        std::string ref;
        std::string path;
        std::string text;  // Of the file.
    };
    base::Result<Found> find(const GithubFolder& folder, std::string_view file);

    // The content of a file; nothing when there is none. An empty ref is the default branch.
    base::Result<std::optional<std::string>> read(const std::string& owner, const std::string& repo,
                                                  const std::string& ref, const std::string& path);

    // All files below a folder, as a skill named like the folder.
    base::Result<Tree> read_folder(const std::string& owner, const std::string& repo,
                                   const std::string& ref, const std::string& path);

private:
    base::Result<std::optional<json::value>> contents(const std::string& owner,
                                                      const std::string& repo,
                                                      const std::string& ref,
                                                      const std::string& path);
    base::Status add_folder(Tree& tree, const std::string& owner, const std::string& repo,
                            const std::string& ref, const std::string& path,
                            const std::string& inner, std::size_t depth);

    Fetch fetch_;
    std::string api_base_;
    std::size_t requests_{0};
};

// What `skills install --remote` and templates name: a tree URL, owner/repo/path, owner/repo@skill,
// or owner/repo with `skill`. The skill is looked for where repositories keep them.
base::Result<Tree> read_remote(Github& github, const std::string& package,
                               const std::optional<std::string>& skill);

}  // namespace skills
