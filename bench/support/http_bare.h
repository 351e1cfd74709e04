// The simplest server that Boost.Beast allows: one thread, the same bytes for every request.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace bench {

class BareServer {
public:
    virtual ~BareServer() = default;
    virtual std::uint16_t port() const = 0;
};

std::unique_ptr<BareServer> serve_bare(std::string body);

}  // namespace bench
