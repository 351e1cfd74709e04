#include "exec/sandbox/confine.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Machine able() {
    return {
        .bwrap = "/usr/bin/bwrap", .init = "/opt/holon-init", .namespaces = true, .seccomp = true};
}

std::size_t place(const std::vector<std::string>& words, std::vector<std::string> wanted) {
    const auto found = std::ranges::search(words, wanted);
    return static_cast<std::size_t>(found.begin() - words.begin());
}

class Folder {
public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "holon-sandbox-XXXXXX").string();
        path = fs::canonical(::mkdtemp(name.data()));
    }
    ~Folder() { fs::remove_all(path); }
    void file(const std::string& name) const {
        fs::create_directories((path / name).parent_path());
        std::ofstream(path / name) << "x";
    }
    fs::path path;
};

TEST(Confine, PutsDeeperMountsOnTopOfShallowerOnes) {
    const ResolvedPaths seen{.writable_roots = {"/home/u/.holon/agents/a/work"},
                             .hidden = {{"/home/u/.holon", true}}};
    const auto words = arguments({}, seen, able());
    const auto root = place(words, {"--ro-bind", "/", "/"});
    const auto hidden = place(words, {"--tmpfs", "/home/u/.holon"});
    const auto work = place(words, {"--bind", "/home/u/.holon/agents/a/work"});
    EXPECT_LT(root, hidden);
    EXPECT_LT(hidden, work);
    EXPECT_LT(work, words.size());
}

// Deeper mounts need a mount point, which cannot be created in a read-only folder.
TEST(Confine, ClosesHiddenFoldersAfterEverythingInThemIsInPlace) {
    const ResolvedPaths seen{.writable_roots = {"/h/.holon/agents/a"},
                             .read_only = {{"/h/.holon/agents/a/task-output", true}},
                             .hidden = {{"/h/.holon", true}}};
    const auto words = arguments({}, seen, able());
    const auto closed = place(words, {"--remount-ro", "/h/.holon"});
    EXPECT_LT(place(words, {"--bind", "/h/.holon/agents/a"}),
              place(words, {"--ro-bind", "/h/.holon/agents/a/task-output"}));
    EXPECT_LT(place(words, {"--ro-bind", "/h/.holon/agents/a/task-output"}), closed);
    EXPECT_LT(closed, words.size());
}

TEST(Confine, HidesWhatIsBothHiddenAndWritable) {
    const ResolvedPaths seen{.writable_roots = {"/w"}, .hidden = {{"/w", true}}};
    const auto words = arguments({}, seen, able());
    EXPECT_LT(place(words, {"--bind", "/w"}), place(words, {"--tmpfs", "/w"}));
}

TEST(Confine, AnchorsTheFoldersAboveWhatIsReadOnly) {
    const Folder folder;
    folder.file("a/.git/hooks/pre-commit");
    const auto root = (folder.path / "a").string();
    const auto seen = resolve_paths({.writable_roots = {root}, .read_only_inside = {".git/hooks"}});
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->read_only, (std::vector<ResolvedPaths::Path>{{root + "/.git/hooks", true}}));
    EXPECT_EQ(seen->anchors, std::vector<std::string>{root + "/.git"});
}

TEST(Confine, AnchorsTheFoldersAboveWhatIsHidden) {
    const Folder folder;
    folder.file("a/conf/deep/key");
    folder.file("a/.holon/keys/key");
    folder.file("a/vault/inner/key");
    const auto root = (folder.path / "a").string();
    const auto seen = resolve_paths({.writable_roots = {root},
                                     .read_only_inside = {".holon"},
                                     .hidden = {root + "/conf/deep/key", root + "/.holon/keys/key",
                                                root + "/vault", root + "/vault/inner/key"}});
    ASSERT_TRUE(seen);
    // No anchors in read-only or hidden paths: they would make them visible.
    EXPECT_EQ(seen->anchors, (std::vector<std::string>{root + "/conf/deep", root + "/conf"}));
}

TEST(Confine, AnchorsAlsoInARootThatLiesInSomethingHidden) {
    const Folder folder;
    folder.file("h/agents/a/.git/hooks/pre-commit");
    const auto root = (folder.path / "h/agents/a").string();
    const auto seen = resolve_paths({.writable_roots = {root},
                                     .read_only_inside = {".git/hooks"},
                                     .hidden = {(folder.path / "h").string()}});
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->anchors, std::vector<std::string>{root + "/.git"});
}

TEST(Confine, KeepsTheFileThatLeadsAWorktreeToItsRepository) {
    const Folder folder;
    folder.file("a/.git");
    const auto root = (folder.path / "a").string();
    const auto seen = resolve_paths({.writable_roots = {root}});
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->read_only, (std::vector<ResolvedPaths::Path>{{root + "/.git", false}}));
}

