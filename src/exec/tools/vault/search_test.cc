#include "exec/tools/vault/search.h"

#include <filesystem>

#include <gmock/gmock.h>

#include "exec/tools/patch/folder_for_test.h"
#include "exec/tools/vault/walk.h"

namespace vault {
namespace {

class SearchTest : public testing::Test {
protected:
    Root root() { return Root::open(folder_.path()).value(); }
    // "path:line:column text" for each hit.
    std::vector<std::string> find(const Search& what) {
        std::vector<std::string> out;
        for (const auto& hit : search(root(), what).value().hits)
            out.push_back(fmt::format("{}:{}:{} {}", hit.path, hit.line, hit.column, hit.text));
        return out;
    }
    std::vector<std::string> list(const WalkOptions& options = {}) {
        std::vector<std::string> out;
        EXPECT_TRUE(walk(root(), options, [&](const Entry& entry) {
            out.push_back(entry.path);
            return true;
        }));
        return out;
    }
    patch::TestFolder folder_;
};

using testing::ElementsAre;

TEST_F(SearchTest, FindsLinesByTextAndByExpression) {
    folder_.write("a.md", "One\ntwo ONE\n\nthree (1+1)\n");
    folder_.write("b/c.md", "äö one one\n");
    EXPECT_THAT(find({.query = "one"}),
                ElementsAre("a.md:1:1 One", "a.md:2:5 two ONE", "b/c.md:1:4 äö one one"));
    EXPECT_THAT(find({.query = "one", .case_sensitive = true}),
                ElementsAre("b/c.md:1:4 äö one one"));
    EXPECT_THAT(find({.query = "(1+1)"}), ElementsAre("a.md:4:7 three (1+1)"));
    EXPECT_THAT(find({.query = "^t\\w+", .regex = true}),
                ElementsAre("a.md:2:1 two ONE", "a.md:4:1 three (1+1)"));
    EXPECT_THAT(find({.query = "one", .folder = "b"}), ElementsAre("b/c.md:1:4 äö one one"));
    EXPECT_THAT(find({.query = "one", .glob = "c.*"}), ElementsAre("b/c.md:1:4 äö one one"));
    EXPECT_EQ(search(root(), {.query = "(", .regex = true}).error().kind, "invalid_tool_input");
    EXPECT_EQ(search(root(), {.query = "x", .folder = "gone"}).error().kind, "missing_file");
}

TEST_F(SearchTest, RespectsIgnoreFilesAlsoOfFoldersAbove) {
    folder_.write(".gitignore", "*.log\nbuild/\n");
    folder_.write("d/.ignore", "!keep.log\nprivate.md\n");
    for (const auto* path : {"a.md", "a.log", "build/x.md", "d/keep.log", "d/b.log", "d/private.md",
                             ".git/x.md", ".trash/x.md", "d/e/f.log", "d/e/f.md"})
        folder_.write(path, "x\n");
    EXPECT_THAT(list(), ElementsAre(".gitignore", "a.md", "d", "d/.ignore", "d/e", "d/e/f.md",
                                    "d/keep.log"));
    EXPECT_THAT(list({.folder = "d/e"}), ElementsAre("d/e/f.md"));
    EXPECT_THAT(list({.folder = "d", .recursive = false}),
                ElementsAre("d/.ignore", "d/e", "d/keep.log"));
    EXPECT_THAT(list({.folder = "d/e", .with_ignored = true}),
                ElementsAre("d/e/f.log", "d/e/f.md"));
    EXPECT_THAT(find({.query = "x", .glob = "*.log"}), ElementsAre("d/keep.log:1:1 x"));
}

TEST_F(SearchTest, IsBoundedAndSaysSo) {
    std::string lines;
    for (int i = 0; i < 50; ++i) lines += "x\n";
    folder_.write("a.md", lines);
    folder_.write("b.bin", std::string("x\0x", 3));
    folder_.write("c.md", std::string(5000, '-') + "needle" + std::string(5000, '-'));
    std::filesystem::create_symlink("a.md", folder_.at("link.md"));
    const auto found = search(root(), {.query = "x", .hits_max = 10}).value();
    EXPECT_EQ(found.hits.size(), 10u);
    EXPECT_TRUE(found.truncated);
    const auto all = search(root(), {.query = "x", .hits_max = 50}).value();
    EXPECT_EQ(all.hits.size(), 50u);
    EXPECT_FALSE(all.truncated);
    EXPECT_EQ(all.skipped, 1u);
    const auto hit = search(root(), {.query = "needle"}).value().hits.at(0);
    EXPECT_EQ(hit.column, 5001);
    EXPECT_LT(hit.text.size(), 500u);
    EXPECT_THAT(hit.text, testing::HasSubstr("-needle-"));
}

TEST_F(SearchTest, StopsWhenItIsCancelled) {
    folder_.write("a.md", "x");
    const std::atomic<bool> stop{true};
    EXPECT_EQ(search(root(), {.query = "x", .stop = &stop}).error().kind, "tool_cancelled");
}

TEST_F(SearchTest, CountsNamesThatNoCallCanSay) {
    folder_.write("odd\xff.md", "x");
    folder_.write("a.md", "x");
    const auto walked = walk(root(), {}, [](const Entry&) { return true; }).value();
    EXPECT_EQ(walked.unnamed, 1u);
    EXPECT_THAT(list(), ElementsAre("a.md"));
}

}  // namespace
}  // namespace vault
