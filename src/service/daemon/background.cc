#include "service/daemon/background.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/text.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::size_t kLineBytesMax = 16 * 1024;
constexpr std::chrono::milliseconds kEndGrace{5000};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (auto& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

bool replaces(const BackgroundSpec& spec, std::string_view entry) {
    for (const auto& [name, value] : spec.environment)
        if (entry.starts_with(name + "=")) return true;
    return entry.starts_with(std::string(kReadyVariable) + "=");
}

std::vector<std::string> environment_of(const BackgroundSpec& spec, int ready_fd) {
    std::vector<std::string> list;
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (!replaces(spec, *entry)) list.emplace_back(*entry);
    for (const auto& [name, value] : spec.environment) list.push_back(name + "=" + value);
    list.push_back(fmt::format("{}={}", kReadyVariable, ready_fd));
    return list;
}

base::Result<pid_t> spawn(const BackgroundSpec& spec, int ready_fd) {
    auto argv = spec.argv;
    auto environment = environment_of(spec, ready_fd);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, spec.log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, ready_fd + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t pid = -1;
    errno = posix_spawn(&pid, argv[0].c_str(), &actions, &attributes, pointers_to(argv).data(),
                        pointers_to(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (errno != 0) return base::fail_errno("start " + argv[0]);
    return pid;
}

// The line, or its part until the other end was closed; empty after the time limit.
std::optional<std::string> read_line(int fd, std::chrono::steady_clock::time_point until) {
    std::string line;
    while (line.size() < kLineBytesMax) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            until - std::chrono::steady_clock::now());
        pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
        const int ready = poll(&entry, 1, static_cast<int>(std::max<long>(0, left.count())));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return std::nullopt;
        char c = 0;
        const ssize_t got = read(fd, &c, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0 || c == '\n') break;
        line += c;
    }
    return line;
}

void end(pid_t pid) {
    const OtherProcess process(pid);
    (void)process.send(SIGTERM);  // It may have ended by itself, which is fine.
    if (!process.ends_within(kEndGrace)) (void)process.send(SIGKILL);
    waitpid(pid, nullptr, 0);
}

}  // namespace

base::Result<pid_t> start_in_background(const BackgroundSpec& spec,
                                        std::chrono::milliseconds limit) {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) return base::fail_errno("pipe");
    const base::Fd reader(ends[0]);
    // The writing end is the one thing above standard error that the child keeps, so it has the
    // lowest number there is; the reading end and all else is closed behind it.
    base::Fd writer(fcntl(ends[1], F_DUPFD, STDERR_FILENO + 1));
    close(ends[1]);
    if (!writer) return base::fail_errno("dup");
    const base::Result<pid_t> pid = spawn(spec, writer.get());
    writer.reset();
    if (!pid) return pid;
    const auto said = read_line(reader.get(), std::chrono::steady_clock::now() + limit);
    if (said && *said == kReady) return pid;
    end(*pid);
    if (!said)
        return fail(ErrorCode::Unavailable, "the daemon was not ready after {} s and was ended",
                    std::chrono::duration_cast<std::chrono::seconds>(limit).count());
    if (said->empty()) return fail(ErrorCode::Unavailable, "the daemon ended before it was ready");
    return fail(ErrorCode::Unavailable, "{}", base::printable(base::to_utf8(*said)));
}

void notify_starter(std::string_view line) {
    const char* number = std::getenv(kReadyVariable);
    if (number == nullptr) return;
    const base::Fd fd(std::atoi(number));
    unsetenv(kReadyVariable);
    if (fd.get() <= STDERR_FILENO) return;
    base::write_all(fd.get(), base::collapse_whitespace(line) + "\n");
}

OtherProcess::OtherProcess(pid_t pid)
    : pid_(pid), fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

base::Status OtherProcess::send(int signal) const {
    if (!fd_) return {};
    if (syscall(SYS_pidfd_send_signal, fd_.get(), signal, nullptr, 0) == 0 || errno == ESRCH)
        return {};
    return base::fail_errno(fmt::format("signal process {}", pid_));
}

bool OtherProcess::ends_within(std::chrono::milliseconds limit) const {
    if (!fd_) return true;
    pollfd entry{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    return poll(&entry, 1, static_cast<int>(limit.count())) == 1;
}

}  // namespace service
