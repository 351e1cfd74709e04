#include "agent/identity/agent_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gmock/gmock.h>

#include "base/os/process_tree.h"

namespace identity {
namespace {

using base::ErrorCode;
using testing::HasSubstr;

// A process that sleeps until a signal ends it, after `begin`.
class Sleeper {
public:
    explicit Sleeper(const std::function<bool()>& begin) {
        int ready[2];
        CHECK(::pipe(ready) == 0, "a pipe can be made");
        const base::Fd said(ready[0]);
        base::Fd saying(ready[1]);
        pid = ::fork();
        if (pid == 0) {
            if (begin() && ::write(saying.get(), "x", 1) == 1)
                while (true) ::pause();
            ::_exit(1);
        }
        saying.reset();
        char byte = 0;
        CHECK(::read(said.get(), &byte, 1) == 1, "the process has begun");
    }
    ~Sleeper() {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    bool has_ended() const {
        siginfo_t info{};
        return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               info.si_pid == pid;
    }
    pid_t pid{0};
};

class LockTest : public testing::Test {
protected:
    LockTest() {
        std::string name = std::filesystem::temp_directory_path() / "holon-lock-XXXXXX";
        folder_ = ::mkdtemp(name.data());
    }
    ~LockTest() override { std::filesystem::remove_all(folder_); }
    // What the holder has written about itself, replaced by something else.
    void forge(const std::string& text) const {
        const base::Fd file(::open((folder_ / ".holon" / "run.lock").c_str(), O_WRONLY | O_TRUNC));
        base::write_all(file.get(), text);
    }
    std::filesystem::path folder_;
};

TEST_F(LockTest, FindsTheProcessThatHoldsItAndSignalsThatOne) {
    const Sleeper holder([&] {
        static base::Result<base::Fd> held = lock_folder(folder_, "run 1");
        return held.has_value();
    });
    EXPECT_EQ(is_locked(folder_), true);
    EXPECT_THAT(lock_folder(folder_, "run 1").error().message,
                HasSubstr(fmt::format("(pid {})", holder.pid)));
    const auto process = lock_holder(folder_);
    ASSERT_TRUE(process && *process) << process.error().message;
    ASSERT_TRUE(signal_process(**process, SIGTERM));
    pollfd gone{.fd = (*process)->get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&gone, 1, 60'000), 1);
    EXPECT_TRUE(holder.has_ended());
    EXPECT_TRUE(signal_process(**process, SIGTERM)) << "it is gone, and nobody else is meant";
    EXPECT_EQ(is_locked(folder_), false);
    EXPECT_FALSE(lock_holder(folder_).value());
}

TEST_F(LockTest, NamesNobodyThatTheFileOnlyClaims) {
    const auto held = lock_folder(folder_, "run 1");
    ASSERT_TRUE(held);
    const Sleeper innocent([] { return true; });
    const auto start = base::start_time_of(innocent.pid);
    for (const std::string& claim :
         {fmt::format("{} {}\n", innocent.pid, start + 1),  // Another process had that number.
          fmt::format("{}\n", innocent.pid),                // As older programs wrote it.
          std::string("-1 5\n"), std::string("1x 5\n"), std::string()}) {
        forge(claim);
        const auto process = lock_holder(folder_);
        ASSERT_FALSE(process) << claim;
        EXPECT_EQ(process.error().code, ErrorCode::Unavailable);
    }
    EXPECT_EQ(is_locked(folder_), true);
}

}  // namespace
}  // namespace identity
