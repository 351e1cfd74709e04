#include "config/sections/control_token.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/os/files.h"
#include "config/sections/server.h"

namespace config {
namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr mode_t kOthers = 0077;
constexpr std::size_t kTokenBytes = 32;

base::Result<std::string> fresh_token() {
    std::array<unsigned char, kTokenBytes> bytes{};
    // A request of up to 256 bytes is answered whole once the system's source is ready.
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        return base::fail_errno("make a control token");
    std::string text;
    for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
    return text;
}

}  // namespace

std::optional<std::string> read_control_token(const std::filesystem::path& file) {
    const base::Fd fd(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    struct stat found{};
    if (!fd || ::fstat(fd.get(), &found) != 0) return std::nullopt;
    if (!S_ISREG(found.st_mode) || found.st_uid != ::geteuid() || (found.st_mode & kOthers) != 0)
        return std::nullopt;
    std::string text(kTokenBytesMax, '\0');
    const ssize_t size = ::read(fd.get(), text.data(), text.size());
    if (size <= 0) return std::nullopt;
    text.resize(static_cast<std::size_t>(size));
    auto token = check_token(text, file.string());
    return token ? std::optional(std::move(*token)) : std::nullopt;
}

base::Result<std::string> ensure_control_token(const std::filesystem::path& file) {
    if (auto token = read_control_token(file)) return std::move(*token);
    auto token = TRY(fresh_token());
    TRY(base::write_file_atomic(file, token + "\n", kOwnerOnly));
    return token;
}

}  // namespace config
