// What a prompt says about the agent's work items.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "domain/agent.h"
#include "domain/work.h"
#include "provider/provider.h"
#include "store/store.h"

namespace context {

inline constexpr std::size_t kWaitsShown = 4;
inline constexpr std::size_t kTraceLineChars = 180;
inline constexpr std::size_t kTraceBriefs = 3;
inline constexpr std::size_t kTraceTools = 4;
inline constexpr std::size_t kTraceTexts = 2;
inline constexpr std::size_t kReportChars = 240;

// An item that is not the focus, by what can be done with it.
struct WorkCandidate {
    std::string group;  // triggered_blocked, queued_runnable, waiting_for_operator, blocked,
                        // completed_recent
    domain::WorkItem item;
    std::optional<base::Time> last_triggered_at{};
    std::optional<std::string> report{};  // Of a completed one: what was promoted, nothing else.
};

struct Work {
    std::optional<domain::WorkItem> current{};   // The focus, when it is open.
    std::optional<domain::PlanArtifact> plan{};  // Of the focus, as the file is now.
    std::string plan_error{};                    // Why it cannot be shown.
    std::vector<domain::Wait> waits{};           // Active ones of the focus.
    std::vector<std::string> trace{};            // What was done for the focus, newest first.
    std::vector<WorkCandidate> candidates{};     // By group, in the order of the prompt.
};

// A bounded part of the agent's items: completed ones do not make it slower. Empty for an agent
// that never had one. The plan of the focus is the stored one.
base::Result<Work> load_work(store::Tx& tx, const domain::Agent& agent);

// Replaces the plan of the focus by the file in the agent's `home`, which people edit. Blocks on
// the file system; not for a transaction.
void read_plan(Work& work, const std::filesystem::path& home);

// The sections of the prompt, each with its heading; none without items. Pure.
struct WorkSections {
    std::string current{};     // current_work_item
    std::string trace{};       // current_work_item_process_trace
    std::string candidates{};  // queued_blocked_work_items
};
WorkSections work_sections(const Work& work);

}  // namespace context
