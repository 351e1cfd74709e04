// A call of a session from its beginning to its answer.
#pragma once

#include "exec/tools/mcp/session.h"

namespace mcp {

struct Session::Pending {
    std::string method;
    json::object params;
    std::chrono::milliseconds timeout;
    OnReply done;
    std::int64_t id{0};  // 0: not sent yet.
    int timeouts{1};     // How often its timer was set.
    base::Loop::TimerHandle timer{base::Loop::TimerHandle::None};
    // Where the server may want more input, and the call is then made again with it:
    json::object original{};  // As it was asked for.
    json::object retry{};     // With the answers so far.
    std::size_t open_questions{0};
    int rounds{0};
};

}  // namespace mcp
