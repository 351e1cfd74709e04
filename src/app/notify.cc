#include "app/notify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <charconv>
#include <cstddef>
#include <cstring>

#include "base/os/files.h"

namespace app {

Notify::Notify(const config::Environment& environment) {
    if (const auto found = environment.find("NOTIFY_SOCKET"); found != environment.end())
        socket_ = found->second;
    if (const auto found = environment.find("WATCHDOG_USEC"); found != environment.end()) {
        std::int64_t usec = 0;
        const auto& text = found->second;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), usec);
        if (error == std::errc{} && usec > 1) watchdog_ = std::chrono::microseconds(usec / 2);
    }
}

void Notify::send(std::string_view state) const {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
    std::memcpy(address.sun_path, socket_.data(), socket_.size());
    if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // The abstract namespace.
    const base::Fd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd) return;
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
    sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address), size);
}

}  // namespace app
