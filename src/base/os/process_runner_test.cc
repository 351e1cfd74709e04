#include "base/os/process_runner.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/hash.h"
#include "base/os/files.h"

#include <gmock/gmock.h>

namespace base {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;
using Steady = std::chrono::steady_clock;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HOLON_SANITIZED
#endif
#endif

std::size_t fd_count() {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), {}));
}

bool is_running(pid_t pid) {
    return kill(pid, 0) == 0;
}

class SystemProcessRunnerTest : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "runner_test-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override {
        runner_.reset();
        fs::remove_all(folder_);
    }

    ProcessSpec spec(std::vector<std::string> argv) const {
        return {.argv = std::move(argv),
                .cwd = folder_,
                .environment = {{"PATH", "/usr/bin:/bin"}},
                .stdout_spill = folder_ / "out",
                .stderr_spill = folder_ / "err"};
    }
    ProcessSpec shell(std::string script) const { return spec({"sh", "-c", std::move(script)}); }

    std::shared_ptr<ProcessRunner::Handle> start(ProcessSpec spec) {
        auto handle = runner_->start(std::move(spec), [this](ProcessExit exit) {
            exits_.push_back(std::move(exit));
            loop_.stop();
        });
        EXPECT_TRUE(handle) << handle.error().message;
        return handle.value_or(nullptr);
    }
    // Runs the loop until one more process has exited.
    ProcessExit next_exit() {
        const std::size_t before = exits_.size();
        while (exits_.size() == before) loop_.run();
        return exits_.back();
    }
    ProcessExit run(ProcessSpec spec) {
        start(std::move(spec));
        return next_exit();
    }
    // Runs the loop for one round of everything that is ready.
    void run_what_is_ready() {
        loop_.post([this] { loop_.stop(); });
        loop_.run();
    }

    // Runs the loop until processes have written `count` numbers into the FIFO "pids".
    std::vector<pid_t> await_pids(std::size_t count) {
        boost::asio::posix::stream_descriptor fifo(
            loop_.context(), open((folder_ / "pids").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
        std::string text;
        while (static_cast<std::size_t>(std::ranges::count(text, '\n')) < count) {
            fifo.async_wait(fifo.wait_read, [&](const boost::system::error_code&) {
                char buffer[256];
                const ssize_t got = read(fifo.native_handle(), buffer, sizeof buffer);
                if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
                loop_.stop();
            });
            loop_.run();
        }
        std::istringstream words(text);
        return {std::istream_iterator<pid_t>(words), {}};
    }
    void make_pids_fifo() { ASSERT_EQ(mkfifo((folder_ / "pids").c_str(), 0600), 0); }

    std::string hash_of_file(const fs::path& path) const {
        std::ifstream file(path, std::ios::binary);
        Sha256 hash;
        std::string buffer(64 * 1024, '\0');
        while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) ||
               file.gcount() > 0)
            hash.add({buffer.data(), static_cast<std::size_t>(file.gcount())});
        return hash.finish_hex();
    }

    fs::path folder_;
    AsioLoop loop_;
    std::unique_ptr<SystemProcessRunner> runner_{std::make_unique<SystemProcessRunner>(loop_)};
    std::vector<ProcessExit> exits_;
};

// A process that reports its number and then keeps running. "$1" of the scripts below.
constexpr const char* kStay = "echo $$ > pids; exec sleep 1000";

TEST_F(SystemProcessRunnerTest, StandardInputIsWhatTheSpecSays) {
    auto wanted = shell("cat; cat");
    wanted.input = std::make_shared<const Fd>(memory_file("first\nlast\n").value());
    EXPECT_EQ(run(wanted).out.head, "first\nlast\n");
}

