#include "exec/plan/record/verify.h"

#include <algorithm>

#include "base/text.h"
#include "exec/plan/language/parse.h"
#include "exec/plan/language/refs.h"
#include "exec/plan/language/wire.h"
#include "exec/plan/record/chain.h"

namespace plan {
namespace {

constexpr std::size_t kFaultsMax = 50;

class Verifier {
public:
    Verifier(const RunFiles& files, const domain::PlanRun* stored, const tools::Registry& registry)
        : files_(files), run_(files.run), stored_(stored), registry_(registry) {}

    Verdict verify() {
        check_head();
        check_chain();
        if (verdict_.faults.empty()) walk();
        if (verdict_.faults.empty()) check_ends();
        if (verdict_.faults.empty()) check_claims();
        if (verdict_.faults.empty()) check_form();
        if (verdict_.faults.empty()) check_store();
        return std::move(verdict_);
    }

private:
    void fault(std::string text) {
        if (verdict_.faults.size() < kFaultsMax) verdict_.faults.push_back(std::move(text));
    }

    void check_head() {
        if (plan_hash(files_.document) != run_.plan_hash)
            fault("run.json: the plan is not the one that its planHash names");
        if (policy_hash(run_.policy) != run_.policy_hash)
            fault("run.json: the policy is not the one that its policyHash names");
    }

    // What run.json says is compared as it was read; nothing in it may have been left out by that.
    void check_form() {
        if (const auto name = first_difference(files_.written, run_json(run_)); !name.empty())
            fault(fmt::format("run.json: {} is not a member that runs write, or not written so",
                              base::printable(base::to_utf8(name))));
    }

    // The first member that the two do not share; absent and null are the same.
    static std::string first_difference(const json::object& one, const json::object& other) {
        for (const auto* side : {&one, &other})
            for (const auto& entry : *side)
                if (member(one, entry.key()) != member(other, entry.key())) return entry.key();
        return "";
    }

    void check_chain() {
        std::string last = first_link(run_.run_id, run_.plan_hash, run_.policy_hash);
        for (std::size_t i = 0; i < files_.records.size(); ++i) {
            const auto& record = files_.records[i];
            const auto number = static_cast<std::int64_t>(i) + 1;
            if (record.seq != number)
                return fault(
                    record.seq < number
                        ? fmt::format("{}: record {} is there twice", files_.places[i], record.seq)
                        : fmt::format("record {} is missing before {}", number, files_.places[i]));
            const auto link = link_of(record, last);
            if (!link || link->written != link->computed)
                return fault(fmt::format(
                    "{} (record {}): its hash does not follow from the line and the one before it",
                    files_.places[i], record.seq));
            last = link->written;
        }
        if (!files_.out_of_order.empty()) return fault(files_.out_of_order);
        const auto count = std::ssize(files_.records);
        if (!run_.is_open() && (count != run_.last_seq || last != run_.last_hash))
            fault(fmt::format("run.json names {} records that end in {}, the files have {}",
                              run_.last_seq, run_.last_hash, count));
    }

    void check_store() {
        if (!stored_) return;
        if (run_.last_seq != stored_->last_seq || run_.last_hash != stored_->last_hash)
            return fault(
                fmt::format("the store has {} records of this run, the files have {} or others",
                            stored_->last_seq, run_.last_seq));
        if (const auto name = first_difference(run_json(run_), run_json(*stored_)); !name.empty())
            fault(fmt::format("run.json: {} is not what the store has", name));
    }

    void walk() {
        if (const auto plan = decode(files_.document)) collect_needs(*plan);
        for (std::size_t i = 0; i < files_.records.size(); ++i) {
            place_ = files_.places[i];
            const auto value = base::parse_json(files_.records[i].line).value();
            switch (files_.records[i].kind) {
                case domain::PlanRecordKind::Call:
                    if (auto call = call_from(value))
                        on_call(*call, base::string_at(value, "argsHash"));
                    else
                        fault(place_ + ": " + call.error().message);
                    break;
                case domain::PlanRecordKind::Result:
                    if (auto result = result_from(value))
                        on_result(*result);
                    else
                        fault(place_ + ": " + result.error().message);
                    break;
                case domain::PlanRecordKind::Event:
                    if (auto event = event_from(value))
                        on_event(*event);
                    else
                        fault(place_ + ": " + event.error().message);
                    break;
            }
        }
    }

