// Where the browser comes back to: a port of this machine that answers to one address.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/os/files.h"

namespace mcp {

inline constexpr std::size_t kRedirectBytesMax = std::size_t{32} * 1024;
// Of one connection; somebody who drips keeps the browser waiting no longer.
inline constexpr std::chrono::milliseconds kRedirectPatience{2'000};

class Listener {
public:
    // On 127.0.0.1; port 0 is any free one.
    static base::Result<Listener> open(int port);
    const std::string& redirect_uri() const { return redirect_uri_; }

    // Waits for an address that `accepts` takes: what the browser asks this port for, or a line
    // that is pasted into `in` (a descriptor; -1: none). Others are refused, and `on_refused` is
    // called for a pasted one. Unavailable when `patience` has passed.
    base::Result<std::string> wait(int in, std::chrono::milliseconds patience,
                                   const std::function<bool(std::string_view)>& accepts,
                                   const std::function<void()>& on_refused);

private:
    base::Fd socket_;
    std::string redirect_uri_;
};

}  // namespace mcp