TEST_F(SystemProcessRunnerTest, ReportsOutputAndExitCode) {
    auto wanted = shell("pwd; cat; echo $NAME >&2; exit 3");
    wanted.environment.emplace_back("NAME", "a b");
    const auto exit = run(std::move(wanted));
    EXPECT_EQ(exit.exit_code, 3);
    EXPECT_EQ(exit.signal, std::nullopt);
    EXPECT_EQ(exit.out.head, fs::canonical(folder_).string() + "\n");
    EXPECT_EQ(exit.err.head, "a b\n");
    EXPECT_EQ(exit.out.lines, 1U);
    EXPECT_GT(exit.duration.count(), 0);
    EXPECT_FALSE(exit.timed_out || exit.cancelled || exit.output_cut_off);
    EXPECT_FALSE(fs::exists(folder_ / "out") || fs::exists(folder_ / "err"));
}

TEST_F(SystemProcessRunnerTest, ReportsEmptyOutput) {
    const auto exit = run(spec({"true"}));
    EXPECT_EQ(exit.exit_code, 0);
    EXPECT_EQ(exit.out.head + exit.out.tail + exit.err.head + exit.err.tail, "");
    EXPECT_EQ(exit.out.bytes + exit.out.lines, 0U);
    EXPECT_EQ(exit.out.sha256, sha256_hex(""));
}

TEST_F(SystemProcessRunnerTest, KeepsBinaryOutputAsItIs) {
    const auto exit = run(shell(R"(printf '\377\000\200\r\n\303')"));
    EXPECT_EQ(exit.out.head, std::string("\xff\0\x80\r\n\xc3", 6));
    EXPECT_EQ(exit.out.lines, 2U);
}

