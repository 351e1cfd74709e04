#include "surfaces/show/activity.h"

#include "base/text.h"
#include "surfaces/show/times.h"

namespace show {
namespace {

constexpr std::size_t kReasonChars = 200;

}  // namespace

std::string retry_text(const service::Delta& delta) {
    const std::string model = base::printable(delta.model_ref.value_or(""));
    const std::string next = base::printable(delta.next_model_ref.value_or(""));
    const std::string reason = base::printable(base::ellipsize(delta.text, kReasonChars));
    if (next != model) return fmt::format("{} failed, asking {}: {}", model, next, reason);
    return fmt::format("{} failed (try {} of {}), again in {}: {}", model,
                       delta.attempt.value_or(0), delta.max_attempts.value_or(0),
                       duration_text(delta.wait_ms.value_or(0)), reason);
}

}  // namespace show
