#include "exec/sandbox/init/forward.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>

namespace sandbox {
namespace {

constexpr int kConnectionsMax = 128;
constexpr int kBufferBytes = 16 * 1024;

// One direction of one connection: what was read and not yet written.
struct Lane {
    char bytes[kBufferBytes];
    int begin{0};
    int end{0};
    bool closed{false};  // Nothing more comes in.
    bool done{false};    // And all of it went out.
};

struct Connection {
    int fds[2]{-1, -1};  // The command's side, the proxy's side.
    Lane lanes[2];       // lanes[i] is read from fds[i].
};

Connection connections[kConnectionsMax];

void close_both(Connection& connection) {
    for (int& fd : connection.fds) {
        ::close(fd);
        fd = -1;
    }
    for (Lane& lane : connection.lanes) lane.begin = lane.end = 0, lane.closed = lane.done = false;
}

int connect_to(const char* socket_path) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket_path, sizeof address.sun_path - 1);
    if (fd >= 0 && ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
        return fd;
    ::close(fd);
    return -1;
}

void accept_one(int listener, const char* socket_path) {
    const int peer = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (peer < 0) return;
    for (auto& connection : connections) {
        if (connection.fds[0] >= 0) continue;
        const int proxy = connect_to(socket_path);
        if (proxy < 0) break;
        ::fcntl(proxy, F_SETFL, O_NONBLOCK);
        connection.fds[0] = peer;
        connection.fds[1] = proxy;
        return;
    }
    ::close(peer);  // As many as we carry, or nobody at the other end.
}

void read_in(Lane& lane, int fd) {
    const auto got = ::read(fd, lane.bytes, sizeof lane.bytes);
    if (got > 0) {
        lane.begin = 0;
        lane.end = static_cast<int>(got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        lane.closed = true;
    }
}

bool write_out(Lane& lane, int fd) {
    const auto put = ::send(fd, lane.bytes + lane.begin,
                            static_cast<std::size_t>(lane.end - lane.begin), MSG_NOSIGNAL);
    if (put < 0) return errno == EAGAIN || errno == EINTR;
    lane.begin += static_cast<int>(put);
    return true;
}

void carry(Connection& connection, short command, short proxy) {
    const short ready[2] = {command, proxy};
    for (int side = 0; side < 2; ++side) {
        Lane& lane = connection.lanes[side];
        const int from = connection.fds[side];
        const int to = connection.fds[1 - side];
        if (lane.begin == lane.end && !lane.closed && (ready[side] & (POLLIN | POLLHUP | POLLERR)))
            read_in(lane, from);
        if (lane.begin < lane.end && !write_out(lane, to)) return close_both(connection);
        if (lane.closed && lane.begin == lane.end && !lane.done) {
            ::shutdown(to, SHUT_WR);
            lane.done = true;
        }
    }
    if (connection.lanes[0].done && connection.lanes[1].done) close_both(connection);
}

[[noreturn]] void serve(int listener, const char* socket_path) {
    pollfd polled[1 + 2 * kConnectionsMax];
    for (;;) {
        polled[0] = {listener, POLLIN, 0};
        for (int i = 0; i < kConnectionsMax; ++i)
            for (int side = 0; side < 2; ++side) {
                const Connection& connection = connections[i];
                const Lane& in = connection.lanes[side];
                const Lane& out = connection.lanes[1 - side];
                short events = 0;
                if (in.begin == in.end && !in.closed) events |= POLLIN;
                if (out.begin < out.end) events |= POLLOUT;
                polled[1 + 2 * i + side] = {events ? connection.fds[side] : -1, events, 0};
            }
        if (::poll(polled, std::size(polled), -1) < 0) continue;
        for (int i = 0; i < kConnectionsMax; ++i)
            if (connections[i].fds[0] >= 0 &&
                (polled[1 + 2 * i].revents | polled[2 + 2 * i].revents))
                carry(connections[i], polled[1 + 2 * i].revents, polled[2 + 2 * i].revents);
        if (polled[0].revents & POLLIN) accept_one(listener, socket_path);
    }
}

int listen_on(unsigned short port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
        ::listen(fd, kConnectionsMax) == 0)
        return fd;
    return -1;
}

}  // namespace

bool start_forwarder(unsigned short port, const char* socket_path) {
    const int listener = listen_on(port);
    if (listener < 0) return false;
    const pid_t between = ::fork();
    if (between < 0) return false;
    if (between == 0) {
        if (::fork() != 0) ::_exit(0);
        ::setsid();
        ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        for (int fd = 0; fd < 3; ++fd) ::close(fd);  // Or the command's output would never end.
        ::signal(SIGPIPE, SIG_IGN);
        serve(listener, socket_path);
    }
    ::waitpid(between, nullptr, 0);
    ::close(listener);
    return true;
}

}  // namespace sandbox
