// What a supervised child is doing, and whether it is done. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/identity/facts.h"
#include "base/typed.h"
#include "domain/record.h"

namespace children {

enum class Phase { Running, Blocked, Waiting, Terminal };
BOOST_DESCRIBE_ENUM(Phase, Running, Blocked, Waiting, Terminal)

// Briefs of a child that observe() looks through.
inline constexpr std::int64_t kBriefsObserved = 16;
inline constexpr std::size_t kBriefChars = 400;

// A child as its parent sees it, so that it need not read the child's output to know.
struct Observability {
    Phase phase{Phase::Running};
    // The task of its own that it waits for, when it is blocked.
    std::optional<std::string> blocked_reason{};
    std::optional<std::string> waiting_reason{};
    std::optional<std::string> active_work_item_id{};
    std::optional<std::string> current_work_item_id{};  // The same; older clients read this one.
    std::optional<std::string> work_summary{};
    std::optional<std::string> last_progress_brief{};
    std::optional<std::string> last_result_brief{};
    friend bool operator==(const Observability&, const Observability&) = default;
};
BOOST_DESCRIBE_STRUCT(Observability, (),
                      (phase, blocked_reason, waiting_reason, active_work_item_id,
                       current_work_item_id, work_summary, last_progress_brief, last_result_brief))

// `briefs`: the newest ones of the child, newest first.
Observability observe(const identity::AgentFacts& child, const std::vector<domain::Brief>& briefs);

// What becomes of the task that supervises a child for which there is nothing to do right now.
struct Continues {  // Something will wake it: a task, a timer, an event, its queue.
    friend bool operator==(const Continues&, const Continues&) = default;
};
struct AsksParent {  // It waits for somebody to decide, and that is its parent.
    std::string question;
    friend bool operator==(const AsksParent&, const AsksParent&) = default;
};
enum class Ending { Completed, Failed, Stopped };
struct Ends {
    Ending how{Ending::Completed};
    std::string report;  // Its last words.
    std::optional<std::string> error{};
    friend bool operator==(const Ends&, const Ends&) = default;
};
using Verdict = std::variant<Continues, AsksParent, Ends>;

// `spent`: the budget that keeps it from its next turn, in words.
Verdict judge(const identity::AgentFacts& child, const std::optional<std::string>& spent = {});

// Does nothing happen for the child before something from elsewhere comes: a timer, an event, an
// answer? Then a command that waits for its agents need not wait for this one.
bool is_resting(const identity::AgentFacts& child);

}  // namespace children
