// holon-proxy: runs a confined command and is its only way to the network.
//
//     holon-proxy --fd N --log FILE [--allow RULE]… -- COMMAND…
//
// The command has a socket as its descriptor N, through which process 1 sends a listener on the
// loopback of the sandbox. The proxy accepts connections there, outside the sandbox, and forwards
// those that the rules allow. Each destination, allowed or refused, becomes a JSON line of the log.
// Ends with the command and with its exit status; creates no file that a kill could leave behind.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <semaphore>
#include <thread>

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/sandbox/proxy/rules.h"

extern char** environ;

namespace {

using sandbox::Destination;

constexpr int kConnectionsMax = 128;
constexpr std::size_t kHeadBytesMax = 32 * 1024;
constexpr int kHeadTimeoutMs = 10'000;
constexpr int kIdleTimeoutMs = 300'000;
constexpr int kConnectTimeoutMs = 10'000;
constexpr std::size_t kLogBytesMax = 1024 * 1024;  // Later destinations are not written down.
constexpr int kAcceptPauseMs = 100;                // Where there is no descriptor left, say.
constexpr int kOwnFailure = 125;

struct Options {
    int fd{-1};
    std::string log;
    std::vector<std::string> rules;
    char** command{nullptr};
};

Options options;
int log_fd = -1;
std::counting_semaphore<kConnectionsMax> free_places{kConnectionsMax};

[[noreturn]] void give_up(const char* what) {
    std::fprintf(stderr, "holon-proxy: the command was not run: %s: %s\n", what,
                 std::strerror(errno));
    std::exit(kOwnFailure);
}

// Hosts were checked to consist of letters, digits, dots, dashes and colons: nothing to escape.
void record(const Destination& destination, const char* outcome) {
    static std::atomic<std::size_t> written_bytes{0};
    char line[512];
    const int length =
        std::snprintf(line, sizeof line, "{\"host\":\"%s\",\"port\":%d,\"outcome\":\"%s\"}\n",
                      destination.host.c_str(), destination.port, outcome);
    if (written_bytes.fetch_add(static_cast<std::size_t>(length)) > kLogBytesMax) return;
    [[maybe_unused]] const auto written = ::write(log_fd, line, static_cast<std::size_t>(length));
}

bool wait_for(int fd, short events, int timeout_ms) {
    pollfd polled{fd, events, 0};
    return ::poll(&polled, 1, timeout_ms) == 1;
}

bool send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto put = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (put <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
}

void answer(int fd, const char* status, const std::string& text) {
    send_all(fd, "HTTP/1.1 " + std::string(status) +
                     "\r\nContent-Type: text/plain\r\nContent-Length: " +
                     std::to_string(text.size()) + "\r\nConnection: close\r\n\r\n" + text);
}

// The head of the request, up to and with its blank line; what follows it is in `rest`.
std::string read_head(int fd, std::string& rest) {
    std::string bytes;
    char piece[4096];
    for (;;) {
        if (const auto end = bytes.find("\r\n\r\n"); end != std::string::npos) {
            rest = bytes.substr(end + 4);
            return bytes.substr(0, end + 4);
        }
        if (bytes.size() > kHeadBytesMax || !wait_for(fd, POLLIN, kHeadTimeoutMs)) return {};
        const auto got = ::read(fd, piece, sizeof piece);
        if (got <= 0) return {};
        bytes.append(piece, static_cast<std::size_t>(got));
    }
}

// Connects to the very address that was checked: a second lookup could give another one.
int connect_to(const Destination& destination, const char*& failure) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    // A rule that names the address itself means it; a name that resolves to a private address is
    // an attack.
    const bool is_literal = sandbox::is_address(destination.host);
    addrinfo* found = nullptr;
    failure = "unknown_host";
    if (::getaddrinfo(destination.host.c_str(), std::to_string(destination.port).c_str(), &hints,
                      &found) != 0)
        return -1;
    int connected = -1;
    for (const addrinfo* one = found; one && connected < 0; one = one->ai_next) {
        failure = "private_address";
        if (!is_literal && sandbox::is_private(*one->ai_addr)) continue;
        failure = "unreachable";
        const int fd = ::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) continue;
        int error = 0;
        socklen_t length = sizeof error;
        if ((::connect(fd, one->ai_addr, one->ai_addrlen) == 0 ||
             (errno == EINPROGRESS && wait_for(fd, POLLOUT, kConnectTimeoutMs) &&
              ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0))) {
            ::fcntl(fd, F_SETFL, 0);
            connected = fd;
        } else {
            ::close(fd);
        }
    }
    ::freeaddrinfo(found);
    return connected;
}

