// Undoing an earlier plan run from its entries, also after hostile changes.
#include <fcntl.h>

#include <atomic>
#include <ranges>
#include <thread>

#include <gmock/gmock.h>

#include "base/ids.h"
#include "exec/results/artifacts.h"
#include "exec/tools/patch/folder_for_test.h"
#include "exec/tools/vault/decide.h"

namespace vault {
namespace {

namespace fs = std::filesystem;

class UndoTest : public testing::Test {
protected:
    UndoTest() { fs::create_directories(folder_.at("v")); }

    void write(std::string_view path, std::string_view bytes) {
        folder_.write(std::string(path), bytes, 0644);
    }
    std::string keep(std::string_view bytes) { return sink_.store("before", bytes).value(); }
    Outcome<Done> undo(const UndoEntry& entry) {
        const Root root = Root::open(folder_.at("v")).value();
        return execute(root, [&](bool) { return decide_undo(root, entry, kept_); }, sink_);
    }
    std::string kind(const UndoEntry& entry) {
        const auto done = undo(entry);
        return done ? "ok" : done.error().kind;
    }
    std::map<std::string, std::string> below(const std::string& top) {
        std::map<std::string, std::string> out;
        for (const auto& [path, text] : folder_.all())
            if (path.starts_with(top + "/")) out[path.substr(top.size() + 1)] = text;
        return out;
    }

