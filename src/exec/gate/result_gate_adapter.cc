#include "exec/gate/result_gate_adapter.h"

#include <algorithm>

#include "base/log/log.h"
#include "exec/gate/requests.h"
#include "exec/tasks/spec.h"
#include "exec/tools/policy/flow_policy.h"

namespace gate {
namespace {

using base::ErrorCode;
using domain::GateOutcome;
using domain::GatePolicy;
using domain::GateReason;

// One request may be written again in the same second, after a crash; each time is a new document.
constexpr int kAttemptsMax = 20;
// Of reasons in an error's details, so that these stay below results::kDetailsCharsMax.
constexpr std::size_t kReasonCharsMax = 600;
constexpr std::string_view kHint =
    "The result is withheld from you; do not try to get it another way. Its side effects remain. "
    "Continue without it, or ask the operator, who can review and release it.";

// Rules and places only: no word of the result, not even the text next to a secret.
json::array shown_reasons(const std::vector<GateReason>& reasons) {
    json::array list;
    std::size_t chars = 0;
    for (const auto& reason : reasons) {
        json::object entry{{"rule", reason.rule}, {"message", reason.message}};
        if (reason.section) entry["section"] = *reason.section;
        if (reason.line) entry["line"] = *reason.line;
        chars += base::json_text(entry).size();
        if (chars > kReasonCharsMax && !list.empty()) break;
        list.push_back(std::move(entry));
    }
    return list;
}

domain::ToolError rejection(std::string_view tool, const domain::GateMark& mark,
                            const std::vector<GateReason>& reasons) {
    json::object details{
        {"tool_name", tool},
        {"document_id", mark.document_ids.empty() ? json::value(nullptr)
                                                  : json::value(mark.document_ids.front())}};
    std::string message = "The result gate could not judge the result, so it is withheld.";
    if (!mark.fault) {
        message = "The result gate rejected the result; it is in quarantine.";
        details["reason_count"] = reasons.size();
        details["reasons"] = shown_reasons(reasons);
    }
    return {.kind = std::string(tools::kResultRejected),
            .message = std::move(message),
            .details = std::move(details),
            .recovery_hint = std::string(kHint)};
}

std::string rejection_text(const domain::GateMark& mark, const std::vector<GateReason>& reasons) {
    if (mark.fault)
        return fmt::format("The result gate could not judge the output, so it is withheld. {}",
                           kHint);
    std::string text =
        fmt::format("The result gate rejected the output; it is in quarantine as {}. Reasons:",
                    fmt::join(mark.document_ids, ", "));
    for (const auto& entry : shown_reasons(reasons))
        text += fmt::format("\n- {}: {}", base::string_at(entry, "rule"),
                            base::string_at(entry, "message"));
    return fmt::format("{}\n{}", text, kHint);
}

// Faults of a document's form may quote it.
std::string fault_of(const base::Error& error) {
    if (error.code == ErrorCode::InvalidInput) return "the result makes no document";
    return error.message;
}

// What was printed is in the document now, and nowhere else that an agent could look.
void remove_copies(const tools::Outcome& outcome, const std::filesystem::path& log) {
    std::error_code ignored;
    if (!log.empty()) std::filesystem::remove(log, ignored);
    if (!outcome.completed) return;
    for (const auto& evidence : (*outcome.completed)->evidence())
        for (const auto& spill : {evidence.stdout_spill, evidence.stderr_spill})
            if (!spill.empty()) std::filesystem::remove(spill, ignored);
}

}  // namespace

domain::GatePolicy default_policy(domain::AuthorityClass instructed_by, tools::Family family,
                                  tools::RunsBehind runs_behind) {
    const bool crosses_boundary = runs_behind != tools::RunsBehind::Nothing ||
                                  family == tools::Family::LocalEnvironment ||
                                  family == tools::Family::Web;
    if (crosses_boundary && tools::is_external(instructed_by)) return GatePolicy::Enforce;
    if (runs_behind == tools::RunsBehind::SharedBoundary) return GatePolicy::Report;
    return GatePolicy::Off;
}

domain::GatePolicy ResultGateAdapter::policy(const domain::AgentId& agent,
                                             domain::TrustLevel trust) const {
    const bool is_external = trust == domain::TrustLevel::UntrustedExternal ||
                             trust == domain::TrustLevel::TrustedIntegration;
    return parts_.policy(agent, tools::Family::LocalEnvironment,
                         is_external ? GatePolicy::Enforce : GatePolicy::Off);
}

base::Result<domain::GateDocument> ResultGateAdapter::pass_one(const domain::AgentId& agent,
                                                               FinishedRequest request) const {
    const std::string id = request.request_id;
    for (int attempt = 1;; ++attempt) {
        if (attempt > 1) request.request_id = fmt::format("{}.again-{}", id, attempt);
        const auto deposited = parts_.gate.deposit(agent, request);
        if (deposited) return parts_.gate.settle(*deposited);
        if (deposited.error().code != ErrorCode::Conflict || attempt >= kAttemptsMax)
            return std::unexpected(deposited.error());
    }
}

void ResultGateAdapter::settle_once() const {
    std::call_once(settled_, [this] {
        if (const auto settled = parts_.gate.settle(); !settled)
            base::log_warn("the gate could not settle: {}", settled.error().message);
    });
}

void ResultGateAdapter::settle_in_background() {
    ++in_flight_;
    parts_.loop.offload(
        [this] {
            settle_once();
            --in_flight_;
            in_flight_.notify_all();
        },
        [] {});
}

ResultGateAdapter::Judged ResultGateAdapter::pass(const domain::AgentId& agent,
                                                  std::vector<FinishedRequest> requests) const {
    settle_once();
    Judged judged{.mark = {.outcome = GateOutcome::Accept}};
    std::vector<std::string> accepted;
    for (auto& request : requests) {
        auto document = pass_one(agent, std::move(request));
        if (!document) {
            judged.mark.outcome = GateOutcome::Reject;
            judged.mark.fault = fault_of(document.error());
            base::log_error("the gate could not judge a result of {}: {}", agent,
                            *judged.mark.fault);
            return judged;
        }
        const bool is_rejected = document->place != domain::GatePlace::Inbound;
        (is_rejected ? judged.mark.document_ids : accepted).push_back(document->document_id);
        if (!is_rejected) continue;
        judged.mark.outcome = GateOutcome::Reject;
        std::ranges::move(document->reasons, std::back_inserter(judged.reasons));
    }
    // The rejected ones come first: they are the ones to look at.
    std::ranges::move(accepted, std::back_inserter(judged.mark.document_ids));
    for (const auto& reason : judged.reasons)
        if (std::ranges::find(judged.mark.rules, reason.rule) == judged.mark.rules.end())
            judged.mark.rules.push_back(reason.rule);
    return judged;
}

ResultGateAdapter::~ResultGateAdapter() {
    for (int left = in_flight_; left > 0; left = in_flight_) in_flight_.wait(left);
}

// Offloaded from the loop: the documents of `requests` pass the gate, and `apply` puts the verdict
// into the answer, which `done` gets on the loop.
template <class Answer, class Requests, class Apply>
void ResultGateAdapter::check_in_background(const domain::AgentId& agent, BackendFacts backend,
                                            domain::GatePolicy policy, Requests requests,
                                            Apply apply,
                                            std::move_only_function<void(Answer)> done) {
    auto answer = std::make_shared<Answer>();
    ++in_flight_;
    parts_.loop.offload(
        [this, agent, policy, answer, backend = std::move(backend), requests = std::move(requests),
         apply = std::move(apply)] {
            Judged judged;
            try {
                judged =
                    pass(agent, requests(Reporter{backend, parts_.executor, parts_.clock.now()}));
            } catch (const std::exception& fault) {
                judged.mark = {.outcome = GateOutcome::Reject, .fault = fault.what()};
            }
            judged.mark.policy = policy;
            if (policy == GatePolicy::Enforce && judged.mark.outcome == GateOutcome::Reject)
                answer->instead = apply(judged.mark, judged.reasons);
            answer->mark = std::move(judged.mark);
            --in_flight_;
            in_flight_.notify_all();
        },
        [answer, done = std::move(done)]() mutable { done(std::move(*answer)); });
}

void ResultGateAdapter::judge(tools::FinishedCall finished,
                              std::move_only_function<void(tools::GateAnswer)> done) {
    auto shared = std::make_shared<const tools::FinishedCall>(std::move(finished));
    const auto& agent = shared->call.agent_id;
    check_in_background<tools::GateAnswer>(
        agent,
        shared->runs_behind == tools::RunsBehind::SharedBoundary ? parts_.shared_backend()
                                                                 : parts_.backend(agent),
        policy(shared->call, shared->family, shared->runs_behind),
        [shared](const Reporter& reporter) { return requests_of(*shared, reporter); },
        [shared, log = parts_.log_of ? parts_.log_of(shared->call) : std::filesystem::path()](
            const auto& mark, const auto& reasons) {
            remove_copies(*shared->outcome, log);
            return rejection(shared->call.tool, mark, reasons);
        },
        std::move(done));
}

void ResultGateAdapter::judge(tasks::FinishedOutput finished,
                              std::move_only_function<void(tasks::OutputAnswer)> done) {
    const auto agent = finished.task.agent_id;
    const auto wanted = policy(agent, tasks::trust_of(finished.task));
    check_in_background<tasks::OutputAnswer>(
        agent, parts_.backend(agent), wanted,
        [finished = std::move(finished)](const Reporter& reporter) {
            std::vector<FinishedRequest> one;
            one.push_back(request_of(finished, reporter));
            return one;
        },
        rejection_text, std::move(done));
}

}  // namespace gate
