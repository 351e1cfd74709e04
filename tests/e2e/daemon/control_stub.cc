#include "tests/e2e/daemon/control_stub.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include <fmt/format.h>

namespace e2e {

ControlStub::ControlStub(const std::filesystem::path& path, Answer answer)
    : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), answer_(std::move(answer)) {
    CHECK(base::make_folders(path.parent_path(), 0700).has_value(), "make the run folder");
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    CHECK(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
    CHECK(listen(fd_.get(), 16) == 0, "listen");
    thread_ = std::jthread([this] { serve(); });
}

ControlStub::~ControlStub() {
    shutdown(fd_.get(), SHUT_RDWR);
}

std::vector<std::string> ControlStub::requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
}

void ControlStub::serve() {
    while (true) {
        const base::Fd peer(accept(fd_.get(), nullptr, nullptr));
        if (!peer) return;
        char bytes[8192];
        const ssize_t got = read(peer.get(), bytes, sizeof bytes);
        const std::string text(bytes, got > 0 ? static_cast<std::size_t>(got) : 0);
        const std::string request = text.substr(0, text.find(" HTTP/"));
        if (request.empty() || request.contains('\n')) continue;
        {
            const std::lock_guard lock(mutex_);
            requests_.push_back(request);
        }
        const auto body = answer_(request);
        if (!body) continue;
        base::write_all(peer.get(),
                        fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                    "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
                                    body->size(), *body));
    }
}

}  // namespace e2e