    patch::TestFolder folder_{patch::TestFolder::in_memory()};
    fs::path kept_{folder_.path() / "kept"};
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    results::FileArtifacts sink_{kept_ / "run", "before", ids_};
};

TEST_F(UndoTest, TakesEveryKindOfChangeBackAndNotesHowToTakeThatBack) {
    write("v/new.md", "new");
    write("v/changed.md", "after");
    write("v/to.md", "moved");
    fs::create_directories(folder_.at("v/made"));
    const auto before = below("v");
    const std::vector<UndoEntry> entries{
        {.action = Action::Create, .path = "new.md", .afterEtag = etag("new")},
        {.action = Action::Modify,
         .path = "changed.md",
         .beforeEtag = etag("before"),
         .afterEtag = etag("after"),
         .beforeArtifact = keep("before")},
        {.action = Action::Rename, .path = "to.md", .from = "a/b/from.md"},
        {.action = Action::Mkdir, .path = "made"},
        {.action = Action::Delete,
         .path = "x/gone.md",
         .beforeEtag = etag("gone"),
         .beforeArtifact = keep("gone")},
        {.action = Action::Rmdir, .path = "y"}};
    std::vector<UndoEntry> back;
    for (const auto& entry : entries) {
        const auto done = undo(entry);
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_TRUE(done->performed.effects.side_effects_observed);
        std::ranges::copy(done->performed.undo, std::back_inserter(back));
    }
    EXPECT_EQ(below("v"), (std::map<std::string, std::string>{{"a", "folder"},
                                                              {"a/b", "folder"},
                                                              {"a/b/from.md", "644 moved"},
                                                              {"changed.md", "644 before"},
                                                              {"x", "folder"},
                                                              {"x/gone.md", "644 gone"},
                                                              {"y", "folder"}}));
    for (const auto& entry : back | std::views::reverse) EXPECT_EQ(kind(entry), "ok") << entry.path;
    EXPECT_EQ(below("v"), before);
}

TEST_F(UndoTest, TwiceIsAsGoodAsOnce) {
    write("v/changed.md", "after");
    write("v/to.md", "moved");
    const std::vector<UndoEntry> entries{
        {.action = Action::Modify,
         .path = "changed.md",
         .beforeEtag = etag("before"),
         .afterEtag = etag("after"),
         .beforeArtifact = keep("before")},
        {.action = Action::Rename, .path = "to.md", .from = "from.md"},
        {.action = Action::Delete,
         .path = "gone.md",
         .beforeEtag = etag("gone"),
         .beforeArtifact = keep("gone")},
        {.action = Action::Rmdir, .path = "y"}};
    for (const auto& entry : entries) EXPECT_EQ(kind(entry), "ok");
    const auto once = below("v");
    for (const auto& entry : entries) {
        const auto done = undo(entry);
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_TRUE(done->decision.steps.empty());
    }
    EXPECT_EQ(below("v"), once);
    write("v/gone.md", "another");
    EXPECT_EQ(kind(entries[2]), "conflict");
}

TEST_F(UndoTest, LeavesAloneWhatIsNotWhatTheRunLeft) {
    write("v/a.md", "edited");
    write("v/again.md", "x");
    write("v/full/b.md", "x");
    const auto before = below("v");
    EXPECT_EQ(kind({.action = Action::Create, .path = "a.md", .afterEtag = etag("run's")}),
              "conflict");
    EXPECT_EQ(kind({.action = Action::Create, .path = "a.md"}), "precondition_failed");
    EXPECT_EQ(kind({.action = Action::Modify,
                    .path = "a.md",
                    .afterEtag = etag("run's"),
                    .beforeArtifact = keep("old")}),
              "conflict");
    EXPECT_EQ(kind({.action = Action::Delete, .path = "again.md", .beforeArtifact = keep("x")}),
              "conflict");
    EXPECT_EQ(kind({.action = Action::Rename, .path = "a.md", .from = "again.md"}), "conflict");
    EXPECT_EQ(kind({.action = Action::Mkdir, .path = "full"}), "conflict");
    EXPECT_EQ(kind({.action = Action::Create, .path = "never.md", .afterEtag = etag("x")}), "ok")
        << "gone already";
    EXPECT_EQ(below("v"), before);
}

TEST_F(UndoTest, RestoresOnlyWhatRunsKept) {
    write("secret", "s");
    write("v/a.md", "x");
    keep("something");
    fs::create_symlink(folder_.at("secret"), kept_ / "link");
    fs::create_directory_symlink(folder_.path(), kept_ / "up");
    for (const std::string& artifact :
         {folder_.at("secret"), (kept_ / "../secret").string(),
          (kept_ / "run/../../secret").string(), (kept_ / "link").string(),
          (kept_ / "up/secret").string(), std::string("/etc/hostname"), std::string("secret"),
          std::string()}) {
        const auto done =
            undo({.action = Action::Delete, .path = "leak.md", .beforeArtifact = artifact});
        ASSERT_FALSE(done) << artifact;
        EXPECT_THAT(done.error().kind,
                    testing::AnyOf("policy_denied", "path_escape", "precondition_failed"))
            << artifact;
    }
    EXPECT_EQ(below("v"), (std::map<std::string, std::string>{{"a.md", "644 x"}}));
}

TEST_F(UndoTest, FollowsNoLinkThatWasPutInTheWay) {
    write("outside/a.md", "same");
    write("v/d/b.md", "b");
    fs::create_symlink(folder_.at("outside/a.md"), folder_.at("v/a.md"));
    fs::create_directory_symlink(folder_.at("outside"), folder_.at("v/out"));
    const std::vector<UndoEntry> entries{
        {.action = Action::Create, .path = "a.md", .afterEtag = etag("same")},
        {.action = Action::Create, .path = "out/a.md", .afterEtag = etag("same")},
        {.action = Action::Modify,
         .path = "a.md",
         .afterEtag = etag("same"),
         .beforeArtifact = keep("evil")},
        {.action = Action::Modify,
         .path = "out/a.md",
         .afterEtag = etag("same"),
         .beforeArtifact = keep("evil")},
        {.action = Action::Rename, .path = "d/b.md", .from = "out/b.md"},
        {.action = Action::Delete, .path = "out/new.md", .beforeArtifact = keep("evil")},
        {.action = Action::Mkdir, .path = "out/../outside"},
        {.action = Action::Delete, .path = "../evil.md", .beforeArtifact = keep("evil")},
        {.action = Action::Delete, .path = "/tmp/evil.md", .beforeArtifact = keep("evil")}};
    for (const auto& entry : entries) EXPECT_NE(kind(entry), "ok") << entry.path;
    EXPECT_EQ(below("outside"), (std::map<std::string, std::string>{{"a.md", "644 same"}}));
    EXPECT_TRUE(fs::is_symlink(folder_.at("v/a.md")));
    EXPECT_TRUE(fs::exists(folder_.at("v/d/b.md")));
}

// The folder turns into a link that leads out, and back, all the time.
TEST_F(UndoTest, TouchesNothingOutsideWhileAFolderIsSwappedForALink) {
    write("outside/n.md", "mine");
    write("outside/m.md", "after");
    fs::create_directories(folder_.at("v/d"));
    fs::create_directory_symlink(folder_.at("outside"), folder_.at("v/link"));
    std::atomic<bool> stop{false};
    std::atomic<int> swaps{0};
    const std::string folder = folder_.at("v/d"), link = folder_.at("v/link");
    const auto swap = [&] {
        ::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
    };
    std::jthread swapper([&] {
        for (; !stop; ++swaps) swap();
        if (!fs::is_symlink(link)) swap();
    });
    const std::string before = keep("before");
    const std::vector<UndoEntry> entries{
        {.action = Action::Delete, .path = "d/n.md", .beforeArtifact = keep("mine")},
        {.action = Action::Create, .path = "d/n.md", .afterEtag = etag("mine")},
        {.action = Action::Delete, .path = "d/m.md", .beforeArtifact = keep("after")},
        {.action = Action::Modify,
         .path = "d/m.md",
         .afterEtag = etag("after"),
         .beforeArtifact = before},
        {.action = Action::Create, .path = "d/m.md", .afterEtag = etag("before")}};
    int succeeded = 0, refused = 0;
    for (int i = 0; i < 300 || swaps < 1000; ++i)
        for (const auto& entry : entries) ++(undo(entry) ? succeeded : refused);
    stop = true;
    swapper.join();
    EXPECT_EQ(below("outside"),
              (std::map<std::string, std::string>{{"m.md", "644 after"}, {"n.md", "644 mine"}}));
    EXPECT_GT(succeeded, 0);
    EXPECT_GT(refused, 0) << "the race was never met";
}

// A person saves the note while it is being removed: the new text is not lost.
TEST_F(UndoTest, NeverRemovesAnEditThatCameMeanwhile) {
    const std::string path = folder_.at("v/a.md"), edit = folder_.at("v/edit.md");
    int removed = 0, kept = 0;
    for (int i = 0; i < 100; ++i) {
        write("v/a.md", "run's");
        write("v/edit.md", "edited");
        std::jthread editor([&] { ::rename(edit.c_str(), path.c_str()); });
        const bool done =
            kind({.action = Action::Create, .path = "a.md", .afterEtag = etag("run's")}) == "ok";
        editor.join();
        ++(done ? removed : kept);
        ASSERT_EQ(below("v"), (std::map<std::string, std::string>{{"a.md", "644 edited"}}));
    }
    EXPECT_EQ(removed + kept, 100);
}

}  // namespace
}  // namespace vault
