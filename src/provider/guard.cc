#include "provider/guard.h"

#include "base/scan/secrets.h"
#include "base/scan/texts.h"

namespace provider {
namespace {

void clean(Reply& reply) {
    scan::remove_credentials_in(reply.blocks);
    scan::remove_credentials_in(reply.stop_reason);
    scan::remove_credentials_in(reply.request_diagnostics);
    scan::remove_credentials_in(reply.timeline);
}

void clean(Failure& failure) {
    scan::remove_credentials_in(failure.message);
    scan::remove_credentials_in(failure.diagnostics);
    scan::remove_credentials_in(failure.timeline);
}

}  // namespace

Guarded guard(Progress progress, std::move_only_function<void(Outcome)> done) {
    auto live = std::make_shared<scan::LiveText>();
    Guarded guarded;
    if (progress)
        guarded.progress = [live, progress](const News& news) {
            if (const auto* piece = std::get_if<std::string_view>(&news)) {
                const auto ready = live->feed(*piece);
                if (!ready.empty()) progress(std::string_view(ready));
                return;
            }
            live->finish();  // What it held back is of the attempt that failed.
            auto retry = std::get<Retry>(news);
            retry.reason = scan::without_credentials(std::move(retry.reason));
            progress(retry);
        };
    guarded.done = [live, progress = std::move(progress),
                    done = std::move(done)](Outcome outcome) mutable {
        if (const auto rest = live->finish(); progress && !rest.empty())
            progress(std::string_view(rest));
        if (outcome)
            clean(*outcome);
        else
            clean(outcome.error());
        done(std::move(outcome));
    };
    return guarded;
}

}  // namespace provider
