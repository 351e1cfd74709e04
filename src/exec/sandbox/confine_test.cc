#include "exec/sandbox/confine.h"

#include <fstream>

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/sandbox/layout.h"

namespace sandbox {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Kind = Part::Kind;

Machine able() {
    return {.version = "Linux 6.1",
            .memory_files = true,
            .mounts_by_fd = true,
            .namespaces = true,
            .seccomp = true};
}

class Folder {
public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "holon-sandbox-XXXXXX").string();
        path = fs::canonical(::mkdtemp(name.data()));
    }
    ~Folder() { fs::remove_all(path); }
    std::string at(const std::string& name) const { return (path / name).string(); }
    void file(const std::string& name, const std::string& text = "x") const {
        fs::create_directories((path / name).parent_path());
        std::ofstream(path / name) << text;
    }
    fs::path path;
};

// The kinds of the parts at `path`, in their order.
std::vector<Kind> kinds_at(const std::vector<Part>& parts, const std::string& path) {
    std::vector<Kind> kinds;
    for (const auto& part : parts)
        if (part.path == path) kinds.push_back(part.kind);
    return kinds;
}

std::vector<Part> parts_of(const Policy& policy) {
    auto parts = lay_out(policy);
    EXPECT_TRUE(parts) << parts.error().message;
    return parts.value_or(std::vector<Part>{});
}

base::ErrorCode refusal(const Policy& policy) {
    const auto parts = lay_out(policy);
    EXPECT_FALSE(parts);
    return parts ? base::ErrorCode::Internal : parts.error().code;
}

std::size_t place(const std::vector<Part>& parts, Kind kind, const std::string& path) {
    std::size_t index = 0;
    while (index < parts.size() && !(parts[index].kind == kind && parts[index].path == path))
        ++index;
    return index;
}

TEST(Layout, ShowsNothingThatNobodyNamed) {
    const Folder folder;
    folder.file("root/x");
    folder.file("other/y");
    const auto parts = parts_of({.writable_roots = {folder.at("root")}});
    for (const auto& part : parts) {
        EXPECT_NE(part.path, "/");
        EXPECT_NE(part.source, folder.at("other"));
        EXPECT_NE(part.path, "/home");
        EXPECT_NE(part.path, "/etc/shadow");
    }
    EXPECT_EQ(kinds_at(parts, "/etc"), (std::vector<Kind>{Kind::Folder, Kind::CloseFolder}));
    EXPECT_EQ(kinds_at(parts, "/tmp"), std::vector<Kind>{Kind::Folder});
    EXPECT_EQ(kinds_at(parts, "/usr"), std::vector<Kind>{Kind::ReadOnly});
}

TEST(Layout, NotesTheIdentityOfWhatItOpened) {
    const Folder folder;
    folder.file("root/x");
    const auto parts = parts_of({.writable_roots = {folder.at("root")}});
    struct stat info{};
    ASSERT_EQ(::stat(folder.at("root").c_str(), &info), 0);
    const auto& root = parts.at(place(parts, Kind::Bind, folder.at("root")));
    EXPECT_EQ(root.device, info.st_dev);
    EXPECT_EQ(root.inode, info.st_ino);
}

TEST(Layout, PutsDeeperPartsOnTopOfShallowerOnes) {
    const Folder folder;
    folder.file("h/agents/a/work/x");
    folder.file("h/agents/a/task-output/x");
    const auto parts = parts_of({.writable_roots = {folder.at("h/agents/a/work")},
                                 .read_only = {folder.at("h"), folder.at("h/agents/a/task-output")},
                                 .hidden = {folder.at("h/agents")}});
    const auto shown = place(parts, Kind::ReadOnly, folder.at("h"));
    const auto hidden = place(parts, Kind::Folder, folder.at("h/agents"));
    const auto work = place(parts, Kind::Bind, folder.at("h/agents/a/work"));
    const auto closed = place(parts, Kind::CloseFolder, folder.at("h/agents"));
    EXPECT_LT(shown, hidden);
    EXPECT_LT(hidden, work);
    EXPECT_LT(work, closed);  // Deeper parts need a mount point, made in an open folder.
    EXPECT_LT(closed, parts.size());
}

TEST(Layout, HidesWhatIsBothHiddenAndWritable) {
    const Folder folder;
    folder.file("w/x");
    const auto parts = parts_of({.writable_roots = {folder.at("w")}, .hidden = {folder.at("w")}});
    EXPECT_LT(place(parts, Kind::Bind, folder.at("w")), place(parts, Kind::Folder, folder.at("w")));
}

