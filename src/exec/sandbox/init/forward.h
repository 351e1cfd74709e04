#pragma once

namespace sandbox {

// Starts a process that listens on 127.0.0.1:`port` and carries each connection to the Unix socket
// at `socket_path`, for as long as the sandbox lives. It is nobody's child, and the command can
// neither signal its way into it nor look at it. False, with errno set, when it cannot listen.
bool start_forwarder(unsigned short port, const char* socket_path);

}  // namespace sandbox
