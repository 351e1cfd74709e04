#include "tests/sim/invariants.h"

#include <map>

namespace sim {
namespace {

constexpr std::int64_t kAll = 100'000;

class Checker {
public:
    Checker(store::Tx& tx, const World& world, Outcome& outcome)
        : tx_(tx), world_(world), outcome_(outcome) {}

    base::Status check(const std::set<std::string>& acknowledged) {
        for (const auto& agent : agents()) {
            TRY(check_messages(agent, acknowledged));
            TRY(check_events(agent));
            TRY(check_tasks(agent));
            if (TRY(tx_.open_attempt_of(agent)))
                violation("{} has an open attempt at the end", agent);
            if (!TRY(tx_.outbox(agent)).empty())
                violation("{} has effects that were never performed", agent);
        }
        for (const auto& [cmd, times] : world_.runs)
            if (times > 1) violation("'{}' ran {} times", cmd, times);
        for (const auto& fault : world_.pairing_faults) violation("request {}", fault);
        for (const auto& request : world_.changed_prompts)
            violation("request {} changed when asked again", request);
        return {};
    }

private:
    template <class... Args>
    void violation(fmt::format_string<Args...> text, Args&&... args) {
        outcome_.violations.push_back(fmt::format(text, std::forward<Args>(args)...));
    }

    base::Status check_messages(const domain::AgentId& agent,
                                const std::set<std::string>& acknowledged) {
        std::map<std::string, int> results;  // By message.
        for (const auto& brief : TRY(tx_.briefs(agent, {.limit = kAll})))
            if (brief.record.kind != domain::BriefKind::Ack && brief.record.related_message_id)
                ++results[brief.record.related_message_id->value];
        std::set<std::string> prompts;
        for (const auto& numbered : TRY(tx_.messages(agent, {.limit = kAll}))) {
            const auto& [message, entry] = numbered.record;
            if (message.kind == domain::MessageKind::OperatorPrompt) {
                const std::string text = domain::readable(message.body).substr(7);
                if (!prompts.insert(text).second) violation("prompt {} was admitted twice", text);
            }
            const bool was_read = message.kind == domain::MessageKind::TaskResult &&
                                  entry.status == domain::QueueStatus::Dropped && entry.reason;
            outcome_.results_read += was_read ? 1 : 0;
            if (was_read) continue;
            if (entry.status != domain::QueueStatus::Processed)
                violation("message {} ended as {}", message.id, base::enum_name(entry.status));
            if (results[message.id.value] != 1)
                violation("message {} has {} results", message.id, results[message.id.value]);
            TRY(check_turn(message.id));
        }
        for (const auto& key : acknowledged)
            if (key.starts_with(agent.value + "-") && !prompts.contains(key))
                violation("prompt {} was lost", key);
        return {};
    }

    // Every task is over, and its result is accounted for: one message, dealt with or dropped with
    // a reason.
    base::Status check_tasks(const domain::AgentId& agent) {
        std::map<std::string, int> delivered;
        for (const auto& numbered : TRY(tx_.messages(agent, {.limit = kAll})))
            if (numbered.record.message.kind == domain::MessageKind::TaskResult)
                ++delivered[numbered.record.message.task_id.value().value];
        for (const auto& task : TRY(tx_.tasks(agent, kAll))) {
            ++outcome_.tasks;
            if (!domain::is_terminal(task.status))
                violation("task {} ended as {}", task.id, base::enum_name(task.status));
            if (delivered[task.id.value] != 1)
                violation("the result of task {} was delivered {} times", task.id,
                          delivered[task.id.value]);
        }
        return {};
    }

    base::Status check_turn(const domain::MessageId& message) {
        std::set<std::string> runs;
        for (const auto& entry : TRY(tx_.transcript_of(message))) runs.insert(entry.run_id.value);
        for (const auto& run : runs) {
            const auto attempt = TRY(tx_.attempt(domain::RunId{run}));
            if (!attempt || !attempt->terminal) violation("attempt {} has no terminal record", run);
            for (const auto& execution : TRY(tx_.tool_executions(domain::RunId{run}, std::nullopt)))
                check_execution(execution);
        }
        return {};
    }

    void check_execution(const domain::ToolExecution& execution) {
        const auto& id = execution.call.call_id;
        if (!execution.result || !execution.receipt ||
            execution.state != domain::CallState::Finished) {
            violation("call {} has no result", id);
            return;
        }
        if (execution.call.tool != "ExecCommand") return;
        const std::string cmd = base::string_at(execution.call.args, "cmd");
        if (cmd.empty()) return;
        const auto found = world_.runs.find(cmd);
        const int times = found == world_.runs.end() ? 0 : found->second;
        const std::string kind =
            execution.result->ok ? ""
                                 : base::string_at(base::find(*execution.envelope, "error")
                                                       ? *base::find(*execution.envelope, "error")
                                                       : json::value(),
                                                   "kind");
        if (execution.result->ok && times != 1)
            violation("'{}' reported success and ran {} times", cmd, times);
        if (!execution.result->ok && kind != "tool_outcome_unknown")
            violation("'{}' failed as {}", cmd, kind);
    }

    base::Status check_events(const domain::AgentId& agent) {
        std::int64_t expected = 1;
        for (const auto& event : TRY(tx_.events(agent, {.limit = kAll}))) {
            if (event.event_seq != expected)
                violation("{} has event {} where {} belongs", agent, event.event_seq, expected);
            expected = event.event_seq + 1;
            outcome_.history += base::json_text(base::to_json(event)) + "\n";
        }
        return {};
    }

    store::Tx& tx_;
    const World& world_;
    Outcome& outcome_;
};

}  // namespace

std::vector<domain::AgentId> agents() {
    return {domain::AgentId{"a"}, domain::AgentId{"b"}};
}

void check_invariants(store::Store& store, const World& world,
                      const std::set<std::string>& acknowledged, Outcome& outcome) {
    const auto status =
        store.read([&](store::Tx& tx) { return Checker(tx, world, outcome).check(acknowledged); });
    if (!status)
        outcome.violations.push_back("the store cannot be read: " + status.error().message);
}

}  // namespace sim
