// Several models behind one Provider: retries within a candidate, then the next candidate.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/os/loop.h"
#include "base/time.h"
#include "provider/provider.h"
#include "provider/retry.h"

namespace provider {

struct Candidate {
    std::string model_ref;  // provider/model
    std::shared_ptr<Provider> provider{};
    // Why no request can be sent to it. It then counts as an attempt that fails at once, so that
    // the timeline shows why another candidate answered.
    std::optional<Failure> refusal{};
};

// Asks the first candidate, again after a transient failure, and the next one when it gives up, all
// within one ask(). Reply and Failure hold the timeline of every attempt made. Each candidate gets
// the request with its own model_ref, and a last system block that names the active model.
// A failed round's message has a part for each candidate that was tried; its kind, status and
// diagnostics are those of the last.
class Chain final : public Provider {
public:
    struct Parts {
        base::Loop& loop;
        base::Clock& clock;
        base::Ids& ids;  // For jitter.
        RetryPolicy policy{};
    };

    // At least one candidate. The parts must outlive every exchange.
    Chain(std::vector<Candidate> candidates, Parts parts);

    // Cancelling also ends the wait before a retry.
    std::shared_ptr<Exchange> ask(Request request, Progress progress,
                                  std::move_only_function<void(Outcome)> done) override;

private:
    std::shared_ptr<const std::vector<Candidate>> candidates_;
    Parts parts_;
};

}  // namespace provider
