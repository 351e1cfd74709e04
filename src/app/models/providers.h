// Models by their configured names.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/os/asio_loop.h"
#include "config/config.h"
#include "provider/chain.h"
#include "provider/http/adapt.h"
#include "provider/http/http_client.h"
#include "provider/provider.h"

namespace app {

// Asks the model a request names, then the configured fallbacks. Transports are made at the first
// request: a program that only reads its store needs no model.
class Providers final : public provider::Provider {
public:
    Providers(const config::Config& config, base::AsioLoop& loop, base::Clock& clock,
              base::Ids& ids);

    std::shared_ptr<provider::Exchange> ask(
        provider::Request request, provider::Progress progress,
        std::move_only_function<void(provider::Outcome)> done) override;

private:
    base::Result<std::shared_ptr<provider::Provider>> make(const config::ModelRef& ref);
    // The model's transport, or why no request can be sent to it. That is checked again each
    // time, as a login may have been added.
    provider::Candidate candidate(const config::ModelRef& ref);

    const config::Config& config_;
    base::AsioLoop& loop_;
    base::Clock& clock_;
    base::Ids& ids_;
    std::optional<provider::HttpClient> http_;
    // By model; kept, as they remember what they may continue.
    std::map<std::string, std::shared_ptr<provider::Provider>> connected_;
    std::map<std::string, std::shared_ptr<provider::Refusals>> refusals_;  // By provider.
};

// What is wrong with asking this model, before anything is started for it; nothing when a request
// can be made.
base::Status check_model(const config::Config& config, const config::ModelRef& ref);

}  // namespace app
