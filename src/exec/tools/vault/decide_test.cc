#include "exec/tools/vault/decide.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <barrier>
#include <random>
#include <ranges>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include "base/ids.h"
#include "exec/results/artifacts.h"
#include "exec/tools/patch/folder_for_test.h"
#include "exec/tools/vault/changes/write.h"
#include "exec/tools/vault/walk.h"

namespace vault {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class VaultTest : public testing::Test {
protected:
    VaultTest() { fs::create_directories(folder_.at("v")); }

    Root root() { return Root::open(folder_.at("v")).value(); }
    void write(std::string_view path, std::string_view bytes, mode_t mode = 0644) {
        folder_.write("v/" + std::string(path), bytes, mode);
    }
    Outcome<Done> act(const std::function<Outcome<Decision>(const Root&)>& decide) {
        const Root vault = root();
        return execute(vault, [&](bool) { return decide(vault); }, sink_);
    }
    Outcome<Done> create(const std::string& path, const std::string& content = "",
                         OnCollision on_collision = OnCollision::Unique) {
        const Root vault = root();
        return execute(
            vault,
            [&](bool first) { return decide_create(vault, path, content, on_collision, first); },
            sink_);
    }
    Outcome<Done> put(const Write& write) {
        return act([&](const Root& v) { return decide_write(v, write); });
    }
    Outcome<Done> rename(const Rename& rename) {
        return act([&](const Root& v) { return decide_rename(v, rename); });
    }
    Outcome<Done> remove(const std::string& path, std::optional<std::string> etag = {}) {
        return act([&](const Root& v) { return decide_delete(v, path, etag); });
    }
    // Of the vault alone, in patch::TestFolder's notation.
    std::map<std::string, std::string> all() {
        std::map<std::string, std::string> out;
        for (const auto& [path, text] : folder_.all())
            if (path.starts_with("v/")) out[path.substr(2)] = text;
        return out;
    }
    void take_all_back(const Done& done) {
        const Root vault = root();
        for (const auto& entry : done.performed.undo | std::views::reverse)
            ASSERT_TRUE(take_back(vault, entry)) << entry.path;
    }
    // One try, as execute() makes it.
    Outcome<Performed> perform(const Root& vault, std::span<const Step> steps, Performed& folders) {
        FileLocks locks;
        return vault::perform({.root = vault, .locks = locks, .sink = &sink_}, steps, folders);
    }
    Outcome<Performed> perform(const Root& vault, const std::vector<Step>& steps) {
        Performed folders;
        auto done = perform(vault, steps, folders);
        for (const auto& entry : folders.undo | std::views::reverse)
            if (!done) EXPECT_TRUE(take_back(vault, entry)) << entry.path;
        return done;
    }
    static std::string kind(const Outcome<Done>& done) { return done ? "ok" : done.error().kind; }