TEST(Confine, RunsNothingWhenAFileRedirectsGitToOtherSettings) {
    const Folder folder;
    folder.file("a/.git/config");
    const auto root = (folder.path / "a").string();
    ASSERT_TRUE(resolve_paths({.writable_roots = {root}}));
    folder.file("a/.git/commondir");
    const auto refused = resolve_paths({.writable_roots = {root}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, base::ErrorCode::Unavailable);
    EXPECT_THAT(refused.error().message, HasSubstr(root + "/.git/commondir"));
}

TEST(Confine, KeepsTheSettingsAndHooksOfSubmodules) {
    const Folder folder;
    for (const char* file : {"HEAD", "config", "hooks/pre-commit", "objects/ab/config",
                             "modules/deep/HEAD", "modules/deep/config", "notes/config"})
        folder.file(std::string("a/.git/modules/sub/") + file);
    const auto root = (folder.path / "a").string();
    const auto seen = resolve_paths({.writable_roots = {root}, .read_only_inside = {}});
    ASSERT_TRUE(seen);
    const auto modules = root + "/.git/modules/sub/";
    EXPECT_THAT(seen->read_only, testing::UnorderedElementsAre(
                                     ResolvedPaths::Path{modules + "config", false},
                                     ResolvedPaths::Path{modules + "hooks", true},
                                     ResolvedPaths::Path{modules + "modules/deep/config", false}));
    EXPECT_THAT(seen->anchors, testing::Contains(root + "/.git/modules/sub"));
}

TEST(Confine, KeepsMissingHooksFromBeingMade) {
    const Folder folder;
    folder.file("a/.git/HEAD");
    const auto root = (folder.path / "a").string();
    const auto seen = resolve_paths({.writable_roots = {root}, .read_only_inside = {".git/hooks"}});
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->read_only, (std::vector<ResolvedPaths::Path>{{root + "/.git/hooks", true}}));
}

TEST(Confine, FollowsLinksToWhatIsHidden) {
    const Folder folder;
    folder.file("real/key");
    fs::create_symlink(folder.path / "real", folder.path / "alias");
    const auto seen = resolve_paths({.hidden = {(folder.path / "alias").string()}});
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->hidden,
              (std::vector<ResolvedPaths::Path>{{(folder.path / "real").string(), true}}));
}

TEST(Confine, RefusesAWritableRootThatIsMissingOrIsTheFileSystem) {
    EXPECT_EQ(resolve_paths({.writable_roots = {"/nowhere/at/all"}}).error().code,
              base::ErrorCode::NotFound);
    EXPECT_EQ(resolve_paths({.writable_roots = {"/"}}).error().code, base::ErrorCode::InvalidInput);
}

TEST(Confine, NeverRunsWhatItCannotConfine) {
    struct Lack {
        Machine machine;
        const char* says;
    };
    auto none = able();
    none.bwrap.clear();
    auto no_namespaces = able();
    no_namespaces.namespaces = false;
    no_namespaces.failure = "No permissions to create new namespace";
    auto no_init = able();
    no_init.init.clear();
    auto no_filter = able();
    no_filter.seccomp = false;
    auto old_root = able();
    old_root.is_root = true;
    for (const auto& [machine, says] :
         {Lack{none, "bubblewrap is not installed"},
          Lack{no_namespaces, "No permissions to create new namespace"},
          Lack{no_init, "holon-init"}, Lack{no_filter, "seccomp"}, Lack{old_root, "6.14"}}) {
        const auto confined = confine({.argv = {"true"}}, {}, machine);
        ASSERT_FALSE(confined);
        EXPECT_EQ(confined.error().code, base::ErrorCode::Unavailable);
        EXPECT_THAT(confined.error().message, HasSubstr("was not run"));
        EXPECT_THAT(confined.error().message, HasSubstr(says));
    }
}

TEST(Confine, GivesRootABoundedProcessTable) {
    auto machine = able();
    machine.is_root = true;
    machine.bounded_process_table = true;
    const auto words = arguments({}, {}, machine);
    EXPECT_LT(place(words, {"--bound-table"}), words.size());
    EXPECT_EQ(place(arguments({}, {}, able()), {"--bound-table"}),
              arguments({}, {}, able()).size());
}

TEST(Confine, SharesTheNetworkOnlyWhenConfigured) {
    EXPECT_LT(place(arguments({}, {}, able()), {"--unshare-net"}),
              arguments({}, {}, able()).size());
    const Policy open{.network = Network::Host};
    const auto words = arguments(open, {}, able());
    EXPECT_EQ(place(words, {"--unshare-net"}), words.size());
}

TEST(UsualSecrets, AreDotNamesThatAreNoToolchain) {
    const Folder folder;
    for (const char* name : {".ssh/id", ".aws/credentials", ".npmrc", ".bashrc", ".pyenv/version",
                             "notes.txt", ".somebody-new/token"})
        folder.file(name);
    const auto secrets = usual_secrets(folder.path, folder.path / "holon");
    for (const char* name : {".ssh", ".aws", ".npmrc", ".somebody-new", "holon"})
        EXPECT_THAT(secrets, testing::Contains((folder.path / name).string()));
    for (const char* name : {".bashrc", ".pyenv", "notes.txt"})
        EXPECT_THAT(secrets, testing::Not(testing::Contains((folder.path / name).string())));
}

}  // namespace
}  // namespace sandbox
