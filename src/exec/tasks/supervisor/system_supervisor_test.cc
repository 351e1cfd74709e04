#include "exec/tasks/supervisor/system_supervisor.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <poll.h>
#include <sys/syscall.h>

#include <csignal>

#include <gmock/gmock.h>

#include "base/os/process_tree.h"
#include "exec/tasks/supervisor/state.h"
#include "exec/tasks/supervisor/wire.h"
#include "tests/support/eventually.h"

namespace supervisor {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::size_t kBytesMax = 64 * 1024 * 1024;

class SystemSupervisorTest : public testing::Test {
protected:
    SystemSupervisorTest() {
        std::string name = std::filesystem::temp_directory_path() / "holon-supervisor-XXXXXX";
        folder_ = ::mkdtemp(name.data());
        // Longer than the name of a socket may be.
        run_ = folder_ / std::string(120, 'r') / "tasks";
        supervisor_.emplace(loop_, run_);
    }
    ~SystemSupervisorTest() override {
        for (const auto& id : SystemSupervisor(loop_, run_).known())
            if (const auto state = read_state(run_ / id); state)
                if (state->status == StateStatus::Running) {
                    ::kill(static_cast<pid_t>(-state->pid), SIGKILL);
                    ::kill(static_cast<pid_t>(state->supervisor_pid), SIGKILL);
                }
        std::filesystem::remove_all(folder_);
    }

    Spec spec(const std::string& cmd) {
        return {.id = "one",
                .argv = {"sh", "-c", cmd},
                .cwd = folder_,
                .environment = {{"PATH", "/usr/bin:/bin"}},
                .log = folder_ / "log"};
    }
    OnEnd on_end() {
        return [this](End end) {
            end_ = std::move(end);
            loop_.stop();
        };
    }
    void start(Spec spec) {
        auto command = supervisor_->start(std::move(spec), on_end());
        ASSERT_TRUE(command) << command.error().message;
        command_ = *command;
    }
    End await_end() {
        while (!end_) loop_.run();
        return *std::exchange(end_, std::nullopt);
    }
    Ended await_exit() {
        const End end = await_end();
        if (const auto* refused = std::get_if<NotStarted>(&end)) ADD_FAILURE() << refused->reason;
        if (const auto* lost = std::get_if<Lost>(&end)) ADD_FAILURE() << lost->evidence;
        const auto* ended = std::get_if<Ended>(&end);
        return ended ? *ended : Ended{};
    }
    std::string log() const { return base::read_file(folder_ / "log", kBytesMax).value_or(""); }

    // The runtime goes away without a word, and another one comes.
    void restart() {
        supervisor_.reset();
        supervisor_.emplace(loop_, run_);
    }
    void attach() { command_ = supervisor_->attach("one", on_end()); }

    // Returns when the supervisor has recorded the start and listens: it answers in order.
    State await_start() {
        bool answered = false;
        command_->write("", [&](const base::Result<std::int64_t>&) {
            answered = true;
            loop_.stop();
        });
        while (!answered) loop_.run();
        return read_state(run_ / "one").value();
    }

    void make_pipe(const char* name) { ASSERT_EQ(::mkfifo((folder_ / name).c_str(), 0600), 0); }
    // Waits until the command has written a line to the pipe, and returns it.
    std::string hear(const char* name) const {
        const base::Fd pipe(::open((folder_ / name).c_str(), O_RDONLY));
        std::string line;
        char c = 0;
        while (::read(pipe.get(), &c, 1) == 1 && c != '\n') line += c;
        return line;
    }
    void tell(const char* name, std::string_view text) const {
        const base::Fd pipe(::open((folder_ / name).c_str(), O_WRONLY));
        base::write_all(pipe.get(), text);
    }