    patch::TestFolder folder_{patch::TestFolder::in_memory()};
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    results::FileArtifacts sink_{folder_.path() / "artifacts", "before", ids_};
};

// As the recovery of another call does after a crash.
TEST_F(VaultTest, AFolderThatGoesAfterTheDecisionIsMadeAgain) {
    fs::create_directories(folder_.at("v/d"));
    int decisions = 0;
    const auto done = act([&](const Root& vault) {
        auto decision = decide_create(vault, "d/n.md", "n", OnCollision::Error);
        if (++decisions == 1) fs::remove(folder_.at("v/d"));
        return decision;
    });
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(decisions, 2);
    EXPECT_TRUE(fs::exists(folder_.at("v/d/n.md")));
    take_all_back(*done);
    EXPECT_FALSE(fs::exists(folder_.at("v/d")));
}

TEST_F(VaultTest, AReadOnlyFileIsNotReplacedBehindItsBack) {
    write("kept.md", "mine [[a]]", 0444);
    write("a.md", "");
    EXPECT_EQ(put({.path = "kept.md", .content = "theirs"}).error().kind, "precondition_failed");
    const auto renamed = rename({.from = "a.md", .to = "b.md"});
    ASSERT_TRUE(renamed) << renamed.error().message;
    EXPECT_EQ(renamed->decision.broken, 1U);
    EXPECT_EQ(all(), (std::map<std::string, std::string>{{"b.md", "644 "},
                                                         {"kept.md", "444 mine [[a]]"}}));
}

TEST_F(VaultTest, CreatesFoldersThatAreMissingAndNoOthers) {
    const auto done = act([](const Root& v) { return decide_folder(v, "a/b: c/d"); }).value();
    EXPECT_EQ(done.decision.path, "a/b- c/d");
    EXPECT_EQ(done.performed.undo,
              (std::vector<UndoEntry>{
                  {Action::Mkdir, "a"}, {Action::Mkdir, "a/b- c"}, {Action::Mkdir, "a/b- c/d"}}));
    const auto again = act([](const Root& v) { return decide_folder(v, "a/b: c/d"); }).value();
    EXPECT_TRUE(again.decision.steps.empty());
    EXPECT_EQ(again.performed.effects, domain::Effects{});
    write("file", "x");
    EXPECT_EQ(kind(act([](const Root& v) { return decide_folder(v, "file/x"); })),
              "precondition_failed");
    EXPECT_EQ(kind(act([](const Root& v) { return decide_folder(v, "file"); })),
              "precondition_failed");
}

TEST_F(VaultTest, CreatesAFileUnderTheNextFreeName) {
    EXPECT_EQ(create("n/Title.md", "one").value().decision.path, "n/Title.md");
    EXPECT_EQ(create("n/Title.md", "two").value().decision.path, "n/Title (2).md");
    EXPECT_EQ(create("n/Title.md", "three").value().decision.path, "n/Title (3).md");
    EXPECT_EQ(kind(create("n/Title.md", "x", OnCollision::Error)), "conflict");
    EXPECT_EQ(all(), (std::map<std::string, std::string>{{"n", "folder"},
                                                         {"n/Title.md", "644 one"},
                                                         {"n/Title (2).md", "644 two"},
                                                         {"n/Title (3).md", "644 three"}}));
}

TEST_F(VaultTest, MakesNewNamesSafeAndLeavesThoseThatExist) {
    write("odd: folder/x", "");
    EXPECT_EQ(create("odd: folder/a?b.md").value().decision.path, "odd: folder/a-b.md");
    EXPECT_EQ(create("new: folder/a?b.md").value().decision.path, "new- folder/a-b.md");
}

// contract: RES-06
TEST_F(VaultTest, ReportsNoModificationForIdenticalBytes) {
    write("a.md", "same\n");
    struct stat before{}, after{};
    ::stat(folder_.at("v/a.md").c_str(), &before);
    const auto done = put({.path = "a.md", .content = "same\n"}).value();
    ::stat(folder_.at("v/a.md").c_str(), &after);
    EXPECT_EQ(done.performed.effects, domain::Effects{});
    EXPECT_TRUE(done.performed.undo.empty());
    EXPECT_EQ(done.decision.etag, etag("same\n"));
    EXPECT_EQ(before.st_ino, after.st_ino) << "it must not even be replaced";
}

TEST_F(VaultTest, ChangesAFileAndKeepsItsModeAndWhatItWas) {
    write("a.md", "old\n", 0640);
    const auto done = put({.path = "a.md", .content = "new\n"}).value();
    EXPECT_EQ(all(), (std::map<std::string, std::string>{{"a.md", "640 new\n"}}));
    ASSERT_EQ(done.performed.undo.size(), 1u);
    const UndoEntry& entry = done.performed.undo[0];
    EXPECT_EQ(entry.beforeEtag, etag("old\n"));
    EXPECT_EQ(entry.afterEtag, etag("new\n"));
    EXPECT_EQ(base::read_file(*entry.beforeArtifact, 100).value(), "old\n");
    struct stat kept{};
    ::stat(entry.beforeArtifact->c_str(), &kept);
    EXPECT_EQ(kept.st_mode & 0777U, 0600u);
    EXPECT_EQ(done.performed.effects.modified,
              (std::vector<domain::ModifiedPath>{
                  {"a.md", domain::PathKind::File, etag("old\n"), etag("new\n")}}));
    put({.path = "a.md", .content = "+", .mode = WriteMode::Append}).value();
    put({.path = "a.md", .content = "-", .mode = WriteMode::Prepend}).value();
    EXPECT_EQ(all().at("a.md"), "640 -new\n+");
}

TEST_F(VaultTest, WritesOnlyWhatTheCallerHasSeen) {
    write("a.md", "one");
    EXPECT_EQ(kind(put({.path = "a.md", .content = "x", .expected_etag = etag("other")})),
              "conflict");
    EXPECT_EQ(kind(put({.path = "a.md", .content = "x", .expected_etag = etag("one")})), "ok");
    EXPECT_EQ(kind(put({.path = "b.md", .content = "x"})), "missing_file");
    EXPECT_EQ(kind(put({.path = "b.md", .content = "x", .expected_etag = etag("one")})),
              "conflict");
    EXPECT_EQ(kind(put({.path = "b.md", .content = "x", .create = true})), "ok");
    EXPECT_EQ(kind(rename({.from = "a.md", .to = "c.md", .expected_etag = etag("one")})),
              "conflict");
    EXPECT_EQ(kind(remove("a.md", etag("one"))), "conflict");
    EXPECT_EQ(kind(remove("a.md", etag("x"))), "ok");
}

TEST_F(VaultTest, MovesToTheTrashWithoutLosingWhatIsThere) {
    write("d/a.md", "1");
    write("a.md", "2");
    EXPECT_EQ(remove("d/a.md").value().decision.path, ".trash/a.md");
    const auto second = remove("a.md").value();
    EXPECT_EQ(second.decision.path, ".trash/a (2).md");
    EXPECT_EQ(second.performed.effects.deleted,
              (std::vector<domain::DeletedPath>{{"a.md", domain::PathKind::File, true}}));
    write("d/x/deep.md", "3");
    EXPECT_EQ(remove("d").value().decision.path, ".trash/d");
    EXPECT_EQ(all(), (std::map<std::string, std::string>{{".trash", "folder"},
                                                         {".trash/a.md", "644 1"},
                                                         {".trash/a (2).md", "644 2"},
                                                         {".trash/d", "folder"},
                                                         {".trash/d/x", "folder"},
                                                         {".trash/d/x/deep.md", "644 3"}}));
    EXPECT_EQ(kind(remove(".trash/a.md")), "precondition_failed");
    EXPECT_EQ(kind(remove("a.md")), "missing_file");
}

TEST_F(VaultTest, RenamesAFileAndTheLinksToIt) {
    write("Old.md", "# Old\n");
    write("n/links.md", "[[Old]] [x](../Old.md)\n");
    write("n/none.md", "nothing\n");
    const auto done = rename({.from = "Old.md", .to = "sub/New.md"}).value();
    EXPECT_EQ(done.decision.links, 2u);
    EXPECT_EQ(all().at("n/links.md"), "644 [[New]] [x](../sub/New.md)\n");
    EXPECT_EQ(done.performed.effects.renamed,
              (std::vector<domain::RenamedPath>{{"Old.md", "sub/New.md"}}));
    EXPECT_EQ(done.performed.effects.modified.size(), 1u);
    take_all_back(done);
    EXPECT_EQ(all(),
              (std::map<std::string, std::string>{{"Old.md", "644 # Old\n"},
                                                  {"n", "folder"},
                                                  {"n/links.md", "644 [[Old]] [x](../Old.md)\n"},
                                                  {"n/none.md", "644 nothing\n"}}));
}

TEST_F(VaultTest, RenamesAFolderWithAllThatLiesInIt) {
    write("p/a.md", "[[b]] [x](../out.md)");
    write("p/b.md", "");
    write("out.md", "[[p/a]]");
    rename({.from = "p", .to = "q/r"}).value();
    EXPECT_EQ(all(),
              (std::map<std::string, std::string>{{"out.md", "644 [[r/a]]"},
                                                  {"q", "folder"},
                                                  {"q/r", "folder"},
                                                  {"q/r/a.md", "644 [[b]] [x](../../out.md)"},
                                                  {"q/r/b.md", "644 "}}));
}

TEST_F(VaultTest, RenamesWithoutTouchingLinksWhereAsked) {
    write("a.md", "");
    write("n.md", "[[a]]");
    EXPECT_TRUE(rename({.from = "a.md", .to = "b.md", .update_links = false})
                    .value()
                    .performed.effects.modified.empty());
    EXPECT_EQ(all().at("n.md"), "644 [[a]]");
}

TEST_F(VaultTest, RefusesRenamesThatMakeNoSense) {
    write("a.md", "a");
    write("b.md", "b");
    write("d/x.md", "x");
    EXPECT_EQ(kind(rename({.from = "gone.md", .to = "c.md"})), "missing_file");
    EXPECT_EQ(kind(rename({.from = "a.md", .to = "b.md", .on_collision = OnCollision::Error})),
              "conflict");
    EXPECT_EQ(kind(rename({.from = "d", .to = "d/e"})), "invalid_tool_input");
    EXPECT_EQ(kind(rename({.from = "a.md", .to = "../a.md"})), "path_escape");
    EXPECT_TRUE(rename({.from = "a.md", .to = "a.md"}).value().decision.steps.empty());
    EXPECT_EQ(rename({.from = "a.md", .to = "b.md"}).value().decision.path, "b (2).md");
}

TEST_F(VaultTest, NeverFollowsALinkOut) {
    folder_.write("outside/secret.md", "secret");
    write("inside/real.md", "real");
    fs::create_directory_symlink(folder_.at("outside"), folder_.at("v/abs"));
    fs::create_directory_symlink("../outside", folder_.at("v/rel"));
    fs::create_symlink("../outside/secret.md", folder_.at("v/leaf.md"));
    fs::create_directory_symlink("inside", folder_.at("v/within"));
    fs::create_symlink("inside/real.md", folder_.at("v/within.md"));
    const auto before = folder_.all();
    for (const std::string folder : {"abs", "rel"}) {
        EXPECT_EQ(kind(create(folder + "/x.md", "x")), "path_escape");
        EXPECT_EQ(kind(put({.path = folder + "/secret.md", .content = "x"})), "path_escape");
        EXPECT_EQ(kind(rename({.from = "inside/real.md", .to = folder + "/r.md"})), "path_escape");
        EXPECT_EQ(kind(rename({.from = folder + "/secret.md", .to = "s.md"})), "path_escape");
        EXPECT_EQ(kind(remove(folder + "/secret.md")), "path_escape");
        EXPECT_EQ(root().read(folder + "/secret.md").error().kind, "path_escape");
    }
    EXPECT_EQ(root().read("leaf.md").error().kind, "path_escape");
    // A link at the end is never written, moved or deleted, wherever it leads.
    for (const std::string link : {"leaf.md", "within.md"}) {
        EXPECT_EQ(kind(put({.path = link, .content = "x"})), "precondition_failed");
        EXPECT_EQ(kind(rename({.from = link, .to = "l.md"})), "precondition_failed");
        EXPECT_EQ(kind(remove(link)), "precondition_failed");
    }
    EXPECT_EQ(folder_.all(), before);
    EXPECT_EQ(root().read("within.md").value().bytes, "real");
    EXPECT_EQ(kind(create("within/new.md", "x")), "ok") << "a link that stays inside is a way";
    EXPECT_EQ(all().at("inside/new.md"), "644 x");
}

TEST_F(VaultTest, TakesOnlyFilesForFiles) {
    ASSERT_EQ(::mkfifo(folder_.at("v/pipe").c_str(), 0600), 0);
    write("d/x", "");
    EXPECT_EQ(root().read("pipe").error().kind, "precondition_failed") << "and does not wait";
    EXPECT_EQ(root().read("d").error().kind, "precondition_failed");
    EXPECT_EQ(kind(put({.path = "pipe", .content = "x"})), "precondition_failed");
    EXPECT_EQ(kind(put({.path = "d", .content = "x"})), "precondition_failed");
    EXPECT_EQ(kind(rename({.from = "pipe", .to = "p"})), "precondition_failed");
    EXPECT_EQ(kind(remove("pipe")), "precondition_failed");
    EXPECT_EQ(kind(create("d/x/y.md")), "precondition_failed");
    EXPECT_EQ(root().read("d/x/y").error().kind, "precondition_failed");
}

TEST_F(VaultTest, LeavesVersionControlAlone) {
    write(".git/config", "x");
    EXPECT_EQ(kind(create(".git/hooks/pre-commit", "#!/bin/sh")), "policy_denied");
    EXPECT_EQ(kind(put({.path = ".git/config", .content = "y"})), "policy_denied");
    EXPECT_EQ(kind(rename({.from = ".git", .to = "git"})), "policy_denied");
    EXPECT_EQ(kind(remove(".git")), "policy_denied");
    EXPECT_EQ(kind(create("")), "invalid_tool_input");
    // Also where a link leads there under another name.
    write(".git/hooks/sample", "x");
    write("sub/a.md", "a");
    fs::create_directory_symlink(".git/hooks", folder_.at("v/hooks"));
    fs::create_directory_symlink("../.git", folder_.at("v/sub/g"));
    EXPECT_EQ(kind(create("hooks/pre-commit", "#!/bin/sh")), "policy_denied");
    EXPECT_EQ(kind(create("sub/g/hooks/new/x", "x")), "policy_denied");
    EXPECT_EQ(kind(put({.path = "sub/g/config", .content = "y"})), "policy_denied");
    EXPECT_EQ(kind(rename({.from = "sub/a.md", .to = "hooks/a"})), "policy_denied");
    EXPECT_EQ(kind(remove("hooks/sample")), "policy_denied");
    EXPECT_EQ(root().read(".git/config").value().bytes, "x");
}

TEST_F(VaultTest, RefusesFilesBeyondItsBounds) {
    fs::resize_file((write("big.md", ""), folder_.at("v/big.md")), kFileBytesMax + 1);
    EXPECT_EQ(kind(put({.path = "big.md", .content = "x"})), "precondition_failed");
    EXPECT_EQ(root().read("big.md", 10).error().kind, "precondition_failed");
}

TEST_F(VaultTest, UndoesItsStepsWhenALaterOneFails) {
    write("a.md", "a");
    write("b.md", "b");
    const auto before = all();
    const Root vault = root();
    const std::vector<Step> steps{MakeFolder{"d"}, CreateFile{"d/n.md", "n"},
                                  ModifyFile{"a.md", "a", "A"}, Move{"b.md", "d/b.md"},
                                  ModifyFile{"a.md", "not this", "x"}};
    const auto done = perform(vault, steps);
    EXPECT_EQ(done.error().kind, "conflict");
    EXPECT_EQ(base::find(*done.error().details, "not_restored"), nullptr);
    EXPECT_EQ(all(), before);
}

TEST_F(VaultTest, DoesNotUndoWhatHasChangedSince) {
    write("a.md", "a");
    const auto changed = put({.path = "a.md", .content = "b"}).value();
    const auto created = create("d/n.md", "n").value();
    write("a.md", "c");
    write("d/n.md", "m");
    const Root vault = root();
    EXPECT_EQ(take_back(vault, changed.performed.undo[0]).error().kind, "conflict");
    EXPECT_EQ(take_back(vault, created.performed.undo[1]).error().kind, "conflict");
    EXPECT_EQ(take_back(vault, created.performed.undo[0]).error().kind, "conflict") << "not empty";
    EXPECT_EQ(all().at("a.md"), "644 c");
    EXPECT_EQ(all().at("d/n.md"), "644 m");
}

TEST_F(VaultTest, KeepsBytesAndNamesThatAreNotText) {
    const std::string bytes("\xff\x00\xfe", 3);
    write("bin", bytes);
    write("d/odd\xff.md", "x");
    const auto before = all();
    const auto done = put({.path = "bin", .content = "text"}).value();
    const auto moved = rename({.from = "d", .to = "e"}).value();
    EXPECT_EQ(all().at("e/odd\xff.md"), "644 x");
    take_all_back(moved);
    take_all_back(done);
    EXPECT_EQ(all(), before);
    EXPECT_EQ(kind(put({.path = "d/odd\xff.md", .content = "x"})), "invalid_tool_input");
}

TEST_F(VaultTest, ANameIsTheSameHoweverUnicodeWritesIt) {
    const std::string apart = "Cafe\u0301.md", whole = "Caf\u00e9.md";
    write(apart, "a");
    write("l.md", "[[Caf\u00e9]] [x](Caf\u00e9.md)");
    EXPECT_EQ(create(whole, "b").value().decision.path, "Cafe\u0301 (2).md") << "no twin";
    EXPECT_EQ(kind(create(whole, "b", OnCollision::Error)), "conflict");
    EXPECT_EQ(put({.path = whole, .content = "c"}).value().decision.path, apart);
    EXPECT_EQ(all().at(apart), "644 c");
    const auto moved = rename({.from = whole, .to = "New.md"}).value();
    EXPECT_EQ(moved.decision.links, 2u);
    EXPECT_EQ(all().at("l.md"), "644 [[New]] [x](New.md)");
}

TEST_F(VaultTest, LinksInLargeNotesFollow) {
    std::string large(9 * 1024 * 1024, 'x');
    for (std::size_t i = 79; i < large.size(); i += 80) large[i] = '\n';
    write("Old.md", "");
    write("large.md", large + "[[Old]]");
    const auto moved = rename({.from = "Old.md", .to = "New.md"}).value();
    EXPECT_EQ(moved.decision.links, 1u);
    EXPECT_EQ(moved.decision.broken, 0u);
    fs::resize_file((write("huge.md", ""), folder_.at("v/huge.md")), kFileBytesMax + 1);
    EXPECT_EQ(kind(rename({.from = "New.md", .to = "Old.md"})), "precondition_failed")
        << "a note that cannot be read is not passed over";
    EXPECT_TRUE(rename({.from = "New.md", .to = "Old.md", .update_links = false}));
}

TEST_F(VaultTest, GivesParallelCallersDifferentNames) {
    constexpr int kThreads = 4, kFiles = 50;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < kThreads; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < kFiles; ++i) EXPECT_TRUE(create("new/N.md", "x"));
            });
    }
    EXPECT_EQ(all().size(), 1u + kThreads * kFiles);
}

