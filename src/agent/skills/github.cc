#include "agent/skills/github.h"

#include <algorithm>
#include <ranges>

#include "base/json.h"
#include "base/scan/engine/encodings.h"
#include "base/text.h"

namespace skills {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::string_view kUrlStart = "https://github.com/";
constexpr std::size_t kUrlCharsMax = 1024;
// Where repositories keep skills.
constexpr const char* kSkillFolders[] = {"skills/", "", ".agents/skills/", ".codex/skills/",
                                         ".claude/skills/"};

std::vector<std::string> split(std::string_view text, char at) {
    std::vector<std::string> parts;
    for (const auto& part : std::views::split(text, at))
        parts.emplace_back(part.begin(), part.end());
    return parts;
}

std::string joined(const std::vector<std::string>& parts, std::size_t from, std::size_t to) {
    std::string text;
    for (std::size_t i = from; i < to; ++i) text += (i == from ? "" : "/") + parts[i];
    return text;
}

// Owner, repository, or a part of a path.
bool is_part(std::string_view part) {
    return is_tree_path(part) && !part.contains('%') && !part.contains('/');
}

std::string encoded_path(std::string_view path) {
    std::string text;
    for (const auto& part : split(path, '/'))
        text += (text.empty() ? "" : "/") + base::percent_encoded(part);
    return text;
}

std::string in_quotes(std::string_view text) {
    return "'" + base::printable(base::ellipsize(base::to_utf8(text), 120)) + "'";
}

}  // namespace

base::Result<GithubFolder> parse_github_url(std::string_view url) {
    const auto refuse = [&] {
        return fail(ErrorCode::InvalidInput,
                    "{} is not a folder on GitHub; use "
                    "https://github.com/<owner>/<repo>/tree/<ref>/<path>",
                    in_quotes(url));
    };
    if (!url.starts_with(kUrlStart) || url.size() > kUrlCharsMax) return refuse();
    std::string_view rest = url.substr(kUrlStart.size());
    if (rest.ends_with('/')) rest.remove_suffix(1);
    if (rest.find_first_of("?#") != std::string_view::npos) return refuse();
    auto parts = split(rest, '/');
    if (parts.size() < 5 || parts[2] != "tree" || !std::ranges::all_of(parts, is_part))
        return refuse();
    GithubFolder folder{.url = std::string(url), .owner = parts[0], .repo = parts[1]};
    folder.rest.assign(parts.begin() + 3, parts.end());
    return folder;
}

base::Result<std::optional<json::value>> Github::contents(const std::string& owner,
                                                          const std::string& repo,
                                                          const std::string& ref,
                                                          const std::string& path) {
    if (!fetch_)
        return fail(ErrorCode::Unavailable, "this runtime cannot fetch anything from GitHub");
    if (++requests_ > kRequestsMax)
        return fail(ErrorCode::InvalidInput, "{}/{} needs more than {} requests", owner, repo,
                    kRequestsMax);
    std::string url =
        fmt::format("{}/repos/{}/{}/contents/{}", api_base_, base::percent_encoded(owner),
                    base::percent_encoded(repo), encoded_path(path));
    if (!ref.empty()) url += "?ref=" + base::percent_encoded(ref);
    const auto answer = TRY(fetch_(url));
    if (answer.status == 404) return std::nullopt;
    if (answer.status == 403 || answer.status == 429)
        return fail(ErrorCode::Unavailable,
                    "GitHub refused {} (HTTP {}); its limit for requests without a login may be "
                    "reached: try again later",
                    url, answer.status);
    if (answer.status != 200)
        return fail(ErrorCode::Unavailable, "GitHub answered {} with HTTP {}", url, answer.status);
    auto value = base::parse_json(answer.body);
    if (!value)
        return fail(ErrorCode::Unavailable, "the answer to {} is not JSON: {}", url,
                    value.error().message);
    return std::move(*value);
}

base::Result<std::optional<std::string>> Github::read(const std::string& owner,
                                                      const std::string& repo,
                                                      const std::string& ref,
                                                      const std::string& path) {
    const auto value = TRY(contents(owner, repo, ref, path));
    if (!value) return std::nullopt;
    const std::string where = fmt::format("{}/{}: {}", owner, repo, base::printable(path));
    if (base::string_at(*value, "type") != "file")
        return fail(ErrorCode::Refused, "{} is a link or no file", where);
    if (base::string_at(*value, "encoding") != "base64")
        return fail(ErrorCode::InvalidInput, "{} is too large for the contents API", where);
    std::string bytes = scan::decode_base64(base::string_at(*value, "content"), kTreeBytesMax);
    if (base::int_at(*value, "size", std::ssize(bytes)) != std::ssize(bytes))
        return fail(ErrorCode::Unavailable, "the content of {} came incomplete", where);
    return bytes;
}

