// What a long turn is reminded of: the state of its work item, when nobody updated it for many
// rounds. Only the provider sees it. Pure.
#pragma once

#include <string>

#include "agent/work/decide.h"

namespace work {

// HOLON_WORK_ITEM_STALE_REMINDER_ROUNDS, _COOLDOWN_ROUNDS and _MAX_TOKENS, and
// runtime.max_turns_without_progress.
struct Settings {
    std::int64_t reminder_rounds{10};
    std::int64_t reminder_cooldown_rounds{10};
    std::int64_t reminder_tokens_max{512};
    std::int64_t turns_without_progress_max{kTurnsWithoutProgressMax};
};

// Counts a round with calls; `wrote_work` when one of the four tools that write work items
// succeeded in it.
void count_round(domain::Attempt& attempt, bool wrote_work);

bool is_reminder_due(const domain::Attempt& attempt, const Settings& settings);
// The reminder is sent; the cool-down begins.
void count_reminder(domain::Attempt& attempt);

// Within settings.reminder_tokens_max estimated tokens.
std::string reminder_text(const domain::WorkItem& item, std::int64_t rounds,
                          const Settings& settings);

}  // namespace work