void relay(int a, int b) {
    char piece[16 * 1024];
    bool open[2] = {true, true};
    const int fds[2] = {a, b};
    while (open[0] || open[1]) {
        pollfd polled[2] = {{open[0] ? a : -1, POLLIN, 0}, {open[1] ? b : -1, POLLIN, 0}};
        if (::poll(polled, 2, kIdleTimeoutMs) <= 0) return;
        for (int side = 0; side < 2; ++side) {
            if (!polled[side].revents) continue;
            const auto got = ::read(fds[side], piece, sizeof piece);
            if (got > 0) {
                if (!send_all(fds[1 - side], {piece, static_cast<std::size_t>(got)})) return;
            } else {
                open[side] = false;
                ::shutdown(fds[1 - side], SHUT_WR);
            }
        }
    }
}

std::string explanation(const Destination& destination, std::string_view failure) {
    const std::string name = destination.host + ":" + std::to_string(destination.port);
    if (failure == "private_address")
        return "the sandbox does not allow " + name +
               ": it leads to this machine or its own network; its operator can allow the address "
               "itself\n";
    if (failure == "unknown_host") return name + " has no address that could be found\n";
    return name + " cannot be reached\n";
}

void serve(int fd) {
    std::string rest;
    const auto request = sandbox::parse_request(read_head(fd, rest));
    if (!request)
        return answer(fd, "400 Bad Request", "this proxy takes CONNECT and http:// requests\n");
    const auto& destination = request->destination;
    if (!sandbox::is_allowed(destination, options.rules)) {
        record(destination, "refused");
        return answer(fd, "403 Forbidden",
                      "the sandbox does not allow " + destination.host + ":" +
                          std::to_string(destination.port) +
                          "; its operator can add it to the allowed hosts\n");
    }
    const char* failure = nullptr;
    const int peer = connect_to(destination, failure);
    if (peer < 0) {
        record(destination, failure);
        return answer(fd, "502 Bad Gateway", explanation(destination, failure));
    }
    record(destination, "connected");
    const bool ready = request->is_tunnel
                           ? send_all(fd, "HTTP/1.1 200 Connection established\r\n\r\n")
                           : send_all(peer, request->forwarded);
    if (ready && (rest.empty() || send_all(peer, rest))) relay(fd, peer);
    ::close(peer);
}

// The listener that process 1 of the sandbox sends through `from`; -1 if the command never started.
int receive_listener(int from) {
    int fd = -1;
    char byte = 0;
    iovec piece{&byte, 1};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof fd)]{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    ssize_t got = 0;
    while ((got = ::recvmsg(from, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
    const cmsghdr* head = got == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (head && head->cmsg_type == SCM_RIGHTS) std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
    return fd;
}

void accept_all(int from) {
    const int listener = receive_listener(from);
    ::close(from);
    if (listener < 0) return;
    for (;;) {
        free_places.acquire();
        const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0) {
            free_places.release();
            ::poll(nullptr, 0, kAcceptPauseMs);
            continue;
        }
        std::thread([fd] {
            serve(fd);
            ::close(fd);
            free_places.release();
        }).detach();
    }
}

void parse(char** words) {
    for (++words; *words; words += 2) {  // Each with its value.
        const std::string_view word = *words;
        if (word == "--") {
            options.command = words + 1;
            break;
        }
        const char* value = words[1];
        if (word == "--fd" && value) {
            options.fd = std::atoi(value);
        } else if (word == "--log" && value) {
            options.log = value;
        } else if (word == "--allow" && value) {
            options.rules.emplace_back(value);
        } else {
            errno = EINVAL;
            give_up(*words);
        }
    }
    errno = EINVAL;
    if (!options.command || !*options.command || options.fd <= STDERR_FILENO || options.log.empty())
        give_up("--fd, --log and a command are needed");
}

pid_t child = 0;
void pass_on(int signal) {
    if (child > 0) ::kill(child, signal);
}

}  // namespace

int main(int, char** argv) {
    parse(argv);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    log_fd = ::open(options.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0) give_up(options.log.c_str());
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) give_up("socketpair");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, pair[1], options.fd);
    if (const int failed = ::posix_spawn(&child, options.command[0], &actions, nullptr,
                                         options.command, environ)) {
        errno = failed;
        give_up(options.command[0]);
    }
    ::close(pair[1]);  // Or the end of a command that hands nothing over would not be seen.
    std::thread(accept_all, pair[0]).detach();
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::signal(signal, pass_on);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(status)) {
        ::signal(WTERMSIG(status), SIG_DFL);
        ::raise(WTERMSIG(status));
    }
    std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : kOwnFailure);
}
