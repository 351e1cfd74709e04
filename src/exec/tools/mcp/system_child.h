// Real servers: processes that are tethered (when this process ends, even by SIGKILL, they do), and
// remote ones.
#pragma once

#include "base/os/asio_loop.h"
#include "exec/tools/mcp/http/remote_child.h"

namespace mcp {

// Used on the loop only; must be gone before it.
class SystemChildRunner final : public ChildRunner {
public:
    explicit SystemChildRunner(base::AsioLoop& loop, provider::HttpOptions http = {})
        : loop_(loop), http_(loop, std::move(http)) {}
    // Remote servers are reached with the logins that this home has.
    void use_logins(const std::filesystem::path& home, base::Clock& clock) {
        authorizer_.emplace(home, clock, http_);
    }
    base::Result<std::unique_ptr<Child>> start(const base::ProcessSpec& spec,
                                               ChildEvents events) override;
    base::Result<std::unique_ptr<Child>> connect(const config::McpServer& server,
                                                 ChildEvents events) override {
        return remote_child(http_, server, std::move(events),
                            authorizer_ ? &*authorizer_ : nullptr);
    }

private:
    base::AsioLoop& loop_;
    provider::HttpClient http_;
    std::optional<Authorizer> authorizer_;
};

}  // namespace mcp