TEST(Layout, AnchorsTheFoldersAboveWhatIsHiddenOrReadOnly) {
    const Folder folder;
    for (const char* file : {"conf/deep/key", ".holon/keys/key", "vault/inner/key"})
        folder.file("a/" + std::string(file));
    const auto root = folder.at("a");
    const auto parts = parts_of({.writable_roots = {root},
                                 .hidden = {root + "/conf/deep/key", root + "/.holon/keys/key",
                                            root + "/vault", root + "/vault/inner/key"}});
    EXPECT_EQ(kinds_at(parts, root + "/conf"), std::vector<Kind>{Kind::Bind});
    EXPECT_EQ(kinds_at(parts, root + "/conf/deep"), std::vector<Kind>{Kind::Bind});
    // No anchors in read-only or hidden paths: they would make them visible.
    EXPECT_EQ(kinds_at(parts, root + "/.holon/keys"), std::vector<Kind>{});
    EXPECT_EQ(kinds_at(parts, root + "/vault/inner"), std::vector<Kind>{});
    EXPECT_EQ(kinds_at(parts, root + "/.holon"), std::vector<Kind>{Kind::ReadOnly});
}

TEST(Layout, MakesHomesPrivateAndShowsNothingOfThem) {
    const Folder folder;
    folder.file("home/.ssh/id");
    folder.file("home/.cargo/bin/tool");
    const auto parts = parts_of({.read_only = {folder.at("home/.cargo/bin")},
                                 .homes = {folder.at("home"), folder.at("missing-home")}});
    EXPECT_EQ(kinds_at(parts, folder.at("home")), std::vector<Kind>{Kind::Folder});
    EXPECT_EQ(kinds_at(parts, folder.at("missing-home")), std::vector<Kind>{Kind::Folder});
    EXPECT_EQ(kinds_at(parts, folder.at("home/.cargo/bin")), std::vector<Kind>{Kind::ReadOnly});
    EXPECT_EQ(kinds_at(parts, folder.at("home/.ssh")), std::vector<Kind>{});
}

TEST(Layout, LeavesOutReadablePathsThatAreLinks) {
    const Folder folder;
    folder.file("secret/deep/key");
    fs::create_directories(folder.path / "home/task-output");
    fs::create_symlink(folder.path / "secret/deep", folder.path / "home/tool-artifacts");
    const auto parts =
        parts_of({.read_only = {folder.at("home/task-output"), folder.at("home/tool-artifacts")}});
    EXPECT_EQ(kinds_at(parts, folder.at("home/task-output")), std::vector<Kind>{Kind::ReadOnly});
    EXPECT_EQ(kinds_at(parts, folder.at("home/tool-artifacts")), std::vector<Kind>{});
}

TEST(Layout, RefusesRootsThatShowTooMuch) {
    const Folder folder;
    folder.file("home/project/x");
    folder.file("repo/.git/HEAD");
    const std::vector<std::string> homes{folder.at("home")};
    for (const auto& root : {folder.at("home"), folder.path.string(), folder.at("repo/.git")})
        EXPECT_EQ(refusal({.writable_roots = {root}, .homes = homes}), base::ErrorCode::Refused)
            << root;
    EXPECT_EQ(refusal({.writable_roots = {"/"}}), base::ErrorCode::InvalidInput);
    EXPECT_EQ(refusal({.writable_roots = {"/nowhere/at/all"}}), base::ErrorCode::NotFound);
    EXPECT_TRUE(lay_out({.writable_roots = {folder.at("home/project")}, .homes = homes}));
}

TEST(Layout, RefusesARootThatWasReplacedByALink) {
    const Folder folder;
    folder.file("target/x");
    folder.file("real/sub/x");
    fs::create_symlink(folder.path / "target", folder.path / "link");
    fs::create_symlink(folder.path / "real", folder.path / "above");
    EXPECT_EQ(refusal({.writable_roots = {folder.at("link")}}), base::ErrorCode::Refused);
    EXPECT_EQ(refusal({.writable_roots = {folder.at("above/sub")}}), base::ErrorCode::Refused);
}

TEST(Layout, RefusesAGitFolderThatIsALinkOrRedirects) {
    const Folder folder;
    folder.file("a/x");
    folder.file("real/HEAD");
    fs::create_directory_symlink(folder.path / "real", folder.path / "a/.git");
    EXPECT_EQ(refusal({.writable_roots = {folder.at("a")}}), base::ErrorCode::Refused);
    folder.file("b/.git/config");
    EXPECT_EQ(kinds_at(parts_of({.writable_roots = {folder.at("b")}}), folder.at("b/.git")),
              std::vector<Kind>{Kind::Repository});
    folder.file("b/.git/commondir");
    EXPECT_EQ(refusal({.writable_roots = {folder.at("b")}}), base::ErrorCode::Refused);
}

