#include "service/local/run_result.h"

#include <algorithm>
#include <map>
#include <set>

#include "agent/identity/closure.h"
#include "agent/identity/facts.h"
#include "exec/tasks/snapshot/snapshot.h"
#include "flow/scheduler/decide.h"

namespace service {
namespace {

constexpr std::int64_t kPage = 64;
constexpr std::int64_t kTasksMax = 1000;

// Reads the transcript of a run, page by page: rounds, tokens, provider attempts, and which turns
// there were.
class Rounds {
public:
    explicit Rounds(const RunFacts& run) : run_(run) {}

    base::Status read(store::Tx& tx) {
        std::int64_t after = run_.baseline.transcript_seq;
        while (true) {
            const auto page =
                TRY(tx.transcript(run_.agent_id, {.after_seq = after, .limit = kPage}));
            for (const auto& [seq, entry] : page) {
                TRY(add(tx, entry));
                after = seq;
            }
            if (std::ssize(page) < kPage) return {};
        }
    }

    void fill(RunResponse& response) const {
        response.model_rounds = rounds_;
        response.token_usage = usage_;
        response.input_tokens = usage_.input_tokens;
        response.output_tokens = usage_.output_tokens;
        response.provider_cache_usage = cache_;
        if (auto& cache = response.provider_cache_usage; cache && cache->cacheable_input_tokens > 0)
            cache->hit_rate = static_cast<double>(cache->read_input_tokens) /
                              static_cast<double>(cache->cacheable_input_tokens);
        if (!timeline_.attempts.empty()) response.provider_attempt_timeline = timeline_;
    }

    const std::vector<domain::RunId>& attempts() const { return attempts_; }
    // The last one at a message of the run itself.
    const std::optional<domain::RunId>& own_attempt() const { return own_attempt_; }

private:
    base::Status add(store::Tx& tx, const domain::TranscriptEntry& entry) {
        if (std::ranges::find(attempts_, entry.run_id) == attempts_.end())
            attempts_.push_back(entry.run_id);
        if (TRY(is_own(tx, entry))) own_attempt_ = entry.run_id;
        if (const auto* timeline = base::find(entry.data, "provider_attempt_timeline"))
            add_timeline(TRY(base::from_json<domain::AttemptTimeline>(*timeline)));
        if (entry.kind != domain::TranscriptKind::AssistantRound) return {};
        ++rounds_;
        if (const auto* usage = base::find(entry.data, "token_usage"))
            usage_ = usage_ + TRY(base::from_json<domain::TokenUsage>(*usage));
        const auto* cached = base::find(entry.data, "provider_cache_usage");
        if (!cached || cached->is_null()) return {};
        const auto used = TRY(base::from_json<domain::CacheUsage>(*cached));
        auto& cache = cache_ ? *cache_ : cache_.emplace();
        cache.read_input_tokens += used.read_input_tokens;
        cache.creation_input_tokens += used.creation_input_tokens;
        cache.cacheable_input_tokens += entry.input_tokens.value_or(0);
        return {};
    }

    base::Result<bool> is_own(store::Tx& tx, const domain::TranscriptEntry& entry) {
        if (!entry.related_message_id) return false;
        const auto& id = *entry.related_message_id;
        if (const auto known = own_messages_.find(id.value); known != own_messages_.end())
            return known->second;
        const auto found = TRY(tx.message(id));
        const bool is_own = found && is_of_run(found->message, run_.message_id);
        own_messages_.emplace(id.value, is_own);
        return is_own;
    }

    void add_timeline(const domain::AttemptTimeline& part) {
        if (part.attempts.empty()) return;
        timeline_.requested_model_ref = part.requested_model_ref;
        timeline_.active_model_ref = part.active_model_ref;
        timeline_.winning_model_ref = part.winning_model_ref;
        timeline_.attempts.insert(timeline_.attempts.end(), part.attempts.begin(),
                                  part.attempts.end());
        if (part.aggregated_token_usage)
            timeline_.aggregated_token_usage =
                timeline_.aggregated_token_usage.value_or(domain::TokenUsage{}) +
                *part.aggregated_token_usage;
    }