    std::filesystem::path folder_, run_;
    base::AsioLoop loop_;
    std::optional<SystemSupervisor> supervisor_;
    std::shared_ptr<Supervisor::Command> command_;
    std::optional<End> end_;
};

TEST_F(SystemSupervisorTest, KeepsBothStreamsTogetherAndApartAndTheExitStatus) {
    start(spec("echo out; echo err >&2; echo more; exit 3"));
    const Ended ended = await_exit();
    EXPECT_EQ(ended.exit_code, 3);
    EXPECT_FALSE(ended.stopped);
    std::optional<base::Result<Captured>> captured;
    supervisor_->collect("one", folder_ / "log", ended, {}, [&](base::Result<Captured> both) {
        captured = std::move(both);
        loop_.stop();
    });
    while (!captured) loop_.run();
    ASSERT_TRUE(*captured) << captured->error().message;
    EXPECT_EQ((*captured)->out.head, "out\nmore\n");
    EXPECT_EQ((*captured)->err.head, "err\n");
    for (const char* line : {"out\n", "err\n", "more\n"}) EXPECT_THAT(log(), HasSubstr(line));
    struct stat info{};
    ASSERT_EQ(::stat((folder_ / "log").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    ASSERT_EQ(::stat((run_ / "one" / "control").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    supervisor_->forget("one");
    EXPECT_FALSE(supervisor_->knows("one"));
}

// More turns between the streams than are held in memory; each waits until the last was read.
TEST_F(SystemSupervisorTest, TellsTheStreamsApartHoweverOftenTheyTakeTurns) {
    constexpr std::size_t kTurns = kSegmentsHeld + 10;
    start(
        spec(fmt::format("i=0; while [ $i -lt {} ]; do "
                         "if [ $((i % 2)) = 0 ]; then echo o; else echo e >&2; fi; "
                         "i=$((i + 1)); "
                         "until [ $(wc -c < log) -ge $((2 * i)) ]; do :; done; done",
                         kTurns)));
    const Ended ended = await_exit();
    EXPECT_EQ(std::filesystem::file_size(run_ / "one" / kSegmentsFile), kTurns * kSegmentBytes);
    std::optional<base::Result<Captured>> captured;
    supervisor_->collect("one", folder_ / "log", ended, {}, [&](base::Result<Captured> both) {
        captured = std::move(both);
        loop_.stop();
    });
    while (!captured) loop_.run();
    ASSERT_TRUE(*captured) << captured->error().message;
    std::string out, err;
    for (std::size_t i = 0; i < kTurns; ++i) (i % 2 == 0 ? out : err) += i % 2 == 0 ? "o\n" : "e\n";
    EXPECT_EQ((*captured)->out.head, out);
    EXPECT_EQ((*captured)->err.head, err);
}

TEST_F(SystemSupervisorTest, TellsASignalFromAnExit) {
    start(spec("kill -9 $$"));
    const Ended ended = await_exit();
    EXPECT_EQ(ended.exit_code, std::nullopt);
    EXPECT_EQ(ended.signal, SIGKILL);
    EXPECT_FALSE(ended.stopped);
}

TEST_F(SystemSupervisorTest, SaysWhyACommandCannotStart) {
    auto wrong = spec("true");
    wrong.argv = {"no-such-program"};
    start(std::move(wrong));
    EXPECT_EQ(await_end(), End(NotStarted{"the program 'no-such-program' was not found"}));
}

// contract: TASK-16, TASK-19
TEST_F(SystemSupervisorTest, FindsACommandAgainWithItsOutputFromTheFirstByteAndItsEnd) {
    make_pipe("ready");
    make_pipe("go");
    start(spec("echo first; echo > ready; read line < go; echo $line; exit 7"));
    hear("ready");
    restart();  // Maybe before the supervisor has written down the number of the process.
    EXPECT_TRUE(supervisor_->knows("one"));
    attach();
    tell("go", "last\n");
    EXPECT_EQ(await_exit().exit_code, 7);
    EXPECT_EQ(log(), "first\nlast\n");
}

// contract: TASK-16
TEST_F(SystemSupervisorTest, RemembersTheEndOfACommandThatNobodyWatched) {
    make_pipe("ready");
    make_pipe("go");
    start(spec("echo > ready; read line < go; echo unseen; exit 5"));
    hear("ready");
    const State state = await_start();
    supervisor_.reset();
    const base::Fd supervisor(
        static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(state.supervisor_pid), 0)));
    tell("go", "\n");
    pollfd gone{.fd = supervisor.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&gone, 1, 30'000), 1) << "the supervisor ends with its command";
    supervisor_.emplace(loop_, run_);
    attach();
    EXPECT_EQ(await_exit().exit_code, 5);
    EXPECT_EQ(log(), "unseen\n");
}

TEST_F(SystemSupervisorTest, KeepsAnEndThatCannotBeSavedUntilItCan) {
    make_pipe("ready");
    make_pipe("go");
    start(spec("echo > ready; read line < go; echo out; echo err >&2; exit 5"));
    hear("ready");
    const State state = await_start();
    // The next state cannot be written while a folder has the name of its file.
    const auto blocked = run_ / "one" / (std::string(kStateFile) + ".next");
    std::filesystem::create_directory(blocked);
    tell("go", "\n");
    ASSERT_TRUE(test_support::eventually([&] {
        return base::start_time_of(static_cast<pid_t>(state.pid)) == 0;
    })) << "the command ends";
    std::filesystem::remove(blocked);
    EXPECT_EQ(await_exit().exit_code, 5);
}

TEST_F(SystemSupervisorTest, SaysWhatIsInUseAndForgetsWhatIsNot) {
    const auto make_old = [&](const char* id) {
        std::filesystem::last_write_time(
            run_ / id, std::filesystem::file_time_type::clock::now() - 2 * kInUseMax);
    };
    EXPECT_FALSE(supervisor_->is_in_use("never"));
    std::filesystem::create_directories(run_ / "begun");
    EXPECT_TRUE(supervisor_->is_in_use("begun")) << "its supervisor may be on its way";
    make_old("begun");
    EXPECT_FALSE(supervisor_->is_in_use("begun"));
    start(spec("exec sleep 600"));
    const State state = await_start();
    make_old("one");
    EXPECT_TRUE(supervisor_->is_in_use("one")) << "it runs";
    restart();
    ASSERT_EQ(::kill(static_cast<pid_t>(state.supervisor_pid), SIGKILL), 0);
    ASSERT_TRUE(test_support::eventually([&] { return !supervisor_->is_in_use("one"); }));
    supervisor_->forget("one");
    EXPECT_FALSE(std::filesystem::exists(run_ / "one"));
    EXPECT_TRUE(test_support::eventually([&] {
        return base::start_time_of(static_cast<pid_t>(state.pid)) == 0;
    })) << "a process without a supervisor is ended";
}

// contract: TASK-17
TEST_F(SystemSupervisorTest, TellsWhatItKnowsWhenTheSupervisorIsGone) {
    make_pipe("ready");
    start(spec("echo > ready; exec sleep 600"));
    hear("ready");
    const State state = await_start();
    ::kill(static_cast<pid_t>(state.supervisor_pid), SIGKILL);
    const End end = await_end();
    ASSERT_TRUE(std::holds_alternative<Lost>(end));
    EXPECT_THAT(std::get<Lost>(end).evidence,
                HasSubstr(fmt::format("(process {}) ended", state.pid)));
    // What nobody watches any more does not run on.
    EXPECT_TRUE(test_support::eventually(
        [&] { return base::start_time_of(static_cast<pid_t>(state.pid)) == 0; }));
}

// contract: TASK-17
TEST(SupervisorState, ABootInBetweenIsTheEndOfEveryCommand) {
    const State running{.boot_id = "then", .pid = 42};
    EXPECT_EQ(end_of(running, "now"),
              End(Lost{"The machine was restarted while the command ran as process 42; it did not "
                       "survive."}));
    const State exited{.boot_id = "then", .status = StateStatus::Exited, .exit_code = 3};
    EXPECT_EQ(std::get<Ended>(end_of(exited, "now")).exit_code, 3);
}

// contract: CMD-52
TEST_F(SystemSupervisorTest, GivesACommandATerminalOfItsOwn) {
    auto tty = spec("test -t 0 && test -t 1 && test -t 2 && echo yes; echo err >&2; stty size");
    tty.tty = true;
    start(std::move(tty));
    const Ended ended = await_exit();
    EXPECT_EQ(ended.exit_code, 0);
    EXPECT_EQ(log(), "yes\r\nerr\r\n24 80\r\n");
    EXPECT_EQ(ended.stderr_bytes, 0U);
}

// contract: CMD-51
TEST_F(SystemSupervisorTest, PassesInputOn) {
    auto reader = spec("cat");
    reader.accepts_input = true;
    start(std::move(reader));
    std::vector<base::Result<std::int64_t>> written;
    command_->write("hello\n", [&](auto bytes) { written.push_back(bytes); });
    command_->write("", [&](auto bytes) { written.push_back(bytes); });
    command_->close_input();
    EXPECT_EQ(await_exit().exit_code, 0);
    EXPECT_EQ(log(), "hello\n");
    ASSERT_EQ(written.size(), 2U);
    EXPECT_EQ(written[0], 6);
    EXPECT_EQ(written[1], 0);
    // The end was reported; no command is left to write to.
    command_->write("late", [&](auto bytes) { written.push_back(bytes); });
    ASSERT_EQ(written.size(), 3U);
    EXPECT_FALSE(written[2]);
}

TEST_F(SystemSupervisorTest, RefusesInputThatNobodyAskedFor) {
    make_pipe("ready");
    start(spec("echo > ready; exec sleep 600"));
    hear("ready");
    std::optional<base::Result<std::int64_t>> written;
    command_->write("x", [&](auto bytes) {
        written = bytes;
        loop_.stop();
    });
    while (!written) loop_.run();
    ASSERT_FALSE(*written);
    EXPECT_EQ(written->error().message, "it was started without accepts_input");
    command_->stop(0ms);
    await_exit();
}

TEST_F(SystemSupervisorTest, StopsAWholeTreeWithItsDaemons) {
    make_pipe("ready");
    // A child, one in a session of its own, and one that also lost its parent.
    start(
        spec("sleep 600 & echo $! > a; setsid sleep 600 & echo $! > b; "
             "(setsid sh -c 'echo $$ > c; echo > ready; exec sleep 600' &) ; wait"));
    hear("ready");
    command_->stop(5s);
    const Ended ended = await_exit();
    EXPECT_TRUE(ended.stopped);
    EXPECT_FALSE(ended.forced);
    for (const char* name : {"a", "b", "c"}) {
        const auto pid = std::stoi(base::read_file(folder_ / name, 100).value());
        EXPECT_EQ(base::start_time_of(pid), 0U) << name;
    }
}

// contract: CMD-69
TEST_F(SystemSupervisorTest, KillsWhatIgnoresTheSoftSignal) {
    make_pipe("ready");
    start(spec("trap '' TERM; echo > ready; while :; do sleep 1; done"));
    hear("ready");
    command_->stop(1h);
    command_->stop(0ms);  // Asked again, by force.
    const Ended ended = await_exit();
    EXPECT_TRUE(ended.stopped);
    EXPECT_TRUE(ended.forced);
}

TEST_F(SystemSupervisorTest, AnEndOfItsOwnIsNoStop) {
    make_pipe("ready");
    // What it leaves behind holds the streams, so that the stop comes between its end and ours.
    start(
        spec("setsid sh -c \"while ! grep -q ') Z' /proc/$$/stat; do :; done; "
             "echo > ready; exec sleep 600\" & exit 4"));
    hear("ready");
    command_->stop(5s);
    const Ended ended = await_exit();
    EXPECT_EQ(ended.exit_code, 4);
    EXPECT_FALSE(ended.stopped);
}

TEST_F(SystemSupervisorTest, KeepsOutputUpToItsBoundAndSaysWhatIsMissing) {
    auto loud = spec("printf '%01000d' 7; printf '%0100d' 8 >&2");
    loud.log_bytes_max = 400;
    start(std::move(loud));
    const Ended ended = await_exit();
    EXPECT_EQ(ended.exit_code, 0);
    EXPECT_EQ(ended.stdout_bytes + ended.stderr_bytes, 400U);
    EXPECT_EQ(ended.dropped_bytes, 700U);
    EXPECT_THAT(log(), HasSubstr("[the output beyond this point was not kept]"));
}

// Nothing of ours reaches the supervisor, and nothing of the supervisor's the command.
TEST_F(SystemSupervisorTest, HoldsNoDescriptorOfTheRuntime) {
    make_pipe("ready");
    const base::Fd leaky(::open("/dev/null", O_RDONLY));  // Without O_CLOEXEC.
    const std::string secret = folder_ / "secret";
    const base::Fd held(::open(secret.c_str(), O_RDWR | O_CREAT, 0600));
    start(spec("ls -l /proc/$$/fd > fds; umask > umask; echo > ready; exec sleep 600"));
    hear("ready");
    const State state = await_start();
    const std::string folder = fmt::format("/proc/{}/fd", state.supervisor_pid);
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::error_code gone;
        EXPECT_NE(std::filesystem::read_symlink(entry.path(), gone).string(), secret);
    }
    EXPECT_THAT(base::read_file(folder_ / "fds", kBytesMax).value(),
                testing::Not(HasSubstr("socket")));
    const mode_t mask = ::umask(0);
    ::umask(mask);
    EXPECT_EQ(base::read_file(folder_ / "umask", 100).value(), fmt::format("{:04o}\n", mask));
    EXPECT_EQ(::getsid(static_cast<pid_t>(state.supervisor_pid)), state.supervisor_pid);
    command_->stop(0ms);
    await_exit();
}

}  // namespace
}  // namespace supervisor
