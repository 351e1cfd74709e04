// Where a run stands: a fold over its journal. Live, each record is noted when it is decided; after
// a restart the same functions read the journal again and arrive at the same state.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "domain/plan.h"
#include "exec/plan/language/check.h"
#include "exec/plan/language/refs.h"
#include "exec/plan/language/wire.h"

namespace plan {

// Tries of a call whose tool says that it may be tried again, where the plan says nothing.
inline constexpr std::int64_t kAttemptsDefault = 3;
inline constexpr std::int64_t kBackoffClampMsDefault = 60'000;
inline constexpr std::int64_t kForeachItemsMaxDefault = 10'000;
inline constexpr std::int64_t kCallsMaxDefault = 200'000;

using CallPtr = std::shared_ptr<const domain::ToolCall>;

enum class Phase : std::uint8_t { Waiting, Running, Retrying, Succeeded, Failed, Skipped };

// One piece of work: a step, or one item of its loop.
struct Unit {
    Phase phase{Phase::Waiting};
    std::int64_t tries{0};    // In this pass of the run.
    std::int64_t attempt{0};  // Of the last call, over all passes.
    json::value data;
};

struct StepState {
    Phase phase{Phase::Waiting};
    bool expanded{false};
    // A loop that came to nothing as a whole: skipped, or without a list to go over.
    bool whole{false};
    json::array items;
    std::vector<Unit> units;
    std::size_t next{0};            // No unit before this one still waits for its first try.
    std::set<std::size_t> again{};  // Units whose next try is due.
    std::size_t running{0};
    std::size_t settled{0};
    std::size_t waits_for{0};  // Steps that it needs and that have not succeeded yet.
    json::value data;          // Once it has succeeded; of a loop, the list of its items' data.
};

struct UnitAt {
    std::size_t step{0};
    std::size_t unit{0};
    friend auto operator<=>(const UnitAt&, const UnitAt&) = default;
};

class State {
public:
    State(domain::PlanRun run, CheckedPlan plan);

    // A run that was begun, from its journal in order.
    static base::Result<State> from_journal(domain::PlanRun run, CheckedPlan plan,
                                            const std::vector<domain::PlanRecord>& records);

    // Everything that has not succeeded gets a fresh start.
    void begin_pass();
    void note_call(const CallPtr& call);
    // A result of a call that is not running changes nothing.
    void note_result(const domain::ToolResult& result);
    // A loop over nothing has succeeded without a call.
    void note_empty_loop(std::size_t step);

    // The list a loop goes over, or why there is none.
    std::expected<json::array, Unresolved> items_of(std::size_t step) const;
    void expand(std::size_t step, json::array items);
    Scope scope(std::size_t step, std::size_t unit) const;

    const Plan& plan() const { return checked->plan; }
    std::int64_t concurrency_max() const;
    // The unit of `step` that could start now.
    std::optional<std::size_t> startable(std::size_t step);
    // Looks again whether `step` has something to start.
    void refresh(std::size_t step);
    // Units whose next try is due at `now` become startable.
    void wake(base::Time now);

    bool is_halted() const { return stopping || run.cancel_reason || out_of_time; }
    bool is_settled() const { return open_steps == 0; }

    domain::PlanRun run;
    CheckedPlan checked;
    std::vector<StepState> steps;
    struct InFlight {
        UnitAt at;
        CallPtr call;
    };
    // By call id. Ordered, so that what is done for all of them is done in the same order again.
    std::map<std::string, InFlight> in_flight;
    std::set<std::size_t> ready;  // Steps with something to start.
    std::set<std::pair<base::Time, UnitAt>> retries;
    bool stopping{false};
    bool out_of_time{false};
    bool held{false};  // Starts nothing more here; another process will.
    // After a restart: calls of which it is being found out whether they were made, and those that
    // were not, which wait until that is known of all.
    std::set<std::string> recovering{};
    std::vector<CallPtr> to_make_again{};
    std::size_t open_steps{0};
    // Filled by note_result(), for the decision that follows to empty.
    std::vector<std::size_t> newly_ready{};
    std::vector<std::size_t> to_skip{};

private:
    UnitAt locate(const domain::ToolCall& call);
    void settle_unit(UnitAt at, Phase phase);
    void settle_step(std::size_t step);
    bool may_retry(const Step& step, const Unit& unit, const domain::ToolResult& result) const;
    base::Time retry_at(const Step& step, const Unit& unit, const domain::ToolResult& result) const;
    void count_waits();

    json::value run_var_;
    json::value context_var_;
    json::value params_var_;
};

// On whose word the calls of a run are made.
domain::AuthorityClass authority_of(const domain::PlanRun& run);

// The result of a call that a crash cut off says so.
bool is_unknown_outcome(const domain::ToolResult& result);

}  // namespace plan
