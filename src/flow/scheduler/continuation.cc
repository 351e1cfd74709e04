#include "flow/scheduler/continuation.h"

#include "base/text.h"

namespace scheduler {
namespace {

using domain::ContinuationClass;
using domain::TriggerKind;
using domain::WaitingReason;

bool matches(WaitingReason reason, TriggerKind trigger) {
    switch (reason) {
        case WaitingReason::AwaitingOperatorInput:
            return trigger == TriggerKind::OperatorInput;
        case WaitingReason::AwaitingExternalChange:
            return trigger == TriggerKind::ExternalEvent || trigger == TriggerKind::SystemTick;
        case WaitingReason::AwaitingTaskResult:
            return trigger == TriggerKind::TaskResult;
        case WaitingReason::AwaitingTimer:
            return trigger == TriggerKind::TimerFire;
    }
    return false;
}

bool reaches_model(TriggerKind trigger, bool contentful) {
    switch (trigger) {
        case TriggerKind::OperatorInput:
        case TriggerKind::TaskResult:
        case TriggerKind::ExternalEvent:
        case TriggerKind::TimerFire:
        case TriggerKind::InternalFollowup:
            return true;
        case TriggerKind::SystemTick:
            return contentful;
        case TriggerKind::TaskStatus:
        case TriggerKind::Control:
        case TriggerKind::BriefDelivery:
            return false;
    }
    return false;
}

}  // namespace

bool is_contentful(const domain::Body& body) {
    if (const auto* text = std::get_if<domain::TextBody>(&body))
        return !base::trim(text->text).empty();
    if (const auto* brief = std::get_if<domain::BriefBody>(&body))
        return !base::trim(brief->text).empty();
    return true;
}

bool is_contentful(const domain::Message& message) {
    if (message.metadata)
        if (const auto* hint = base::find(*message.metadata, "wake_hint")) {
            const auto* carried = base::find(*hint, "body");
            if (!carried || carried->is_null()) return false;
            const auto body = base::from_json<domain::Body>(*carried);
            return body && is_contentful(*body);
        }
    return is_contentful(message.body);
}

domain::ContinuationResolution resolve(const domain::ClosureDecision& prior,
                                       const domain::Message& message) {
    const TriggerKind trigger = message.trigger_kind.value_or(TriggerKind::SystemTick);
    const bool contentful = is_contentful(message);
    domain::ContinuationResolution resolution{.trigger_kind = trigger,
                                              .model_visible = reaches_model(trigger, contentful),
                                              .prior_closure_outcome = prior.outcome,
                                              .prior_waiting_reason = prior.waiting_reason};
    const bool waiting = prior.outcome == domain::ClosureOutcome::Waiting && prior.waiting_reason;
    resolution.matched_waiting_reason = waiting && matches(*prior.waiting_reason, trigger);
    if (!resolution.model_visible)
        resolution.class_ = ContinuationClass::LivenessOnly;
    else if (resolution.matched_waiting_reason)
        resolution.class_ = ContinuationClass::ResumeExpectedWait;
    else
        resolution.class_ =
            waiting ? ContinuationClass::ResumeOverride : ContinuationClass::LocalContinuation;
    resolution.evidence.push_back(contentful ? "the message has content"
                                             : "the message has no content");
    if (waiting)
        resolution.evidence.push_back(
            fmt::format("was {}", base::enum_name(*prior.waiting_reason)));
    return resolution;
}

}  // namespace scheduler
