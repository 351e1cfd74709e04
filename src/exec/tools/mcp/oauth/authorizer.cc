#include "exec/tools/mcp/oauth/authorizer.h"

#include "base/log/log.h"
#include "base/text.h"

namespace mcp {
namespace {

using base::ErrorCode;
using base::fail;

// What is in the file, and the lock where it was to be had.
struct Found {
    std::optional<config::CredentialsLock> lock;
    std::optional<Grant> grant;
};

base::Result<Found> find(const std::filesystem::path& home, const std::string& server,
                         bool is_locked) {
    Found found;
    if (is_locked) {
        found.lock = TRY(config::try_lock_credentials(home));
        if (!found.lock) return found;
    }
    found.grant = TRY(load_grant(home, server));
    return found;
}

}  // namespace

struct Authorizer::Asked {
    config::McpServer server;
    std::string rejected;
    Done done;
    int tries{0};
    std::optional<config::CredentialsLock> lock{};
    std::shared_ptr<provider::Exchange> exchange{};

    void settle(base::Result<std::string> token) {
        lock.reset();
        exchange.reset();
        if (auto said = std::exchange(done, nullptr)) said(std::move(token));
    }
    bool is_useful(const Grant& grant, base::Time now) const {
        return grant.access_token != rejected && !is_stale(grant, now);
    }
    base::Result<std::string> log_in_again(std::string_view why) const {
        return fail(ErrorCode::Refused, "{}; log in again: holon mcp login {}", why, server.name);
    }
};

void Authorizer::token(const config::McpServer& server, const std::string& rejected, Done done) {
    auto asked = std::make_shared<Asked>(server, rejected, std::move(done));
    base::run_in_background<Found>(
        http_.loop(), lifetime_,
        [home = home_, name = server.name] { return find(home, name, false); },
        [this, asked](base::Result<Found> found) {
            if (!found) return asked->settle(std::unexpected(found.error()));
            const auto& grant = found->grant;
            if (!grant || grant->url != asked->server.url)
                return asked->settle(fail(ErrorCode::NotFound, "there is no login to it"));
            if (asked->is_useful(*grant, clock_.now())) return asked->settle(grant->access_token);
            lock(asked);
        });
}

// Read again under the lock: another process may have renewed it by then, and a refresh token is
// good for once.
void Authorizer::lock(const std::shared_ptr<Asked>& asked) {
    base::run_in_background<Found>(
        http_.loop(), lifetime_,
        [home = home_, name = asked->server.name] { return find(home, name, true); },
        [this, asked](base::Result<Found> found) {
            if (!found) return asked->settle(std::unexpected(found.error()));
            if (!found->lock) {
                if (++asked->tries > config::kCredentialsLockTries)
                    return asked->settle(
                        fail(ErrorCode::Unavailable, "another process is renewing the login"));
                http_.loop().after(config::kCredentialsLockStep,
                                   lifetime_.guard([this, asked] { lock(asked); }));
                return;
            }
            asked->lock = std::move(found->lock);
            if (!found->grant) return asked->settle(asked->log_in_again("the login was removed"));
            if (asked->is_useful(*found->grant, clock_.now()))
                return asked->settle(found->grant->access_token);
            if (!found->grant->refresh_token)
                return asked->settle(asked->log_in_again("the login has ended"));
            renew(asked, *found->grant);
        });
}

void Authorizer::renew(const std::shared_ptr<Asked>& asked, const Grant& grant) {
    asked->exchange =
        http_.send(renewal_request(grant), {},
                   lifetime_.guard([this, asked, grant](const provider::HttpOutcome& outcome) {
                       if (!outcome)
                           return asked->settle(fail(ErrorCode::Unavailable,
                                                     "the login could not be renewed: {}",
                                                     base::printable(outcome.error().message)));
                       auto renewed = with_tokens(grant, *outcome, clock_.now());
                       if (renewed) return keep(asked, std::move(*renewed));
                       // A fault of the server passes; what it refused, it refuses again.
                       if (outcome->status >= 500)
                           return asked->settle(fail(ErrorCode::Unavailable,
                                                     "the login could not be renewed: {}",
                                                     renewed.error().message));
                       asked->settle(asked->log_in_again(renewed.error().message));
                   }));
}

void Authorizer::keep(const std::shared_ptr<Asked>& asked, Grant grant) {
    const auto token = grant.access_token;
    base::run_in_background<bool>(
        http_.loop(), lifetime_,
        [home = home_, name = asked->server.name,
         grant = std::move(grant)]() -> base::Result<bool> {
            TRY(save_grant(home, name, grant));
            return true;
        },
        [asked, token](const base::Result<bool>& kept) {
            // The old one is of no use any more, so that this one is used in any case.
            if (!kept)
                base::log_warn("the renewed login to the MCP server {} is not kept: {}",
                               asked->server.name, kept.error().message);
            asked->settle(token);
        });
}

}  // namespace mcp
