// The seam to a server's process: bytes in, bytes out, and its end.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/os/process.h"

namespace mcp {

// At most this many written bytes may be unread by the server.
inline constexpr std::size_t kUnwrittenBytesMax = std::size_t{16} * 1024 * 1024;

// A running server. Destroying it ends the process with all that it had started, without waiting,
// and none of its events arrives afterwards.
class Child {
public:
    virtual ~Child() = default;
    // False when it has not read what was written before and the bound is passed.
    virtual bool write(std::string_view bytes) = 0;
};

// Called on the loop, and never from within a call to Child or ChildRunner.
struct ChildEvents {
    std::function<void(std::string_view)> on_out;
    std::function<void(std::string_view)> on_err;
    std::function<void(const std::string& how)> on_end;  // Once, and the last; "exit status 1".
};

class ChildRunner {
public:
    virtual ~ChildRunner() = default;
    // Timeout and capture of the spec are not used. Fails when the program cannot be started.
    virtual base::Result<std::unique_ptr<Child>> start(const base::ProcessSpec& spec,
                                                       ChildEvents events) = 0;
};

}  // namespace mcp
