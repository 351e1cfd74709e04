#include "app/models/probe.h"

#include "app/models/providers.h"
#include "base/os/asio_loop.h"

namespace app {
namespace {

constexpr std::chrono::seconds kProbeTimeout{60};
// Enough for one word, and for models that think before it.
constexpr std::int64_t kProbeOutputTokens = 256;

provider::Request question(const config::ModelRef& ref, base::Ids& ids) {
    provider::Request request{
        .request_id = ids.uuid(), .model_ref = ref.text(), .max_output_tokens = kProbeOutputTokens};
    provider::add_system_block(request.frame, {.text = "This is a test of the connection."});
    request.frame.context_blocks.push_back(
        {.stability = provider::Stability::TurnScoped, .text = "Answer with the word: ready"});
    return request;
}

}  // namespace

service::ModelProbe ask_model(const config::Config& config, const config::ModelRef& ref) {
    config::Config alone = config;
    alone.model = ref;
    alone.fallbacks.clear();
    alone.disable_provider_fallback = true;
    base::SystemClock clock;
    base::RandomIds ids(clock);
    base::AsioLoop loop;
    Providers providers(alone, loop, clock, ids);
    service::ModelProbe result;
    const auto exchange = providers.ask(question(ref, ids), {}, [&](provider::Outcome outcome) {
        if (!outcome) {
            result.failure_kind = base::enum_name(outcome.error().kind);
            result.message = outcome.error().message;
        }
        loop.stop();
    });
    loop.after(kProbeTimeout, [&] { exchange->cancel(); });
    loop.run();
    if (result.failure_kind == base::enum_name(provider::FailureKind::Cancelled))
        result.message = fmt::format("no answer within {} s", kProbeTimeout.count());
    return result;
}

}  // namespace app