TEST_F(VaultTest, UsesAFolderThatAnotherCallerMadeAndDoesNotRemoveIt) {
    const Root vault = root();
    fs::create_directory(folder_.at("v/a"));
    const std::vector<Step> decided_before{MakeFolder{"a"}, MakeFolder{"a/b"},
                                           CreateFile{"a/b/n.md", "n"}};
    const auto done = perform(vault, decided_before).value();
    std::vector<std::string> mine;
    for (const auto& entry : done.undo) mine.push_back(entry.path);
    EXPECT_THAT(mine, ElementsAre("a/b", "a/b/n.md"));
    EXPECT_THAT(done.effects.created, testing::SizeIs(2));
    // Anything else at its path is still a conflict.
    write("f", "a file");
    EXPECT_EQ(perform(vault, std::vector<Step>{MakeFolder{"f"}}).error().kind, "conflict");
}

TEST_F(VaultTest, AFolderOfAFailedTryIsKeptAndOwnedByTheNextTry) {
    const Root vault = root();
    write("taken.md", "x");
    Performed folders;
    const std::vector<Step> fails{MakeFolder{"a"}, CreateFile{"a/m.md", "m"},
                                  CreateFile{"taken.md", "y"}};
    EXPECT_EQ(perform(vault, fails, folders).error().kind, "conflict");
    write("a/theirs.md", "x");
    EXPECT_FALSE(fs::exists(folder_.at("v/a/m.md")));
    const auto done = perform(vault, std::vector<Step>{CreateFile{"a/n.md", "n"}}, folders).value();
    ASSERT_EQ(done.undo.size(), 2U);
    EXPECT_EQ(done.undo[0], (UndoEntry{.action = Action::Mkdir, .path = "a"}));
    EXPECT_EQ(done.effects.created[0].path, "a");
}

