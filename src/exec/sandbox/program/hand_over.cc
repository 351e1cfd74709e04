#include "exec/sandbox/program/hand_over.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sandbox {
namespace {

constexpr int kBacklog = 128;

int listen_on(unsigned short port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
        ::listen(fd, kBacklog) == 0)
        return fd;
    return -1;
}

bool send_descriptor(int to, int fd) {
    char byte = 0;
    iovec piece{&byte, 1};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof fd)]{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
    return ::sendmsg(to, &message, MSG_NOSIGNAL) == 1;
}

}  // namespace

bool hand_over_listener(unsigned short port, int to) {
    const int listener = listen_on(port);
    if (listener < 0 || !send_descriptor(to, listener)) return false;
    ::close(listener);
    return ::close(to) == 0;
}

}  // namespace sandbox
