// The tokens of remote servers while a runtime lives: read from credentials.json, and renewed
// there.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "base/os/lifetime.h"
#include "base/time.h"
#include "config/credentials_lock.h"
#include "config/sections/mcp.h"
#include "exec/tools/mcp/oauth/grant.h"

namespace mcp {

// Used on the loop only.
class Authorizer {
public:
    Authorizer(std::filesystem::path home, base::Clock& clock, provider::HttpClient& http)
        : home_(std::move(home)), clock_(clock), http_(http.sender()) {}
    Authorizer(const Authorizer&) = delete;
    Authorizer& operator=(const Authorizer&) = delete;

    using Done = std::move_only_function<void(base::Result<std::string>)>;
    // A token for this server that is not `rejected` and has not ended; it is renewed for that, if
    // it can be. NotFound when there is no login to this server at its present address; any other
    // error says what to do. `done` comes once, not before this returns, and never once this
    // object is gone.
    void token(const config::McpServer& server, const std::string& rejected, Done done);

private:
    struct Asked;
    void lock(const std::shared_ptr<Asked>& asked);
    void renew(const std::shared_ptr<Asked>& asked, const Grant& grant);
    void keep(const std::shared_ptr<Asked>& asked, Grant grant);

    std::filesystem::path home_;
    base::Clock& clock_;
    provider::HttpSender http_;
    base::Lifetime lifetime_;
};

}  // namespace mcp