    // What each step waits for, stated and implied.
    void collect_needs(const Plan& plan) {
        std::map<std::string, std::string> captures;
        for (const auto& step : plan.steps)
            if (step.capture_as) captures[*step.capture_as] = step.id;
        for (const auto& step : plan.steps) {
            auto& needs = needs_[step.id];
            needs = step.depends_on;
            auto refs = find_refs(step.args, {}, "");
            if (step.foreach)
                std::ranges::move(find_refs(json::string(step.foreach->from), {}, ""),
                                  std::back_inserter(refs));
            for (const auto& found : refs)
                if (found.ref.source == RefSource::Step)
                    needs.push_back(found.ref.name);
                else if (captures.contains(found.ref.name))
                    needs.push_back(captures[found.ref.name]);
        }
    }

    void on_call(const domain::ToolCall& call, const std::string& args_hash) {
        ++verdict_.calls;
        if (call.run_id != run_.run_id) fault(place_ + ": the call belongs to another run");
        if (domain::args_hash(call.args) != args_hash)
            fault(place_ + ": argsHash is not the hash of the args");
        if (!calls_.emplace(call.call_id.value, Seen{.call = call}).second)
            fault(fmt::format("{}: call {} is there twice", place_, call.call_id));
        const auto risk = risk_of(call);
        if (call.risk_level < risk)
            fault(fmt::format("{}: step {} says {} of {}, which is {}", place_, call.step_id,
                              risk_name(call.risk_level), call.tool, risk_name(risk)));
        if (run_.risk_level < risk)
            fault(fmt::format("run.json: riskLevel {} is less than step {} has at {}",
                              risk_name(run_.risk_level), call.step_id, place_));
        check_approval(call, risk);
    }

    // A call's own word counts where the tool is not known here.
    domain::RiskLevel risk_of(const domain::ToolCall& call) const {
        const auto* tool = registry_.find(call.tool);
        return tool ? std::max(call.risk_level, tool->spec().risk) : call.risk_level;
    }

    void check_approval(const domain::ToolCall& call, domain::RiskLevel risk) {
        // By the run's policy, which the chain begins with, not by what the call says of it.
        if (risk == domain::RiskLevel::ReadOnly || !run_.policy.confirmations_required) return;
        if (!call.confirmation_id)
            return fault(fmt::format("{}: step {} changes something without an approval", place_,
                                     call.step_id));
        if (!approvals_.contains(*call.confirmation_id))
            return fault(
                fmt::format("{}: step {} names the approval {}, which no event before it has given",
                            place_, call.step_id, *call.confirmation_id));
        ++verdict_.approved_calls;
    }

    void on_result(const domain::ToolResult& result) {
        const auto found = calls_.find(result.call_id.value);
        if (found == calls_.end())
            return fault(fmt::format("{}: the result of a call that was not made", place_));
        auto& seen = found->second;
        if (seen.has_result)
            return fault(fmt::format("{}: a second result of call {}", place_, result.call_id));
        seen.has_result = true;
        const auto& call = seen.call;
        if (call.step_id != result.step_id || call.tool != result.tool ||
            call.attempt != result.attempt || call.run_id != result.run_id)
            fault(fmt::format("{}: the result is not of the call it names", place_));
        if (result.ok && (!result.data || domain::args_hash(*result.data) != result.data_hash))
            fault(place_ + ": dataHash is not the hash of the data");
        if (result.ended_at < result.started_at) fault(place_ + ": it ended before it started");
        if (result.error && result.error->details &&
            base::string_at(*result.error->details, "outcome") == "unknown")
            verdict_.unknown_outcomes.push_back(
                fmt::format("{} (call {})", result.step_id, result.call_id));
        if (result.ok) done_.insert(result.step_id);
    }

    void on_event(const RunEvent& event) {
        ++verdict_.events;
        if (event.type == EventType::RunConfirmed) {
            if (base::string_at(event.payload, "planHash") != run_.plan_hash ||
                base::string_at(event.payload, "policyHash") != run_.policy_hash)
                fault(place_ + ": the approval is of another plan or policy");
            approvals_.insert(base::string_at(event.payload, "confirmationId"));
            approval_ = event.payload;
        }
        if (event.type == EventType::RunStarted) started_ = event;
        if (event.type == EventType::RunFinished || event.type == EventType::RunCancelled)
            ended_ = event;
        // Runs of earlier programs do not say it.
        if (const auto inputs = base::string_at(event.payload, "inputsHash");
            !inputs.empty() && inputs != inputs_hash(run_))
            fault(place_ + ": run.json has another vault, context or params than the run had here");
        if (const auto identity = base::string_at(event.payload, "identityHash"); !identity.empty())
            identity_ = identity;
        const bool is_end =
            event.type == EventType::StepFinished || event.type == EventType::StepFailed;
        // A loop over nothing is done without a call.
        if (event.type == EventType::StepFinished && event.call_id.empty())
            done_.insert(event.step_id);
        if ((event.type != EventType::StepStarted && !is_end) || event.call_id.empty()) return;
        const auto found = calls_.find(event.call_id.value);
        if (found == calls_.end()) return fault(place_ + ": an event of a call that was not made");
        auto& seen = found->second;
        if (!is_end) {
            if (seen.starts++ > 0) fault(place_ + ": the call starts twice");
            if (seen.has_result) fault(place_ + ": the call starts after its result");
            for (const auto& need : needs_[event.step_id])
                if (!done_.contains(need) && !was_skipped(event.call_id))
                    fault(fmt::format("{}: {} starts before {} has succeeded", place_,
                                      event.step_id, need));
            return;
        }
        if (seen.starts == 0) fault(place_ + ": the call ends without a start");
        if (seen.ends++ > 0) fault(place_ + ": the call ends twice");
        if (!seen.has_result) fault(place_ + ": the call ends before its result");
    }

