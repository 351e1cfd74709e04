#include "exec/tools/builtin/commands/left_behind.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "base/os/files.h"

namespace builtin {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kEnvironmentBytesMax = std::size_t{1} << 20;
// A process may fork while it is looked for; each look finds what the last one missed.
constexpr int kLooksMax = 50;
constexpr std::chrono::milliseconds kPause{10};

bool is_marked(const fs::path& process, const std::string& variable) {
    struct stat status{};
    if (::stat(process.c_str(), &status) != 0 || status.st_uid != ::geteuid()) return false;
    const base::Fd file(::open((process / "environ").c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return false;
    std::string all(1, '\0');
    char buffer[16 * 1024];
    while (all.size() < kEnvironmentBytesMax) {
        const auto count = ::read(file.get(), buffer, sizeof buffer);
        if (count <= 0) break;
        all.append(buffer, static_cast<std::size_t>(count));
    }
    all += '\0';
    return all.find(variable) != std::string::npos;
}

// The number may pass to another process at any time; the descriptor does not.
bool end_marked(pid_t pid, const fs::path& process, const std::string& variable) {
    const base::Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    return handle && is_marked(process, variable) &&
           ::syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0) == 0;
}

std::size_t end_once(const std::string& variable) {
    std::size_t ended = 0;
    std::error_code failed;
    for (fs::directory_iterator it("/proc", failed), end; !failed && it != end;
         it.increment(failed)) {
        const auto name = it->path().filename().string();
        pid_t pid = 0;
        const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (error != std::errc() || rest != name.data() + name.size() || pid == ::getpid())
            continue;
        if (is_marked(it->path(), variable)) ended += end_marked(pid, it->path(), variable);
    }
    return ended;
}

}  // namespace

std::size_t end_left_behind(const std::string& mark) {
    const std::string variable = fmt::format("{}{}={}{}", '\0', kCallVariable, mark, '\0');
    std::size_t all = 0;
    for (int look = 0; look < kLooksMax; ++look) {
        const auto ended = end_once(variable);
        all += look == 0 ? ended : 0;
        if (ended == 0) break;
        std::this_thread::sleep_for(kPause);
    }
    return all;
}

}  // namespace builtin
