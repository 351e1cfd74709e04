// The host and a command change things at the same time: names that are replaced, git folders that
// both write.
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <fstream>
#include <functional>
#include <thread>

#include "base/os/files.h"
#include "tests/attack/stage.h"

namespace attack {
namespace {

// Something happens on the host while a command runs: it reports through the pipe `ready` and
// continues when it can read the pipe `go`.
class Meanwhile : public Boundary {
protected:
    std::vector<std::string> run_while(const std::string& script, std::function<void()> action) {
        for (const char* name : {"ready", "go"})
            CHECK(::mkfifo((root_ / name).c_str(), 0600) == 0, "a pipe can be made");
        std::thread host([&] {
            std::string word;
            std::ifstream(root_ / "ready") >> word;
            action();
            std::ofstream(root_ / "go") << "go\n";
        });
        auto findings =
            attempt({.family = "meanwhile",
                     .script = "echo x > ready; read -r word < go; rm -f ready go; " + script},
                    Confined::Yes);
        host.join();
        return findings;
    }
    std::string git(const std::string& words) {
        FILE* pipe = ::popen(
            ("git -C " + root_.string() + " -c user.name=a -c user.email=a@b " + words + " 2>&1")
                .c_str(),
            "re");
        std::string said(4096, '\0');
        said.resize(std::fread(said.data(), 1, said.size(), pipe));
        ::pclose(pipe);
        return said;
    }
};

TEST_F(Meanwhile, TheOperatorsGitDoesNotMakeItsSettingsWritable) {
    attempt({.family = "two", .script = "true"}, Confined::Yes);
    const auto findings = run_while(
        "echo evil >> .git/config; printf x > .git/config; cat .git/config | grep -c remote",
        [&] { EXPECT_EQ(git("remote add origin /x"), ""); });
    // Judged by hand: the operator's own change is no finding.
    EXPECT_EQ(findings, std::vector<std::string>{"git settings changed"}) << said_;
    const auto settings = base::read_file(root_ / ".git/config", 1 << 20);
    EXPECT_THAT(*settings, testing::HasSubstr("[remote \"origin\"]"));
    EXPECT_THAT(*settings, testing::Not(testing::HasSubstr("evil")));
}

TEST_F(Meanwhile, ANameThatIsReplacedOnTheHostStaysInvisible) {
    write_file(top_ / "new", std::string(kMarker));
    const auto findings = run_while(
        "cat \"$HOME/.netrc\" \"$HOME/.new-secret\" \"$HOLON/fresh\" \"$ROOT/../fresh\"; ls "
        "\"$HOME\"",
        [&] {
            fs::rename(top_ / "new", top_ / "home/.netrc");
            write_file(top_ / "home/.new-secret", std::string(kMarker));
            write_file(top_ / "fresh", std::string(kMarker));
        });
    EXPECT_EQ(findings, std::vector<std::string>{"home changed"}) << said_;  // By the host.
    EXPECT_THAT(said_, testing::Not(testing::HasSubstr("new-secret\n")));
}

TEST_F(Meanwhile, ChangesOfBothSidesToOneFileOfGitAreReportedAndTheHostsKept) {
    EXPECT_EQ(git("add work.txt"), "");
    run_while("echo more > more.txt; git add more.txt", [&] {
        write_file(root_ / "host.txt", "host\n");
        EXPECT_EQ(git("add host.txt"), "");
    });
    EXPECT_THAT(said_, testing::HasSubstr("index was changed outside the sandbox"));
    EXPECT_THAT(git("diff --cached --name-only"), testing::HasSubstr("host.txt"));
}

// A name that is exchanged between the check and the start leads nowhere: nothing is run.
TEST_F(Meanwhile, NothingRunsWhenAPathIsReplacedBeforeTheStart) {
    fs::create_directories(top_ / "secret");
    write_file(top_ / "secret/key", std::string(kMarker));
    const auto spec = sandbox::confine(
        {.argv = {"/bin/sh", "-c", "cat key; touch made"}, .cwd = top_}, policy(), machine());
    ASSERT_TRUE(spec) << spec.error().message;
    const auto start = [&] {
        base::ProcessExit exit;
        auto started = runner_.start(*spec, [&](base::ProcessExit ended) {
            exit = std::move(ended);
            loop_.stop();
        });
        EXPECT_TRUE(started);
        loop_.run();
        return exit;
    };
    fs::rename(root_, top_ / "moved");
    fs::create_directory_symlink(top_ / "secret", root_);
    auto exit = start();
    EXPECT_EQ(exit.exit_code, 125);
    EXPECT_THAT(exit.err.head, testing::HasSubstr("was not run"));
    fs::remove(root_);
    fs::rename(top_ / "secret", root_);
    exit = start();
    EXPECT_EQ(exit.exit_code, 125);
    EXPECT_THAT(exit.err.head, testing::HasSubstr("was replaced by another"));
    EXPECT_FALSE(fs::exists(root_ / "made"));
}

TEST_F(Meanwhile, PartsOfTheGitFolderThatAreLinksAreNotFollowed) {
    for (const char* part :
         {"logs", "objects", "refs", "hooks", "info", "HEAD", "index", "config"}) {
        const auto place = root_ / ".git" / part;
        const auto kept = top_ / "kept";
        if (fs::exists(place)) fs::rename(place, kept);
        fs::create_symlink(top_ / "outside/dir", place);
        const auto findings = attempt({.family = "links",
                                       .script = "echo evil > .git/" + std::string(part) +
                                                 "/inner.txt; echo evil > .git/" + part},
                                      Confined::Yes);
        EXPECT_THAT(findings, testing::Not(testing::Contains("outside changed"))) << part;
        EXPECT_EQ(exit_.exit_code, 125) << part << said_;
        fs::remove(place);
        if (fs::exists(kept)) fs::rename(kept, place);
    }
}

TEST_F(Meanwhile, ACommitReachesTheRepositoryAndNothingElseDoes) {
    const auto findings = attempt(
        {.family = "commit",
         .script = "git add work.txt && git -c user.name=a -c user.email=a@b commit -qm one && "
                   "echo evil > .git/evil && echo evil > .git/config.worktree"},
        Confined::Yes);
    EXPECT_EQ(findings, std::vector<std::string>{}) << said_;
    EXPECT_THAT(git("log --oneline"), testing::HasSubstr("one"));
    EXPECT_EQ(git("status --short --untracked-files=no"), "");
    EXPECT_FALSE(fs::exists(root_ / ".git/evil"));
    EXPECT_TRUE(fs::is_empty(root_ / ".git/holon"));
    // A merge continues in the next command.
    attempt(
        {.family = "commit",
         .script = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
                   "GIT_COMMITTER_EMAIL=a@b; git checkout -qb b && echo b > work.txt && git "
                   "commit -qam b && git checkout -q - && echo c > work.txt && git commit -qam c "
                   "&& git merge -q b"},
        Confined::Yes);
    EXPECT_TRUE(fs::exists(root_ / ".git/MERGE_HEAD")) << said_;
    attempt({.family = "commit",
             .script = "echo d > work.txt && git add work.txt && git -c user.name=a -c "
                       "user.email=a@b commit -qm merged"},
            Confined::Yes);
    EXPECT_FALSE(fs::exists(root_ / ".git/MERGE_HEAD")) << said_;
    EXPECT_THAT(git("log --oneline"), testing::HasSubstr("merged"));
}

TEST_F(Meanwhile, ACommitInASubmoduleReachesItAndItsSettingsStay) {
    const std::string identity = "-c user.name=a -c user.email=a@b -c protocol.file.allow=always ";
    const auto host = [&](const std::string& words) {
        EXPECT_EQ(::system(("cd " + top_.string() + " && (" + words + ") > log 2>&1").c_str()), 0)
            << words << base::read_file(top_ / "log", 10'000).value_or("");
    };
    host("git init -q lib && cd lib && echo 1 > f && git add f && git " + identity +
         "commit -qm lib");
    host("cd root && git add work.txt && git " + identity + "commit -qm one && git " + identity +
         "submodule add -q " + (top_ / "lib").string() + " deps/lib && git " + identity +
         "commit -qm sub");
    const auto settings = base::read_file(root_ / ".git/modules/deps/lib/config", 10'000);
    const auto script =
        "cd deps/lib && echo 2 > f && git -c user.name=a -c user.email=a@b commit -qam inside && "
        "cd "
        "../.. && git add deps/lib && git -c user.name=a -c user.email=a@b commit -qm bumped; "
        "M=.git/modules/deps/lib; echo evil >> $M/config; printf x > $M/config.worktree; "
        "printf '#!/bin/sh\nid\n' > $M/hooks/post-commit; echo ../../../../evil > $M/commondir; "
        "mv $M $M.old; git -C deps/lib config core.fsmonitor id";
    attempt({.family = "submodule", .script = script}, Confined::Yes);
    EXPECT_THAT(git("log --oneline"), testing::HasSubstr("bumped")) << said_;
    EXPECT_THAT(git("-C deps/lib log --oneline"), testing::HasSubstr("inside")) << said_;
    EXPECT_EQ(git("status --short --untracked-files=no"), "");
    EXPECT_EQ(base::read_file(root_ / ".git/modules/deps/lib/config", 10'000), settings);
    for (const char* name : {"config.worktree", "commondir", "hooks/post-commit"})
        EXPECT_FALSE(fs::exists(root_ / ".git/modules/deps/lib" / name)) << name;
}

// The starter of a command was killed: what its command had committed is whole after the next one.
TEST_F(Meanwhile, ACommitOfAKilledCommandIsSettledByTheNext) {
    const auto left = root_ / ".git/holon/run-left";
    fs::create_directories(left / "before");
    fs::create_directories(left / "git");
    fs::create_hard_link(root_ / ".git/HEAD", left / "before/HEAD");
    write_file(left / "git/HEAD", "ref: refs/heads/other\n");
    write_file(left / "git/config", "evil");
    EXPECT_EQ(attempt({.family = "left", .script = "true"}, Confined::Yes),
              std::vector<std::string>{});
    EXPECT_EQ(base::read_file(root_ / ".git/HEAD", 100), "ref: refs/heads/other\n");
    EXPECT_FALSE(fs::exists(left));
}

// The processes that this one has started and that still run.
std::vector<pid_t> children() {
    std::vector<pid_t> list;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const auto text = base::read_file(entry.path() / "stat", 4096).value_or("");
        const auto end = text.rfind(')');
        if (end == std::string::npos) continue;
        char state = 0;
        int parent = 0;
        if (std::sscanf(text.c_str() + end + 1, " %c %d", &state, &parent) == 2 &&
            parent == ::getpid() && text.contains("(3)"))
            list.push_back(std::stoi(text));
    }
    return list;
}

// The process that starts the sandbox dies first: everything inside dies with it. attempt() looks
// for what is left.
TEST_F(Meanwhile, NothingOutlivesABoundaryThatIsKilled) {
    ASSERT_EQ(::mkfifo((root_ / "ready").c_str(), 0600), 0);
    std::size_t killed = 0;
    std::thread host([&] {
        std::string word;
        std::ifstream(root_ / "ready") >> word;
        for (const pid_t pid : children()) killed += ::kill(pid, SIGKILL) == 0 ? 1 : 0;
    });
    const auto findings =
        attempt({.family = "killed",
                 .script = "(setsid sleep 60 &); trap '' TERM; echo x > ready; sleep 60"},
                Confined::Yes);
    host.join();
    EXPECT_EQ(killed, 1U);
    EXPECT_FALSE(exit_.output_cut_off || exit_.timed_out);  // Somebody held its output.
    EXPECT_EQ(findings, std::vector<std::string>{}) << said_;
}

// Mounts of the host below the folders that a command sees. Only root can make them.
class HostMounts : public Meanwhile {
protected:
    void TearDown() override {
        for (const auto& path : made_) ::umount2(path.c_str(), MNT_DETACH);
        Meanwhile::TearDown();
    }
    void mount_on(const fs::path& path) {
        fs::create_directories(path);
        ASSERT_EQ(::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=1m"), 0) << errno;
        ASSERT_EQ(::mount(nullptr, path.c_str(), nullptr, MS_SHARED, nullptr), 0) << errno;
        made_.insert(made_.begin(), path);
    }

private:
    std::vector<fs::path> made_;
};

TEST_F(HostMounts, AreAsReadOnlyAsTheFolderAboveThem) {
    mount_on(top_ / "outside/dir");
    mount_on(top_ / "outside/dir/deep");
    write_file(top_ / "outside/dir/deep/file", "canary");
    EXPECT_EQ(
        attempt({.family = "mounts",
                 .script = "cat \"$OUTSIDE/dir/deep/file\"; echo x > \"$OUTSIDE/dir/x\"; echo "
                           "x > \"$OUTSIDE/dir/deep/file\""},
                Confined::Yes),
        std::vector<std::string>{})
        << said_;
    EXPECT_THAT(said_, testing::HasSubstr("canary"));  // Or nothing was tried.
}

TEST_F(HostMounts, ThatAppearLaterStayInvisible) {
    mount_on(root_ / "shared");
    run_while("cat shared/later/secret; ls shared; touch shared/later/x", [&] {
        mount_on(root_ / "shared/later");
        write_file(root_ / "shared/later/secret", std::string(kMarker));
    });
    EXPECT_THAT(said_, testing::Not(testing::HasSubstr(kMarker)));
    EXPECT_THAT(said_, testing::HasSubstr("later\n"));
    EXPECT_FALSE(fs::exists(root_ / "shared/later/x"));
}

}  // namespace
}  // namespace attack