TEST_F(SystemProcessRunnerTest, SpillsOnlyPastTheBound) {
    auto wanted = shell("head -c 100000 /dev/zero; head -c 100001 /dev/zero >&2");
    wanted.memory_bytes_max = 100'000;
    const auto exit = run(std::move(wanted));
    EXPECT_EQ(exit.out.head.size(), 100'000U);
    EXPECT_FALSE(exit.out.spilled);
    EXPECT_FALSE(fs::exists(folder_ / "out"));
    EXPECT_TRUE(exit.err.spilled);
    EXPECT_EQ(exit.err.head.size() + exit.err.tail.size(), 100'000U);
    EXPECT_EQ(fs::file_size(folder_ / "err"), 100'001U);
    EXPECT_EQ(fs::status(folder_ / "err").permissions(),
              fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(SystemProcessRunnerTest, SpillsLargeOutputCompletelyInBoundedMemory) {
    constexpr std::uint64_t kBytes = 64 * 1024 * 1024;
    const auto memory_peak_kb = [] {
        const auto status = read_file("/proc/self/status", 100'000).value();
        return std::stoul(status.substr(status.find("VmHWM:") + 6));
    };
    std::ofstream("/proc/self/clear_refs") << "5";  // Starts the peak afresh.
    const std::size_t before_kb = memory_peak_kb();
    const auto exit = run(shell("yes 'some line' | head -c 67108864"));
    const std::size_t grown_kb = memory_peak_kb() - before_kb;
    EXPECT_EQ(exit.out.bytes, kBytes);
    EXPECT_EQ(fs::file_size(folder_ / "out"), kBytes);
    EXPECT_EQ(exit.out.sha256, hash_of_file(folder_ / "out"));
    EXPECT_EQ(exit.out.spill_error, "");
#ifndef HOLON_SANITIZED
    EXPECT_LT(grown_kb, 16 * 1024U);
#else
    (void)grown_kb;
#endif
}

TEST_F(SystemProcessRunnerTest, ReadsBothStreamsAtOnce) {
    const auto exit =
        run(shell("head -c 20000000 /dev/zero & head -c 20000000 /dev/zero >&2; wait"));
    EXPECT_EQ(exit.out.bytes, 20'000'000U);
    EXPECT_EQ(exit.err.bytes, 20'000'000U);
    EXPECT_EQ(exit.out.sha256, exit.err.sha256);
    EXPECT_EQ(exit.exit_code, 0);
}

TEST_F(SystemProcessRunnerTest, ContinuesWhenTheSpillFails) {
    auto wanted = shell("head -c 3000000 /dev/zero; echo end");
    wanted.stdout_spill = folder_ / "missing" / "out";
    const auto exit = run(std::move(wanted));
    EXPECT_EQ(exit.exit_code, 0);
    EXPECT_THAT(exit.out.spill_error, HasSubstr("missing/out: No such file"));
    EXPECT_EQ(exit.out.bytes, 3'000'004U);
    EXPECT_EQ(exit.out.tail.substr(exit.out.tail.size() - 4), "end\n");
}

TEST_F(SystemProcessRunnerTest, ReportsTheSignalThatEndedIt) {
    const auto exit = run(shell("echo out; kill -SEGV $$"));
    EXPECT_EQ(exit.exit_code, std::nullopt);
    EXPECT_EQ(exit.signal, SIGSEGV);
    EXPECT_EQ(exit.out.head, "out\n");
}

TEST_F(SystemProcessRunnerTest, SaysWhyAProgramCannotBeStarted) {
    std::ofstream(folder_ / "text") << "not a program";
    std::ofstream(folder_ / "orphaned") << "#!/no/such/interpreter\n";
    fs::permissions(folder_ / "orphaned", fs::perms::owner_all);
    std::ofstream(folder_ / "nonsense") << "\x01\x02";
    fs::permissions(folder_ / "nonsense", fs::perms::owner_all);
    run(spec({"true"}));  // The loop opens descriptors of its own at the first use.
    const std::size_t fds = fd_count();
    const auto error_of = [&](ProcessSpec spec) {
        const auto handle = runner_->start(std::move(spec), [](ProcessExit) { FAIL(); });
        return handle ? Error{} : handle.error();
    };
    EXPECT_EQ(error_of(spec({"no-such-program"})),
              (Error{ErrorCode::NotFound, "the program 'no-such-program' was not found"}));
    EXPECT_EQ(error_of(spec({"./none"})),
              (Error{ErrorCode::NotFound, "the program './none' was not found"}));
    EXPECT_EQ(error_of(spec({"./text"})),
              (Error{ErrorCode::InvalidInput, "the program './text' is not executable"}));
    EXPECT_EQ(error_of(spec({"./nonsense"})).code, ErrorCode::InvalidInput);
    EXPECT_EQ(error_of(spec({"./orphaned"})).code, ErrorCode::NotFound);
    EXPECT_THAT(error_of(spec({"./orphaned"})).message, HasSubstr("interpreter"));
    EXPECT_EQ(error_of(spec({})).code, ErrorCode::InvalidInput);
    EXPECT_EQ(error_of(spec({"echo", std::string("a\0b", 3)})).code, ErrorCode::InvalidInput);
    EXPECT_EQ(error_of(spec({"echo", std::string(4'000'000, 'x')})).code, ErrorCode::InvalidInput);

    auto homeless = spec({"true"});
    homeless.cwd = folder_ / "gone";
    EXPECT_EQ(error_of(homeless).code, ErrorCode::NotFound);
    EXPECT_THAT(error_of(homeless).message, HasSubstr((folder_ / "gone").string()));
    homeless.cwd = folder_ / "text";
    EXPECT_EQ(error_of(homeless).code, ErrorCode::InvalidInput);
    auto odd = spec({"true"});
    odd.environment.emplace_back("A=B", "c");
    EXPECT_EQ(error_of(odd).code, ErrorCode::InvalidInput);
    EXPECT_EQ(fd_count(), fds);
}

TEST_F(SystemProcessRunnerTest, FindsTheProgramInThePathOfTheSpec) {
    fs::create_directory(folder_ / "bin");
    std::ofstream(folder_ / "bin" / "mine") << "#!/bin/sh\necho mine\n";
    fs::permissions(folder_ / "bin" / "mine", fs::perms::owner_all);
    auto wanted = spec({"mine"});
    wanted.environment = {{"PATH", "/nowhere:" + (folder_ / "bin").string()}};
    EXPECT_EQ(run(wanted).out.head, "mine\n");
    // The folder to run in is not searched: others may write there.
    for (const char* path : {"bin", "/nowhere:bin", "", ":/nowhere", "/nowhere:"}) {
        wanted.environment = {{"PATH", path}};
        wanted.cwd = std::string(path).contains("bin") ? folder_ : folder_ / "bin";
        EXPECT_FALSE(runner_->start(wanted, [](const ProcessExit&) {})) << path;
    }
    wanted.cwd = folder_;
    EXPECT_EQ(run(spec({"bin/mine"})).out.head, "mine\n");
    wanted.environment = {};
    wanted.argv = {"env"};
    EXPECT_EQ(run(wanted).out.head, "");
}

TEST_F(SystemProcessRunnerTest, InheritsNeitherDescriptorsNorSignalSettings) {
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    const auto handler = std::signal(SIGPIPE, SIG_IGN);
    const Fd inherited(open("/dev/null", O_RDONLY));  // Not close-on-exec.
    const auto exit = run(shell("grep -hE '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd"));
    std::signal(SIGPIPE, handler);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    // glibc leaves two signals of its own (32 and 33) ignored. The 3 is the folder that ls reads.
    EXPECT_THAT(exit.out.head,
                testing::MatchesRegex("SigBlk:\t0{16}\nSigIgn:\t0{7}[01][08]0{7}\n0\n1\n2\n3\n"));
}

TEST_F(SystemProcessRunnerTest, EndsACommandThatExceedsItsTimeout) {
    auto wanted = shell("trap 'echo bye; exit 7' TERM; echo hi; while :; do sleep 0.01; done");
    wanted.timeout = 300ms;
    const auto exit = run(std::move(wanted));
    EXPECT_TRUE(exit.timed_out);
    EXPECT_FALSE(exit.cancelled || exit.output_cut_off);
    EXPECT_EQ(exit.exit_code, 7);
    EXPECT_EQ(exit.out.head, "hi\nbye\n");
    EXPECT_GE(exit.duration, 300ms);
}

TEST_F(SystemProcessRunnerTest, KillsACommandThatIgnoresTheTimeout) {
    auto wanted = shell("trap '' TERM; echo hi; while :; do sleep 1000; done");
    wanted.timeout = 300ms;
    const auto exit = run(std::move(wanted));
    EXPECT_TRUE(exit.timed_out);
    EXPECT_EQ(exit.signal, SIGKILL);
    EXPECT_EQ(exit.out.head, "hi\n");
    EXPECT_GE(exit.duration, 300ms + kTermGrace);
}

TEST_F(SystemProcessRunnerTest, ForgetsTheTimeoutWhenTheCommandEndsInTime) {
    auto wanted = spec({"true"});
    wanted.timeout = 1h;
    EXPECT_FALSE(run(std::move(wanted)).timed_out);
}

TEST_F(SystemProcessRunnerTest, EndsEveryDescendantWhereverItWent) {
    make_pids_fifo();
    auto wanted = shell(
        "sh -c \"$1\" & (sh -c \"$1\" &) ; "                      // A child; an orphan.
        "(trap '' TERM; exec sh -c \"$1\") & "                    // Deaf to SIGTERM.
        "setsid sh -c \"$1\" & setsid -f sh -c \"$1\"; "          // Own session; and an orphan.
        "setsid -f sh -c \"trap '' TERM; $1\" >/dev/null 2>&1; "  // All of it.
        "nohup sh -c \"$1\" >/dev/null 2>&1 & "
        "setsid sh -c \"(setsid -f sh -c '$1'); $1\" & "  // A tree below its own session: 2.
        "exec sh -c \"$1\"");
    wanted.argv.insert(wanted.argv.end(), {"sh", kStay});
    const auto handle = start(std::move(wanted));
    const auto pids = await_pids(10);
    for (const pid_t pid : pids) EXPECT_TRUE(is_running(pid));
    handle->cancel();
    handle->cancel();
    const auto exit = next_exit();
    EXPECT_EQ(pids.size(), 10U);
    for (const pid_t pid : pids) EXPECT_FALSE(is_running(pid)) << pid;
    EXPECT_TRUE(exit.cancelled);
    EXPECT_FALSE(exit.timed_out || exit.output_cut_off);
    EXPECT_EQ(exit.signal, SIGTERM);
    handle->cancel();
    run_what_is_ready();
    EXPECT_EQ(exits_.size(), 1U);
}

TEST_F(SystemProcessRunnerTest, CutsOffOutputThatABackgroundProcessHoldsOpen) {
    const auto before = Steady::now();
    const auto exit = run(shell("sleep 1000 & echo $!"));
    EXPECT_EQ(exit.exit_code, 0);
    EXPECT_TRUE(exit.output_cut_off);
    EXPECT_FALSE(exit.timed_out || exit.cancelled);
    EXPECT_FALSE(is_running(std::stoi(exit.out.head)));
    EXPECT_GE(Steady::now() - before, kDrainGrace);
}

TEST_F(SystemProcessRunnerTest, ReadsWhatArrivesAfterTheLeader) {
    // The leader stays a zombie until all is done, so its state shows that it has ended.
    const auto exit =
        run(shell("(until grep -q ') Z' /proc/$$/stat; do :; done; echo late) & echo early"));
    EXPECT_EQ(exit.out.head, "early\nlate\n");
    EXPECT_FALSE(exit.output_cut_off);
}

TEST_F(SystemProcessRunnerTest, CutsOffOutputThatNeverEnds) {
    const auto before = Steady::now();
    const auto exit = run(shell("(while :; do echo x; sleep 0.05; done) & echo pid $!"));
    const auto waited = Steady::now() - before;
    EXPECT_TRUE(exit.output_cut_off);
    EXPECT_GT(exit.out.lines, 2U);
    EXPECT_GE(waited, kDrainMax);
    const auto pid = exit.out.head.find("pid ");  // Either of the two may print first.
    ASSERT_NE(pid, std::string::npos) << exit.out.head;
    EXPECT_FALSE(is_running(std::stoi(exit.out.head.substr(pid + 4))));
}

TEST_F(SystemProcessRunnerTest, LeavesNoBackgroundProcessBehind) {
    make_pids_fifo();
    auto wanted = shell(
        "nohup sh -c \"$1\" >/dev/null 2>&1 & setsid -f sh -c \"trap '' TERM; $1\" >/dev/null "
        "2>&1; "
        "read go < go");
    ASSERT_EQ(mkfifo((folder_ / "go").c_str(), 0600), 0);
    wanted.argv.insert(wanted.argv.end(), {"sh", kStay});
    start(std::move(wanted));
    const auto pids = await_pids(2);
    std::ofstream(folder_ / "go") << "go\n";
    const auto exit = next_exit();
    EXPECT_EQ(exit.exit_code, 0);
    EXPECT_FALSE(exit.output_cut_off);
    for (const pid_t pid : pids) EXPECT_FALSE(is_running(pid)) << pid;
}

TEST_F(SystemProcessRunnerTest, LeavesTheProcessesOfOtherCommandsAlone) {
    make_pids_fifo();
    auto wanted = shell("setsid -f sh -c \"$1\"; (sh -c \"$1\" &); exec sh -c \"$1\"");
    wanted.argv.insert(wanted.argv.end(), {"sh", kStay});
    const auto handle = start(std::move(wanted));
    const auto pids = await_pids(3);
    EXPECT_EQ(run(shell("(true &); sleep 1000 >/dev/null 2>&1 & true")).exit_code, 0);
    for (const pid_t pid : pids) EXPECT_TRUE(is_running(pid)) << pid;
    handle->cancel();
    next_exit();
    for (const pid_t pid : pids) EXPECT_FALSE(is_running(pid)) << pid;
}

TEST_F(SystemProcessRunnerTest, LeavesChildrenThatOthersStartedAlone) {
    const char* argv[] = {"sleep", "1000", nullptr};
    pid_t stranger = 0;
    ASSERT_EQ(posix_spawnp(&stranger, "sleep", nullptr, nullptr, const_cast<char**>(argv), environ),
              0);
    run(spec({"true"}));
    EXPECT_EQ(waitpid(stranger, nullptr, WNOHANG), 0);
    kill(stranger, SIGKILL);
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(stranger), &info, WEXITED | WNOWAIT), 0);
    run(spec({"true"}));
    EXPECT_EQ(waitpid(stranger, nullptr, WNOHANG), stranger);
}

TEST_F(SystemProcessRunnerTest, ReportsTheExitWithoutAHandle) {
    start(shell("echo still here")).reset();
    EXPECT_EQ(next_exit().out.head, "still here\n");
}

TEST_F(SystemProcessRunnerTest, CancelsACommandThatIsDraining) {
    make_pids_fifo();
    // The background process says when the leader has gone, and then holds the pipes.
    const auto handle = start(
        shell("(until grep -q ') Z' /proc/$$/stat; do :; done; echo 1 > pids; sleep 1000) & :"));
    await_pids(1);
    handle->cancel();
    const auto exit = next_exit();
    EXPECT_EQ(exit.exit_code, 0);
    EXPECT_TRUE(exit.cancelled);
    EXPECT_EQ(exits_.size(), 1U);
}

TEST_F(SystemProcessRunnerTest, KillsWhatRunsWhenItIsDestroyed) {
    make_pids_fifo();
    auto wanted = shell("trap '' TERM; sh -c \"$1\" & setsid -f sh -c \"$1\"; exec sh -c \"$1\"");
    wanted.argv.insert(wanted.argv.end(), {"sh", kStay});
    const auto handle = start(std::move(wanted));
    const auto pids = await_pids(3);
    runner_.reset();
    for (const pid_t pid : pids) EXPECT_FALSE(is_running(pid)) << pid;
    handle->cancel();
    run_what_is_ready();
    EXPECT_TRUE(exits_.empty());
}

TEST_F(SystemProcessRunnerTest, MayBeDestroyedByTheExitItReports) {
    auto handle = runner_->start(spec({"true"}), [this](ProcessExit) {
        runner_.reset();
        loop_.stop();
    });
    ASSERT_TRUE(handle);
    loop_.run();
    (*handle)->cancel();
    EXPECT_FALSE(runner_);
}

TEST_F(SystemProcessRunnerTest, RunsManyAtOnceAndClosesEveryDescriptor) {
    run(spec({"true"}));
    const std::size_t fds = fd_count();
    constexpr std::size_t kProcesses = 200;
    ASSERT_EQ(mkfifo((folder_ / "go").c_str(), 0600), 0);
    {
        // All wait for the same byte stream to end, so all run at once.
        Fd go(open((folder_ / "go").c_str(), O_RDWR | O_CLOEXEC));
        make_pids_fifo();
        for (std::size_t i = 0; i < kProcesses; ++i)
            start(
                shell(fmt::format("exec < go; echo 1 > pids; cat; echo {}; exit {}", i, i % 100)));
        EXPECT_EQ(await_pids(kProcesses).size(), kProcesses);
    }
    while (exits_.size() < kProcesses + 1) next_exit();
    std::size_t right = 0;
    for (const auto& exit : exits_)
        right += !exit.out.head.empty() && std::stoi(exit.out.head) % 100 == exit.exit_code;
    EXPECT_EQ(right, kProcesses);
    EXPECT_EQ(fd_count(), fds);
    siginfo_t zombie{};
    waitid(P_ALL, 0, &zombie, WEXITED | WNOHANG | WNOWAIT);
    EXPECT_EQ(zombie.si_pid, 0);
}

}  // namespace
}  // namespace base
