#include "flow/plans/maker.h"

#include "base/text.h"

namespace plans {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::size_t kFailureCharsMax = 600;

class Asking final : public Making, public std::enable_shared_from_this<Asking> {
public:
    Asking(MakerParts parts, const plan::PlanningRequest& request,
           std::move_only_function<void(base::Result<MadePlan>)> done)
        : parts_(std::move(parts)),
          done_(std::move(done)),
          request_(plan::planner_request(request, parts_.registry, parts_.ids.uuid())) {}

    void ask() {
        ++made_.tries;
        exchange_ = parts_.provider.ask(
            request_, {}, [self = shared_from_this()](provider::Outcome outcome) mutable {
                self->exchange_ = nullptr;
                self->answered(std::move(outcome));
            });
    }

    void cancel() override {
        is_cancelled_ = true;
        if (exchange_) exchange_->cancel();
    }

private:
    void answered(provider::Outcome outcome) {
        if (is_cancelled_)
            return done_(
                std::unexpected(base::Error{.code = ErrorCode::Unavailable,
                                            .message = "interrupted; no plan was made",
                                            .kind = std::string(domain::kPlanInterrupted)}));
        if (!outcome) return done_(failure(outcome.error()));
        made_.model_ref = outcome->timeline.winning_model_ref.value_or(request_.model_ref);
        auto read = plan::read_answer(*outcome, parts_.registry);
        made_.faults = read ? parts_.objections(**read) : read.error();
        if (made_.faults.empty()) {
            made_.plan = *read;
            return done_(std::move(made_));
        }
        if (made_.tries >= plan::kPlannerTriesMax) return done_(std::move(made_));
        plan::return_faults(request_, *outcome, made_.faults);
        request_.request_id = parts_.ids.uuid();
        ask();
    }

    base::Result<MadePlan> failure(const provider::Failure& failure) const {
        std::string why =
            base::printable(base::ellipsize(base::to_utf8(failure.message), kFailureCharsMax));
        if (why.ends_with('.')) why.pop_back();
        return fail(ErrorCode::Unavailable,
                    "{} could not be asked for a plan ({}): {}. Nothing was run; see holon doctor",
                    request_.model_ref, base::enum_name(failure.kind), why);
    }

    MakerParts parts_;
    std::move_only_function<void(base::Result<MadePlan>)> done_;
    provider::Request request_;
    std::shared_ptr<provider::Exchange> exchange_;
    MadePlan made_;
    bool is_cancelled_{false};
};

}  // namespace

std::shared_ptr<Making> make_plan(MakerParts parts, const plan::PlanningRequest& request,
                                  std::move_only_function<void(base::Result<MadePlan>)> done) {
    auto making = std::make_shared<Asking>(std::move(parts), request, std::move(done));
    making->ask();
    return making;
}

}  // namespace plans
