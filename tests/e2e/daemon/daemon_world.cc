#include "tests/e2e/daemon/daemon_world.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include <gtest/gtest.h>

#include "base/text.h"
#include "service/daemon/background.h"
#include "service/daemon/run_files.h"

namespace e2e {

// Below the ports that the kernel gives to those who ask for any, and far from those of a test
// program that runs at the same time: nobody else takes it before the daemon does.
int free_port() {
    constexpr int kFirst = 10'000, kPorts = 22'000, kApart = 211;
    static int next = static_cast<int>(std::int64_t{::getpid()} * kApart % kPorts);
    for (int tries = 0; tries < kPorts; ++tries) {
        const int port = kFirst + next;
        next = (next + 1) % kPorts;
        const base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{.sin_family = AF_INET,
                            .sin_port = htons(static_cast<std::uint16_t>(port)),
                            .sin_addr = {},
                            .sin_zero = {}};
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return port;
    }
    CHECK(false, "a port is free");
    return 0;
}

DaemonWorld::DaemonWorld() : port_(free_port()) {
    environment["HOLON_HTTP_ADDR"] = fmt::format("127.0.0.1:{}", port_);
    script({says("Done.")});
}

DaemonWorld::~DaemonWorld() {
    const pid_t left = pid();
    // A runtime in a namespace of its own wrote a number that means another process here.
    if (left <= 0 || !service::has_lock_open({.folder = run_folder(), .socket = socket()}, left))
        return;
    const service::OtherProcess process(left);
    (void)process.send(SIGKILL);
    (void)process.ends_within(kPatience);
}

pid_t DaemonWorld::pid() const {
    const std::string text = read(run_folder() / "holon.pid");
    return text.empty() ? 0 : std::stoi(text);
}

std::string DaemonWorld::own_token() const {
    return std::string(base::trim(read(token_file())));
}

json::value DaemonWorld::daemon(std::vector<std::string> words) {
    words.insert(words.begin(), "daemon");
    return json_of(words);
}

bool is_alive(pid_t pid) {
    const service::OtherProcess process(pid);
    return process.exists() && !process.ends_within(std::chrono::milliseconds(0));
}

bool ends_within(pid_t pid, std::chrono::milliseconds limit) {
    return service::OtherProcess(pid).ends_within(limit);
}

}  // namespace e2e