// Each folder is made by one of them, and the others use it: none fails, and when all is undone
// nothing is left.
TEST_F(VaultTest, ParallelCallersMakeTheFoldersTheyShareOnce) {
    constexpr int kThreads = 4, kRounds = 30;
    for (int round = 0; round < kRounds; ++round) {
        std::vector<std::optional<Done>> made(kThreads);
        {
            std::barrier together(kThreads);
            std::vector<std::jthread> threads;
            for (std::size_t t = 0; t < kThreads; ++t)
                threads.emplace_back([&, t] {
                    together.arrive_and_wait();
                    // In folders of one and of two new names, some under one name in the end.
                    auto one = create(t % 2 == 0 ? "a/b/N.md" : "a/N.md", "x");
                    EXPECT_TRUE(one) << one.error().message;
                    if (one) made[t] = std::move(*one);
                });
        }
        std::multiset<std::string> folders;
        std::vector<UndoEntry> files;
        for (const auto& one : made)
            for (const auto& entry : one->performed.undo)
                if (entry.action == Action::Mkdir)
                    folders.insert(entry.path);
                else
                    files.push_back(entry);
        EXPECT_EQ(folders, (std::multiset<std::string>{"a", "a/b"}));
        const Root vault = root();
        for (const auto& entry : files) EXPECT_TRUE(take_back(vault, entry));
        for (const char* folder : {"a/b", "a"})
            EXPECT_TRUE(take_back(vault, UndoEntry{.action = Action::Mkdir, .path = folder}));
        EXPECT_TRUE(all().empty());
    }
}

