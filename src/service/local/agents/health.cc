#include "service/local/agents/health.h"

namespace service {
namespace {

std::unexpected<base::Error> not_ready(std::string reason) {
    return std::unexpected(base::Error{
        .code = base::ErrorCode::Unavailable, .message = std::move(reason), .kind = "not_ready"});
}

}  // namespace

std::optional<base::Status> Health::last_answer() {
    const std::lock_guard lock(mutex_);
    const base::Time now = clock_.now();
    // A clock that was set back must not keep an old answer alive.
    if (!probed_at_ || now < *probed_at_ || now - *probed_at_ >= kProbePause) return std::nullopt;
    return probed_;
}

base::Status Health::probe() {
    const std::lock_guard one(probing_);
    if (auto answer = last_answer()) return *answer;
    auto probed = transactions_.write(
        [now = clock_.now()](events::Log& log) { return log.tx().probe_write(now); });
    const std::lock_guard lock(mutex_);
    probed_ = probed;
    probed_at_ = clock_.now();
    return probed;
}

void Health::report_fault(const base::Error& error) {
    const std::lock_guard lock(mutex_);
    probed_ = std::unexpected(error);
    probed_at_ = clock_.now();
}

base::Status Health::check() {
    if (const auto written = probe(); !written)
        return not_ready("nothing can be written: " + written.error().message);
    const std::lock_guard lock(mutex_);
    if (!damage_.empty())
        return not_ready("the database is damaged: " + damage_ + "; see: holon store check");
    return {};
}

void Health::report_damage(std::string damage) {
    const std::lock_guard lock(mutex_);
    damage_ = std::move(damage);
}

}  // namespace service
