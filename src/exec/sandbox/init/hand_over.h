#pragma once

namespace sandbox {

// Listens on 127.0.0.1:`port` of the sandbox and hands the listener to whoever holds the other end
// of the socket `to`, which answers there from outside. Both are closed here: the command gets
// neither. False, with errno set, when it cannot.
bool hand_over_listener(unsigned short port, int to);

}  // namespace sandbox