TEST_F(VaultTest, LosesNoneOfManyParallelAppends) {
    write("log.md", "");
    constexpr int kThreads = 2, kLines = 30;
    std::atomic<int> done{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < kThreads; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < kLines; ++i)
                    done += put({.path = "log.md", .content = "x", .mode = WriteMode::Append})
                                    .has_value()
                                ? 1
                                : 0;  // CONFLICT after many tries is correct, too.
            });
    }
    EXPECT_EQ(all().at("log.md"), "644 " + std::string(static_cast<std::size_t>(done), 'x'));
    EXPECT_GE(done, kLines);
}

// A folder on the way becomes a link that leads out, and back again, while we write below it.
TEST_F(VaultTest, ChangesNothingOutsideWhileAFolderIsSwappedForALink) {
    folder_.write("outside/a.md", "outside");
    fs::create_directories(folder_.at("v/d"));
    write("d/a.md", "inside");
    fs::create_directory_symlink(folder_.at("outside"), folder_.at("v/link"));
    std::atomic<bool> stop{false};
    std::atomic<int> swaps{0};
    std::jthread swapper([&] {
        const std::string folder = folder_.at("v/d"), link = folder_.at("v/link");
        while (!stop) {
            ::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
            ++swaps;
        }
        if (!fs::is_symlink(link))
            ::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
    });
    int succeeded = 0, refused = 0;
    for (int i = 0; i < 3000 || swaps < 1000; ++i) {
        const std::string text = std::to_string(i);
        const std::vector<Outcome<Done>> ends = [&] {
            std::vector<Outcome<Done>> list;
            list.push_back(create("d/n.md", text, OnCollision::Error));
            list.push_back(put({.path = "d/a.md", .content = text}));
            list.push_back(rename({.from = "d/n.md", .to = "d/m" + text, .update_links = false}));
            list.push_back(remove("d/m" + text));
            return list;
        }();
        for (const auto& end : ends) ++(end ? succeeded : refused);
    }
    stop = true;
    swapper.join();
    std::map<std::string, std::string> outside;
    for (const auto& [path, text] : folder_.all())
        if (path.starts_with("outside")) outside[path] = text;
    EXPECT_EQ(outside, (std::map<std::string, std::string>{{"outside", "folder"},
                                                           {"outside/a.md", "644 outside"}}));
    EXPECT_GT(succeeded, 0);
    EXPECT_GT(refused, 0) << "the race was never met";
}