    const RunFacts& run_;
    std::int64_t rounds_{0};
    domain::TokenUsage usage_{};
    std::optional<CacheSummary> cache_{};
    domain::AttemptTimeline timeline_{};
    std::vector<domain::RunId> attempts_{};
    std::optional<domain::RunId> own_attempt_{};
    std::map<std::string, bool> own_messages_{};
};

// A call that was dispatched or refused; not one that the end of its turn left unmade.
bool was_made(const domain::ToolExecution& execution) {
    return execution.state == domain::CallState::Finished && execution.result &&
           execution.result->status != domain::ResultStatus::Skipped;
}

std::int64_t commands_in(const domain::ToolExecution& execution, tools::CommandLines lines) {
    switch (lines) {
        case tools::CommandLines::None:
            return 0;
        case tools::CommandLines::One:
            return 1;
        case tools::CommandLines::Batch: {
            const auto* items = base::find(execution.call.args, "items");
            return items && items->is_array() ? std::ssize(items->get_array()) : 0;
        }
    }
    return 0;
}

void add_changed_files(std::set<std::string>& changed, const domain::ToolExecution& execution) {
    if (!execution.result->data) return;
    const auto* files = base::find(*execution.result->data, "changed_files");
    if (!files || !files->is_array()) return;
    for (const auto& file : files->get_array()) changed.insert(base::string_at(file, "path"));
}

base::Status count_calls(RunResponse& response, store::Tx& tx, const RunFacts& run,
                         const std::vector<domain::RunId>& attempts, const SpecOf& spec_of) {
    std::set<std::string> changed;
    for (const auto& attempt : attempts) {
        const bool was_open = run.baseline.open_attempt == attempt;
        std::size_t before = was_open ? run.baseline.open_attempt_calls : 0;
        for (const auto& execution : TRY(tx.tool_executions(attempt, std::nullopt))) {
            if (!was_made(execution)) continue;
            if (before > 0) {
                --before;
                continue;
            }
            ++response.tool_calls;
            const auto* spec = spec_of(execution.call.tool);
            if (!spec) continue;
            const auto commands = commands_in(execution, spec->command_lines);
            response.exec_command_items += commands;
            if (spec->command_lines == tools::CommandLines::Batch)
                response.batched_exec_command_items += commands;
            if (spec->changes_files) add_changed_files(changed, execution);
        }
    }
    response.shell_commands = response.exec_command_items;
    response.changed_files.assign(changed.begin(), changed.end());
    return {};
}

// What was reported with the work item that the run completed last.
base::Result<std::optional<std::string>> last_report(store::Tx& tx,
                                                     const std::vector<domain::RunId>& attempts,
                                                     const SpecOf& spec_of) {
    std::optional<std::string> text;
    for (const auto& attempt : attempts)
        for (const auto& execution : TRY(tx.tool_executions(attempt, std::nullopt))) {
            const auto* spec = spec_of(execution.call.tool);
            if (!spec || !spec->completes_work_item || !was_made(execution) ||
                !execution.result->ok)
                continue;
            const auto summary =
                TRY(tx.delivery_summary({base::string_at(execution.call.args, "work_item_id")}));
            if (summary) text = summary->text;
        }
    return text;
}

// Tasks that began or ended in the run, oldest first.
base::Status add_tasks(RunResponse& response, store::Tx& tx, const RunFacts& run,
                       const std::vector<domain::Task>& active) {
    std::vector<domain::Task> list;
    for (const auto& task : TRY(tx.tasks(run.agent_id, kTasksMax))) {
        if (task.id == run.baseline.newest_task) break;
        list.push_back(task);
    }
    std::ranges::reverse(list);
    std::vector<domain::Task> ended;
    for (const auto& id : run.baseline.active_tasks) {
        const bool is_active = std::ranges::find(active, id, &domain::Task::id) != active.end();
        if (const auto task = TRY(tx.task(id)); task && !is_active) ended.push_back(*task);
    }
    list.insert(list.begin(), ended.begin(), ended.end());
    for (const auto& task : list)
        response.tasks.emplace_back(json::object{{"task", tasks::output_snapshot(task)}});
    return {};
}

FinalStatus final_status(const domain::ClosureDecision& closure,
                         const std::optional<domain::TurnTerminal>& terminal,
                         const std::string& end_reason) {
    const std::string reason = terminal ? terminal->reason.value_or("") : "";
    if (end_reason == scheduler::kBudgetSpent || reason == domain::kReasonRoundLimit)
        return FinalStatus::MaxTurnsExceeded;
    if (reason == domain::kReasonInterrupted) return FinalStatus::Interrupted;
    if (closure.outcome == domain::ClosureOutcome::Failed) return FinalStatus::Failed;
    return closure.outcome == domain::ClosureOutcome::Waiting ? FinalStatus::Waiting
                                                              : FinalStatus::Completed;
}

// How the run's own last turn ended; for a resumption, the agent's last turn.
base::Result<std::optional<domain::TurnTerminal>> last_terminal(
    store::Tx& tx, const RunFacts& run, const identity::AgentFacts& facts,
    const std::optional<domain::RunId>& own_attempt) {
    if (own_attempt)
        if (const auto attempt = TRY(tx.attempt(*own_attempt)); attempt && attempt->terminal)
            return attempt->terminal;
    const bool has_had_a_turn = facts.agent.turn_index > run.baseline.turn_index ||
                                run.baseline.open_attempt || !run.message_id;
    return has_had_a_turn ? facts.statistics.last_turn_terminal : std::nullopt;
}

// Whether the run's message still waits to be handled.
base::Result<bool> is_pending(store::Tx& tx, const std::optional<domain::MessageId>& message) {
    if (!message) return false;
    const auto found = TRY(tx.message(*message));
    return found && (found->entry.status == domain::QueueStatus::Queued ||
                     found->entry.status == domain::QueueStatus::Interrupted);
}

void decide_status(RunResponse& response, const RunFacts& run, const identity::AgentFacts& facts,
                   const std::optional<domain::TurnTerminal>& terminal, bool is_pending) {
    const auto closure = identity::decide_closure(facts);
    response.final_status = final_status(closure, terminal, run.end_reason);
    // It was stopped while the agent was busy with another message.
    if (run.is_interrupted && is_pending) response.final_status = FinalStatus::Interrupted;
    if (response.final_status == FinalStatus::Waiting)
        response.waiting_reason = closure.waiting_reason;
    // It was stopped while it waited for a task: nothing is broken, and nothing is done.
    if (run.is_interrupted && response.final_status == FinalStatus::Completed &&
        !facts.active_tasks.empty()) {
        response.final_status = FinalStatus::Waiting;
        response.waiting_reason = domain::WaitingReason::AwaitingTaskResult;
    }
}

void add_failure(RunResponse& response, const RunFacts& run,
                 const domain::AgentStatistics& statistics) {
    const bool failed = response.final_status == FinalStatus::Failed ||
                        response.final_status == FinalStatus::MaxTurnsExceeded;
    if (!failed) return;
    if (statistics.last_runtime_failure)
        response.failure_artifact = statistics.last_runtime_failure->failure_artifact;
    // Rounds can run out between two turns, where none of them has failed.
    if (!response.failure_artifact)
        response.failure_artifact = domain::FailureArtifact{
            .category = domain::FailureCategory::Runtime,
            .kind = std::string(base::enum_name(response.final_status)),
            .summary = "the run ended before the agent was done: " + run.end_reason};
}

}  // namespace

base::Result<RunBaseline> load_baseline(store::Tx& tx, const domain::AgentId& agent) {
    RunBaseline baseline{.event_seq = TRY(tx.last_event_seq(agent))};
    if (const auto known = TRY(tx.agent(agent))) baseline.turn_index = known->turn_index;
    const auto newest = TRY(tx.transcript(agent, {.limit = 1, .newest_first = true}));
    if (!newest.empty()) baseline.transcript_seq = newest.front().seq;
    if (const auto open = TRY(tx.open_attempt_of(agent))) {
        baseline.open_attempt = open->run_id;
        const auto calls = TRY(tx.tool_executions(open->run_id, std::nullopt));
        baseline.open_attempt_calls =
            static_cast<std::size_t>(std::ranges::count_if(calls, was_made));
    }
    const auto tasks = TRY(tx.tasks(agent, 1));
    if (!tasks.empty()) baseline.newest_task = tasks.front().id;
    for (const auto& task : TRY(tx.active_tasks(agent))) baseline.active_tasks.push_back(task.id);
    return baseline;
}

bool is_of_run(const domain::Message& message, const std::optional<domain::MessageId>& own) {
    return !own || message.id == *own ||
           std::holds_alternative<domain::TaskOrigin>(message.origin) ||
           std::holds_alternative<domain::SystemOrigin>(message.origin);
}

base::Result<RunResponse> make_result(store::Tx& tx, const RunFacts& run, const SpecOf& spec_of) {
    RunResponse response{.agent_id = run.agent_id.value};
    const auto facts = TRY(identity::load_facts(tx, run.agent_id));
    Rounds rounds(run);
    TRY(rounds.read(tx));
    rounds.fill(response);
    response.message_count = facts.agent.turn_index - run.baseline.turn_index;
    TRY(count_calls(response, tx, run, rounds.attempts(), spec_of));
    TRY(add_tasks(response, tx, run, facts.active_tasks));
    const auto terminal = TRY(last_terminal(tx, run, facts, rounds.own_attempt()));
    decide_status(response, run, facts, terminal, TRY(is_pending(tx, run.message_id)));
    if (facts.agent.sleep) response.sleep_reason = facts.agent.sleep->reason;
    if (terminal) response.raw_final_text = terminal->last_assistant_message;
    const auto report = TRY(last_report(tx, rounds.attempts(), spec_of));
    response.final_text = report.value_or(response.raw_final_text.value_or(""));
    add_failure(response, run, facts.statistics);
    return response;
}

}  // namespace service
