#include "surfaces/http/live/held_runs.h"

#include <utility>

namespace http_surface {
namespace {

FrameText frame(std::string_view event, const json::value& data) {
    return std::make_shared<const std::string>(
        fmt::format("event: {}\ndata: {}\n\n", event, base::json_text(data)));
}

json::object end_of(const base::Status& status) {
    if (status) return {};
    return {{"error", status.error().message}};
}

}  // namespace

base::Result<std::shared_ptr<HeldRun>> HeldRun::start(service::Service& service,
                                                      const service::RunRequest& request,
                                                      const service::Caller& caller) {
    auto run = std::make_shared<HeldRun>();
    // Weak: the service keeps the callback for as long as the lease, which the run holds.
    run->hold_ = TRY(
        service.start_run(request, caller, [weak = std::weak_ptr(run)](const base::Status& status) {
            if (const auto held = weak.lock()) held->end(status);
        }));
    return run;
}

std::optional<base::Status> HeldRun::ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
}

void HeldRun::listen(std::function<void()> changed) {
    const std::lock_guard lock(mutex_);
    changed_ = std::move(changed);
}

void HeldRun::end(const base::Status& status) {
    const std::lock_guard lock(mutex_);
    ended_ = status;
    if (changed_) changed_();
}

class HeldRuns::Reader final : public FrameStream {
public:
    Reader(const std::shared_ptr<Bell>& bell, std::shared_ptr<HeldRun> run,
           std::function<void()> wake)
        : run_(std::move(run)), wake_(std::move(wake)), self_(std::make_shared<Reader*>(this)) {
        run_->listen([bell, self = self_] {
            bell->post([self] {
                if (*self) (*self)->wake_();
            });
        });
    }
    ~Reader() override {
        *self_ = nullptr;
        run_->listen({});
        run_->release();
    }

    std::vector<FrameText> take(std::size_t /*bytes_max*/) override {
        if (!std::exchange(has_started_, true))
            return {frame("run_started", base::to_json(run_->started()))};
        const auto ended = run_->ended();
        if (!ended || std::exchange(has_ended_, true)) return {};
        return {frame("run_ended", end_of(*ended))};
    }
    // The run is remembered until its client leaves.
    bool is_over() const override { return false; }

private:
    std::shared_ptr<HeldRun> run_;
    std::function<void()> wake_;
    bool has_started_{false};
    bool has_ended_{false};
    std::shared_ptr<Reader*> self_;  // Emptied when this goes; a notification may come later.
};

HeldRuns::HeldRuns(base::Loop& loop) : bell_(std::make_shared<Bell>(loop)) {}

HeldRuns::~HeldRuns() {
    bell_->silence();
}

std::unique_ptr<FrameStream> HeldRuns::subscribe(std::shared_ptr<HeldRun> run,
                                                 std::function<void()> wake) {
    return std::make_unique<Reader>(bell_, std::move(run), std::move(wake));
}

}  // namespace http_surface