// Any sequence of changes, undone from its end, leaves the vault as it was to the byte.
TEST_F(VaultTest, IsRestoredByUndoingAnySequenceOfChanges) {
    std::mt19937 random(11);
    const std::vector<std::string> names{"a.md", "b.md", "C d.md", "e", "bad:name?.md"};
    const std::vector<std::string> folders{"", "x", "y", "x/y", "y/z"};
    const auto pick = [&](const auto& list) { return list[random() % list.size()]; };
    const auto path = [&] {
        const std::string folder = pick(folders), name = pick(names);
        return folder.empty() ? name : folder + "/" + name;
    };
    int performed = 0;
    for (int round = 0; round < 60; ++round) {
        fs::remove_all(folder_.at("v"));
        fs::create_directories(folder_.at("v"));
        write("a.md", "[[b]] [x](x/a.md)\n", 0600);
        write("x/a.md", "[[a]] [[y/b]]\n");
        write("y/b.md", "![[C d]] [q](<../x/y/C d.md>)\n");
        write("x/y/C d.md", std::string("\0\xff", 2));
        const auto before = all();
        std::vector<UndoEntry> undo;
        for (int i = 0; i < 12; ++i) {
            const std::string text = fmt::format("{} [[a]] [[b]] [x]({})", i, "a.md");
            const auto done = [&] {
                switch (random() % 6) {
                    case 0:
                        return create(path(), text);
                    case 1:
                        return put({.path = path(), .content = text, .create = true});
                    case 2:
                        return put({.path = path(), .content = text, .mode = WriteMode::Append});
                    case 3:
                        return remove(random() % 4 == 0 ? pick(folders) : path());
                    case 4:
                        return rename({.from = pick(folders), .to = pick(folders) + "/m"});
                    default:
                        return rename({.from = path(), .to = path()});
                }
            }();
            if (!done) continue;
            ++performed;
            undo.insert(undo.end(), done->performed.undo.begin(), done->performed.undo.end());
        }
        const Root vault = root();
        for (const auto& entry : undo | std::views::reverse) {
            const auto taken = take_back(vault, entry);
            ASSERT_TRUE(taken) << entry.path << ": " << taken.error().message;
        }
        ASSERT_EQ(all(), before) << "round " << round;
    }
    EXPECT_GT(performed, 200);
}

TEST_F(VaultTest, DescribesStepsWithoutTakingThem) {
    write("a.md", "one\n");
    write("n.md", "[[a]]\n");
    const auto before = all();
    const auto steps = decide_rename(root(), {.from = "a.md", .to = "d/b.md"}).value().steps;
    EXPECT_EQ(
        describe(steps),
        (json::object{{"creates", {"d"}},
                      {"modifies",
                       {{{"path", "n.md"},
                         {"diff", "--- a/n.md\n+++ b/n.md\n@@ -1,1 +1,1 @@\n-[[a]]\n+[[b]]\n"}}}},
                      {"renames", {{{"from", "a.md"}, {"to", "d/b.md"}}}}}));
    EXPECT_EQ(all(), before);
}

}  // namespace
}  // namespace vault
