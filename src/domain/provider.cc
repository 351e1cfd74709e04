#include "domain/provider.h"

namespace domain {

TokenUsage operator+(const TokenUsage& a, const TokenUsage& b) {
    return {a.input_tokens + b.input_tokens, a.output_tokens + b.output_tokens,
            a.total_tokens + b.total_tokens};
}

void fill_timing(AttemptTimeline& timeline, Time started_at, Time completed_at) {
    if (timeline.attempts.size() != 1) return;
    auto& attempt = timeline.attempts.front();
    if (attempt.started_at || attempt.completed_at || attempt.duration_ms) return;
    attempt.started_at = started_at;
    attempt.completed_at = completed_at;
    attempt.duration_ms = base::millis_between(started_at, completed_at);
}

}  // namespace domain