TEST(Layout, KeepsTheFileThatLinksAWorktreeToItsRepository) {
    const Folder folder;
    folder.file("a/.git");
    EXPECT_EQ(kinds_at(parts_of({.writable_roots = {folder.at("a")}}), folder.at("a/.git")),
              std::vector<Kind>{Kind::ReadOnly});
}

TEST(Layout, KeepsWhatGitsSettingsNameInTheWorkingTree) {
    const Folder folder;
    folder.file("a/.git/config",
                "[core]\n\thooksPath = .husky/_\n[include]\n\tpath = ../team.conf\n"
                "[filter \"p\"]\n\tclean = scripts/clean.sh\n[core]\n\tworktree = ..\n");
    folder.file("a/.husky/readme");
    folder.file("a/scripts/clean.sh");
    const auto root = folder.at("a");
    const auto parts =
        parts_of({.writable_roots = {root}, .git_settings = "[core]\nhooksPath=h\n"});
    // Missing ones are made, or the command could make them.
    for (const char* path : {"/.husky/_", "/team.conf", "/scripts/clean.sh", "/h"})
        EXPECT_EQ(kinds_at(parts, root + path), std::vector<Kind>{Kind::ReadOnly}) << path;
    EXPECT_EQ(kinds_at(parts, root + "/.husky"), std::vector<Kind>{Kind::Bind});
    EXPECT_EQ(kinds_at(parts, root), std::vector<Kind>{Kind::Bind});
}

TEST(Confine, NeverRunsWhatItCannotConfine) {
    struct Lack {
        Machine machine;
        const char* says;
    };
    auto too_old = able();
    too_old.mounts_by_fd = false;
    too_old.namespaces = false;
    auto no_namespaces = able();
    no_namespaces.namespaces = false;
    no_namespaces.failure = "No permissions to create new namespace";
    auto no_files = able();
    no_files.memory_files = false;
    auto no_filter = able();
    no_filter.seccomp = false;
    auto old_root = able();
    old_root.is_root = true;
    for (const auto& [machine, says] :
         {Lack{too_old, "5.12"}, Lack{no_namespaces, "No permissions to create new namespace"},
          Lack{no_files, "memory files"}, Lack{no_filter, "seccomp"}, Lack{old_root, "6.14"}}) {
        const auto confined = confine({.argv = {"true"}}, {}, machine);
        ASSERT_FALSE(confined);
        EXPECT_EQ(confined.error().code, base::ErrorCode::Unavailable);
        EXPECT_THAT(confined.error().message, HasSubstr("was not run"));
        EXPECT_THAT(confined.error().message, HasSubstr(says));
    }
}

TEST(Confine, BoundsTheProcessTableForRoot) {
    auto machine = able();
    machine.is_root = true;
    machine.bounded_process_table = true;
    EXPECT_TRUE(plan_for({.argv = {"true"}}, {}, machine)->bounds_process_table);
    EXPECT_FALSE(plan_for({.argv = {"true"}}, {}, able())->bounds_process_table);
}

TEST(Confine, SharesTheNetworkOnlyWhenConfigured) {
    EXPECT_FALSE(plan_for({.argv = {"true"}}, {}, able())->shares_network);
    EXPECT_TRUE(plan_for({.argv = {"true"}}, {.network = Network::Host}, able())->shares_network);
}

// Nothing of the command is on the command line or in the environment of the helpers.
TEST(Confine, StartsItsHelpersWithoutTheCommandsEnvironment) {
    const auto spec =
        confine({.argv = {"sh", "-c", "x"}, .environment = {{"LD_LIBRARY_PATH", ":"}}}, {}, able());
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->argv, (std::vector<std::string>{base::kFirstFile, "holon-confine"}));
    EXPECT_TRUE(spec->environment.empty());
    EXPECT_EQ(spec->files.size(), 3U);
}

TEST(Plan, SurvivesItsEncoding) {
    const Plan plan{
        .parts = {{.kind = Kind::Bind, .path = "/w", .source = "/w", .device = 1, .inode = 2},
                  {.kind = Kind::File, .path = "/f", .text = {"t\0t", 3}}},
        .private_bytes = 6,
        .shares_network = true,
        .bounds_process_table = true,
        .allowed_hosts = {"example.com"},
        .has_proxy = true,
        .network_log = "/log",
        .memory_group = "/sys/fs/cgroup/x",
        .cpu_s = 1,
        .memory_bytes = 2,
        .processes = 3,
        .file_bytes = 4,
        .open_files = 5,
        .folder = "/w",
        .environment = {"A=b"},
        .argv = {"sh", "-c", "x"}};
    EXPECT_EQ(decode_plan(encode(plan)), plan);
    const auto bytes = encode(plan);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_plan(std::string_view(bytes).substr(0, size)));
    EXPECT_FALSE(decode_plan(bytes + "x"));
}

}  // namespace
}  // namespace sandbox
