#pragma once

namespace sandbox {

// Listens on 127.0.0.1:`port` of the sandbox and sends the listener through the socket `to` to the
// proxy, which accepts connections outside the sandbox. Closes both descriptors here: the command
// gets neither. False, with errno set, when it cannot.
bool hand_over_listener(unsigned short port, int to);

}  // namespace sandbox