    // Its result says so, further on.
    bool was_skipped(const domain::ToolCallId& call) {
        if (skipped_.empty())
            for (const auto& record : files_.records)
                if (record.kind == domain::PlanRecordKind::Result) {
                    const auto value = base::parse_json(record.line).value();
                    if (base::string_at(value, "status") == "skipped")
                        skipped_.insert(base::string_at(value, "callId"));
                }
        return skipped_.contains(call.value);
    }

    void check_ends() {
        if (run_.is_open()) return;
        for (const auto& [id, seen] : calls_) {
            if (!seen.has_result)
                fault(fmt::format("call {} of step {} has no result", id, seen.call.step_id));
            else if (seen.starts != 1 || seen.ends != 1)
                fault(fmt::format("call {} of step {} has no start or end among the events", id,
                                  seen.call.step_id));
        }
    }

    // run.json is not part of the chain: what it says is held against what is.
    void check_claims() {
        claim("goal", json::string(run_.goal),
              json::string(base::string_at(files_.document, "goal")));
        claim("confirmation", run_.approval ? json::value(approval_json(*run_.approval)) : nullptr,
              approval_ ? json::value(*approval_) : nullptr);
        // Runs of earlier programs do not have it.
        if (identity_ && *identity_ != identity_hash(run_))
            fault(
                "run.json: createdAt, title, riskLevel, action, reverts, owner or a version is not "
                "what the run was made with");
        if (started_) {
            claim("startedAt", time(run_.started_at), time(started_->timestamp));
            claim("pass", run_.pass, base::int_at(started_->payload, "pass"));
        }
        if (run_.is_open()) return;
        if (!ended_) return fault("run.json: status says that the run ended, and no event does");
        claim("endedAt", time(run_.ended_at), time(ended_->timestamp));
        const auto said = run_json(run_);
        for (const std::string_view name : {"status", "failure"})
            claim(name, member(said, name), member(ended_->payload, name));
        if (identity_)
            for (const std::string_view name : {"carrier", "cancelReason"})
                claim(name, member(said, name), member(ended_->payload, name));
        if (run_.pass == 0) return;  // It was rejected, and nothing was counted.
        for (const auto& count : said.at("counts").get_object()) {
            const auto* counted = ended_->payload.if_contains(count.key());
            claim("counts/" + std::string(count.key()), count.value(), counted ? *counted : 0);
        }
    }

    static json::value member(const json::object& object, std::string_view name) {
        const auto* value = object.if_contains(name);
        return value ? *value : nullptr;
    }

    static json::value time(const std::optional<base::Time>& at) {
        return json::string(at ? base::to_text(*at) : "");
    }

    void claim(std::string_view name, const json::value& said, const json::value& is) {
        if (said != is)
            fault(fmt::format("run.json: {} does not follow from the plan and the events", name));
    }

    struct Seen {
        domain::ToolCall call;
        bool has_result{false};
        int starts{0};
        int ends{0};
    };

    const RunFiles& files_;
    const domain::PlanRun& run_;
    const domain::PlanRun* stored_;
    const tools::Registry& registry_;
    std::optional<RunEvent> started_{};  // The last of each.
    std::optional<RunEvent> ended_{};
    std::optional<json::object> approval_{};
    std::optional<std::string> identity_{};
    Verdict verdict_;
    std::string place_;
    std::map<std::string, Seen> calls_;
    std::set<std::string> approvals_;
    std::set<std::string> done_;
    std::set<std::string> skipped_;
    std::map<std::string, std::vector<std::string>> needs_;
};

}  // namespace

Verdict verify(const RunFiles& files, const domain::PlanRun* stored,
               const tools::Registry& registry) {
    return Verifier(files, stored, registry).verify();
}

}  // namespace plan
