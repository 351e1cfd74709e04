// Commands under the supervisor of version 0.1 are reattached: their output is complete, their end
// is known, and they can be stopped.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/upgrade/old_home.h"

namespace upgrade {
namespace {

using testing::HasSubstr;

// Where the supervisor finds what it inherits, and the layout of its request, as version 0.1 had
// them. Written out here, because they must not follow a change of today's program.
constexpr int kRequestFd = 3, kControlFd = 4, kFreeFdMin = 10;

void put(std::string& to, std::uint32_t number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    to.append(bytes, sizeof number);
}

void put(std::string& to, std::string_view text) {
    put(to, static_cast<std::uint32_t>(text.size()));
    to += text;
}

std::string request(std::string_view boot_id, const std::string& log, const std::string& cwd,
                    std::string_view cmd) {
    std::string bytes;
    put(bytes, 1U);  // The version.
    put(bytes, boot_id);
    put(bytes, 0U);  // No terminal, no input.
    put(bytes, log);
    put(bytes, "4294967296");
    put(bytes, cwd);
    put(bytes, 3U);
    for (const std::string_view argument :
         {std::string_view("/bin/sh"), std::string_view("-c"), cmd})
        put(bytes, argument);
    put(bytes, 1U);
    put(bytes, "PATH");
    put(bytes, "/usr/bin:/bin");
    return bytes;
}

class OldSupervisor : public testing::Test {
protected:
    OldSupervisor()
        : go(old.program.folder() / "go"), ready(old.program.folder() / "ready"), id(task_id()) {}
    ~OldSupervisor() override {
        if (supervisor <= 0) return;
        ::kill(supervisor, SIGKILL);
        ::waitpid(supervisor, nullptr, 0);
    }

    // The task of `worker`, whose command ran when version 0.1 ended.
    std::string task_id() {
        const auto logs = old.home() / "agents" / "worker" / "task-output";
        return std::filesystem::directory_iterator(logs)->path().stem().string();
    }

    // Starts that task's command as version 0.1 did, and is gone like version 0.1.
    void start(std::string_view cmd) {
        const auto folder = old.home() / "run" / "tasks" / id;
        const auto log = old.home() / "agents" / "worker" / "task-output" / (id + ".log");
        std::filesystem::remove_all(folder);
        std::filesystem::create_directory(folder);
        std::filesystem::remove(log);
        const base::Fd file(::memfd_create("request", MFD_CLOEXEC));
        const std::string boot_id(base::trim(old.program.read("/proc/sys/kernel/random/boot_id")));
        ASSERT_TRUE(base::write_all(
            file.get(), request(boot_id, log.string(), (old.root() / "repo").string(), cmd)));
        int ends[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        const base::Fd ours(ends[0]), theirs(ends[1]);
        spawn(folder, file.get(), theirs.get());
        ASSERT_EQ(ready.wait(), "ready");
    }

    void spawn(const std::filesystem::path& folder, int request_fd, int control_fd) {
        const std::string program = (old.root() / "holon_supervisor").string();
        std::string name = "holon-supervisor";
        char* argv[] = {name.data(), id.data(), nullptr};
        char* environment[] = {nullptr};
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
        posix_spawn_file_actions_adddup2(&actions, request_fd, kFreeFdMin);
        posix_spawn_file_actions_adddup2(&actions, control_fd, kFreeFdMin + 1);
        posix_spawn_file_actions_adddup2(&actions, kFreeFdMin, kRequestFd);
        posix_spawn_file_actions_adddup2(&actions, kFreeFdMin + 1, kControlFd);
        posix_spawnattr_t attributes;
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
        EXPECT_EQ(
            ::posix_spawn(&supervisor, program.c_str(), &actions, &attributes, argv, environment),
            0);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
    }

    // The text that the model gets about the end of the task.
    std::string end_of_task() {
        const auto ends = old.await("worker", "task_result_received");
        EXPECT_EQ(ends.size(), 1U);
        for (const auto& event : old.added("worker", "message_enqueued"))
            if (base::string_at(event.at("data"), "kind") == "task_result")
                return base::string_at(event.at("data").at("body"), "text");
        return "";
    }

    OldHome old;
    e2e::Signpost go, ready;
    std::string id;
    pid_t supervisor{0};
};

TEST_F(OldSupervisor, ItsCommandIsReattachedWithAllOutputAndItsExitStatus) {
    start(fmt::format("echo first; echo ready > {}; read line < {}; echo $line; exit 7",
                      ready.path().string(), go.path().string()));
    old.start_daemon();
    const auto tasks = old.program.json_of({"task", "--list", "--agent", "worker", "--json"});
    ASSERT_EQ(tasks.as_array().size(), 1U) << "it still runs";
    EXPECT_EQ(base::string_at(tasks.as_array()[0], "id"), id);
    go.send("last");
    const std::string end = end_of_task();
    EXPECT_THAT(end, HasSubstr("exited with status 7"));
    EXPECT_THAT(end, HasSubstr("first\nlast"));
    EXPECT_FALSE(std::filesystem::exists(old.home() / "run" / "tasks" / id));
}

TEST_F(OldSupervisor, ItsCommandEndedWhileNoDaemonRan) {
    start(fmt::format("echo first; echo ready > {}; exit 7", ready.path().string()));
    ASSERT_EQ(::waitpid(supervisor, nullptr, 0), supervisor);
    supervisor = 0;
    old.start_daemon();
    const std::string end = end_of_task();
    EXPECT_THAT(end, HasSubstr("exited with status 7"));
    EXPECT_THAT(end, HasSubstr("first"));
}

TEST_F(OldSupervisor, ItsCommandCanBeStopped) {
    start(fmt::format("echo first; echo ready > {}; sleep 3600", ready.path().string()));
    old.program.script(
        {e2e::calls("TaskStop", {{"task_id", id}}), e2e::says("Stopped."), e2e::says("Stopped.")});
    old.start_daemon();
    EXPECT_EQ(old.program.run({"prompt", "--agent", "worker", "stop it"}).exit_code, 0);
    int status = 0;
    ASSERT_EQ(::waitpid(supervisor, &status, 0), supervisor);
    supervisor = 0;
    EXPECT_EQ(
        base::string_at(old.await("worker", "command_task_terminal_persisted").front().at("data"),
                        "status"),
        "cancelled");
}

}  // namespace
}  // namespace upgrade
