// The seam to a server, a process or a remote one: messages in, messages out, and its end.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/os/process.h"
#include "config/sections/mcp.h"
#include "exec/tools/mcp/failure.h"

namespace mcp {

// At most this many written bytes may be unread by the server.
inline constexpr std::size_t kUnwrittenBytesMax = std::size_t{16} * 1024 * 1024;

// A running server. Destroying it ends the process with all that it had started, without waiting,
// and none of its events arrives afterwards.
class Child {
public:
    virtual ~Child() = default;
    // One message and its newline. False when it has not read what was written before and the bound
    // is passed.
    virtual bool write(std::string_view message) = 0;
    // The revision that both sides speak from now on.
    virtual void agree_on(std::string_view /*version*/) {}
};

// Called on the loop, and never from within a call to Child or ChildRunner.
struct ChildEvents {
    std::function<void(std::string_view)> on_out;
    std::function<void(std::string_view)> on_err;
    std::function<void(const std::string& how)> on_end;  // Once, and the last; "exit status 1".
    // The request with this id will have no answer; other requests may.
    std::function<void(std::int64_t id, const Failure& failure)> on_lost{};
};

class ChildRunner {
public:
    virtual ~ChildRunner() = default;
    // Timeout and capture of the spec are not used. Fails when the program cannot be started.
    virtual base::Result<std::unique_ptr<Child>> start(const base::ProcessSpec& spec,
                                                       ChildEvents events) = 0;
    // Reaches a server over HTTP. Nothing is sent before the first write().
    virtual base::Result<std::unique_ptr<Child>> connect(const config::McpServer& server,
                                                         ChildEvents events) = 0;
};

}  // namespace mcp
