#include "agent/skills/github.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/scan/engine/encodings.h"

namespace skills {
namespace {

using base::ErrorCode;
using testing::ElementsAre;
using testing::HasSubstr;

json::object file(const std::string& text) {
    return {{"type", "file"},
            {"encoding", "base64"},
            {"size", text.size()},
            {"content", scan::base64(text)},
            {"download_url", "https://example.com/ignored"}};
}

// A repository by the paths that are asked for.
class Repository {
public:
    Fetch fetch() {
        return [this](const std::string& url) -> base::Result<Fetched> {
            asked.push_back(url);
            const auto found = answers.find(url);
            if (found == answers.end()) return Fetched{404, "{}"};
            return Fetched{200, base::json_text(found->second)};
        };
    }
    std::map<std::string, json::value> answers;
    std::vector<std::string> asked;
};

// contract: INIT-06
TEST(GithubUrl, HasOwnerRepositoryRefAndFolder) {
    const auto folder = parse_github_url("https://github.com/o/r/tree/main/a/b").value();
    EXPECT_EQ(folder.owner, "o");
    EXPECT_EQ(folder.repo, "r");
    EXPECT_THAT(folder.rest, ElementsAre("main", "a", "b"));
    Repository repository;
    repository.answers["api/repos/o/r/contents/b/AGENTS.md?ref=main%2Fa"] = file("hi");
    Github github(repository.fetch(), "api");
    const auto found = github.find(folder, "AGENTS.md").value();
    EXPECT_EQ(found.ref, "main/a");
    EXPECT_EQ(found.path, "b");
    EXPECT_EQ(found.text, "hi");
    EXPECT_EQ(repository.asked.front(), "api/repos/o/r/contents/a/b/AGENTS.md?ref=main");
    for (const char* wrong :
         {"https://github.com/o/r", "https://github.com/o/r/blob/main/a",
          "https://github.com/o/r/tree/main", "http://github.com/o/r/tree/main/a",
          "https://github.com.evil.com/o/r/tree/main/a", "https://github.com/o/r/tree/main/a?x",
          "https://github.com/o/r/tree/main/../a", "https://github.com/o//tree/main/a",
          "https://github.com/o/r/tree/main/%2e%2e", "file:///etc"})
        EXPECT_EQ(parse_github_url(wrong).error().code, ErrorCode::InvalidInput) << wrong;
}

TEST(GithubFolder, IsReadWithAllItsFiles) {
    Repository repository;
    const std::string at = "api/repos/o/r/contents/skills/pdf";
    repository.answers[at] = json::array{json::object{{"name", "SKILL.md"}, {"type", "file"}},
                                         json::object{{"name", "scripts"}, {"type", "dir"}}};
    repository.answers[at + "/scripts"] =
        json::array{json::object{{"name", "run.sh"}, {"type", "file"}}};
    repository.answers[at + "/SKILL.md"] = file("how to");
    repository.answers[at + "/scripts/run.sh"] = file("#!/bin/sh\n");
    Github github(repository.fetch(), "api");
    const Tree expected{"pdf", {{"SKILL.md", "how to"}, {"scripts/run.sh", "#!/bin/sh\n", true}}};
    EXPECT_EQ(read_remote(github, "o/r@pdf", std::nullopt), expected);
    EXPECT_EQ(read_remote(github, "o/r", "pdf"), expected);
    EXPECT_EQ(read_remote(github, "o/r/skills/pdf", std::nullopt), expected);
    EXPECT_EQ(read_remote(github, "o/r@other", std::nullopt).error().code, ErrorCode::NotFound);
    for (const char* wrong : {"o", "o/r", "-x", "o/../r@a", "o/r@a/b", "o/r@.."})
        EXPECT_EQ(read_remote(github, wrong, std::nullopt).error().code, ErrorCode::InvalidInput)
            << wrong;
}

TEST(GithubFolder, IsRefusedWithLinksBadNamesOrTooMuch) {
    const std::string at = "api/repos/o/r/contents/skills/pdf";
    const auto read = [&](json::value listing) {
        Repository repository;
        repository.answers[at + "/SKILL.md"] = file("x");
        repository.answers[at] = std::move(listing);
        Github github(repository.fetch(), "api");
        return read_remote(github, "o/r@pdf", std::nullopt);
    };
    const json::object skill{{"name", "SKILL.md"}, {"type", "file"}};
    EXPECT_TRUE(read(json::array{skill}));
    EXPECT_EQ(
        read(json::array{skill, json::object{{"name", "l"}, {"type", "symlink"}}}).error().code,
        ErrorCode::Refused);
    for (const char* name : {"..", "a/b", ""})
        EXPECT_EQ(
            read(json::array{skill, json::object{{"name", name}, {"type", "file"}}}).error().code,
            ErrorCode::Refused)
            << name;
    json::array many;
    for (std::size_t i = 0; i <= kTreeFilesMax; ++i) many.push_back(skill);
    EXPECT_EQ(read(many).error().code, ErrorCode::InvalidInput);
}

TEST(Github, SaysWhatWentWrong) {
    Github limited([](const std::string&) { return base::Result<Fetched>(Fetched{403, ""}); },
                   "api");
    EXPECT_THAT(limited.read("o", "r", "", "f").error().message, HasSubstr("limit"));
    Github broken([](const std::string&) { return base::Result<Fetched>(Fetched{200, "<html>"}); },
                  "api");
    EXPECT_EQ(broken.read("o", "r", "", "f").error().code, ErrorCode::Unavailable);
    Github none({}, "api");
    EXPECT_EQ(none.read("o", "r", "", "f").error().code, ErrorCode::Unavailable);
}

}  // namespace
}  // namespace skills