base::Result<Github::Found> Github::find(const GithubFolder& folder, std::string_view file) {
    // At least one part is the path.
    for (std::size_t parts = 1; parts < folder.rest.size(); ++parts) {
        Found found{.ref = joined(folder.rest, 0, parts),
                    .path = joined(folder.rest, parts, folder.rest.size())};
        auto text =
            TRY(read(folder.owner, folder.repo, found.ref, found.path + "/" + std::string(file)));
        if (!text) continue;
        found.text = std::move(*text);
        return found;
    }
    return fail(ErrorCode::NotFound, "there is no {} in {}", file, folder.url);
}

base::Status Github::add_folder(Tree& tree, const std::string& owner, const std::string& repo,
                                const std::string& ref, const std::string& path,
                                const std::string& inner, std::size_t depth) {
    const std::string where = fmt::format("{}/{}: {}", owner, repo, base::printable(path));
    if (depth > kTreeDepthMax)
        return fail(ErrorCode::InvalidInput, "{} has folders more than {} deep", where,
                    kTreeDepthMax);
    const auto list = TRY(contents(owner, repo, ref, path));
    if (!list || !list->is_array()) return fail(ErrorCode::NotFound, "{} is not a folder", where);
    for (const auto& entry : list->get_array()) {
        const std::string name = base::string_at(entry, "name");
        const std::string type = base::string_at(entry, "type");
        if (!is_part(name))
            return fail(ErrorCode::Refused, "{} has an entry with a name that is not allowed: {}",
                        where, in_quotes(name));
        const std::string relative = inner.empty() ? name : inner + "/" + name;
        if (type == "dir") {
            TRY(add_folder(tree, owner, repo, ref, path + "/" + name, relative, depth + 1));
            continue;
        }
        if (type != "file")
            return fail(ErrorCode::Refused, "{}/{} is a link or no file; a skill must not have one",
                        where, base::printable(name));
        if (tree.files.size() >= kTreeFilesMax)
            return fail(ErrorCode::InvalidInput, "{} has more than {} files", where, kTreeFilesMax);
        auto text = TRY(read(owner, repo, ref, path + "/" + name));
        if (!text) return fail(ErrorCode::NotFound, "{}/{} is gone", where, name);
        // The API does not say which files can be executed; scripts say so themselves.
        const bool runs = text->starts_with("#!");
        tree.files.push_back({relative, std::move(*text), runs});
    }
    return {};
}

base::Result<Tree> Github::read_folder(const std::string& owner, const std::string& repo,
                                       const std::string& ref, const std::string& path) {
    Tree tree{.name = path.substr(path.rfind('/') + 1)};
    TRY(add_folder(tree, owner, repo, ref, path, "", 0));
    std::ranges::sort(tree.files, {}, &TreeFile::path);
    TRY(check(tree));
    return tree;
}

base::Result<Tree> read_remote(Github& github, const std::string& package,
                               const std::optional<std::string>& skill) {
    if (package.contains("://")) {
        const auto folder = TRY(parse_github_url(package));
        const auto found = TRY(github.find(folder, kSkillFile));
        return github.read_folder(folder.owner, folder.repo, found.ref, found.path);
    }
    std::string place = package;
    std::optional<std::string> name = skill;
    if (const auto at = place.rfind('@'); at != std::string::npos) {
        if (!name) name = place.substr(at + 1);
        place.resize(at);
    }
    const auto parts = split(place, '/');
    if (parts.size() < 2 || !std::ranges::all_of(parts, is_part) ||
        (name && !is_skill_name(*name)) || (!name && parts.size() < 3))
        return fail(ErrorCode::InvalidInput,
                    "{} does not name a skill; use owner/repo@skill, owner/repo/path, or "
                    "https://github.com/<owner>/<repo>/tree/<ref>/<path>",
                    in_quotes(package));
    const std::string below = joined(parts, 2, parts.size());
    std::vector<std::string> places;
    if (!name) places.push_back(below);
    if (name && !below.empty()) places.push_back(below + "/" + *name);
    if (name && below.empty())
        for (const char* folder : kSkillFolders) places.push_back(folder + *name);
    for (const auto& path : places)
        if (TRY(github.read(parts[0], parts[1], "", path + "/" + kSkillFile)))
            return github.read_folder(parts[0], parts[1], "", path);
    return fail(ErrorCode::NotFound, "there is no skill {} in {}/{}", name ? *name : below,
                parts[0], parts[1]);
}

}  // namespace skills
