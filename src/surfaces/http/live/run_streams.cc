#include "surfaces/http/live/run_streams.h"

namespace http_surface {
namespace {

struct Page {
    std::vector<domain::PlanRecord> records;
    bool is_over{false};
    std::shared_ptr<void> watch;
};

// Runs on a thread that may block. Checks first whether the run has ended: its last lines are then
// in the page, or were read before.
Page read_page(service::Plans& plans, const std::string& run, std::int64_t after) {
    const auto has_ended = plans.has_ended(run);
    auto records = plans.records(run, after, kRunPageRecords);
    if (!has_ended || !records) return {.is_over = true};
    const bool is_over = *has_ended && records->empty();
    return {.records = std::move(*records), .is_over = is_over};
}

}  // namespace

std::string encode_record(const domain::PlanRecord& record) {
    return fmt::format("id: {}\nevent: {}\ndata: {}\n\n", record.seq, base::enum_name(record.kind),
                       record.line);
}

class RunStreams::Reader final : public FrameStream {
public:
    Reader(RunStreams& streams, FollowRun follow, std::function<void()> wake)
        : streams_(streams),
          run_(std::move(follow.run)),
          cursor_(follow.after_seq),
          wake_(std::move(wake)),
          self_(std::make_shared<Reader*>(this)) {}
    ~Reader() override { *self_ = nullptr; }

    std::vector<FrameText> take(std::size_t bytes_max) override {
        std::vector<FrameText> out;
        std::size_t bytes = 0;
        while (!page_.empty() && bytes < bytes_max) {
            bytes += page_.front()->size();
            out.push_back(std::move(page_.front()));
            page_.pop_front();
        }
        // Also without a notification: a heartbeat sends lines that another process has written.
        if (out.empty() && !is_reading_ && !is_over_) read();
        return out;
    }
    bool is_over() const override { return is_over_; }

private:
    // Subscribes to new lines before its first read, so that none is missed.
    void read() {
        is_reading_ = true;
        is_stale_ = false;
        streams_.submit_([plans = streams_.plans_, run = run_, after = cursor_,
                          is_watched = watch_ != nullptr, bell = streams_.bell_, self = self_] {
            std::shared_ptr<void> watch;
            if (!is_watched) watch = watch_run(*plans, run, bell, self);
            auto page = read_page(*plans, run, after);
            page.watch = std::move(watch);
            bell->post([self, page = std::move(page)]() mutable {
                if (*self) (*self)->arrive(std::move(page));
            });
        });
    }

    static std::shared_ptr<void> watch_run(service::Plans& plans, const std::string& run,
                                           const std::shared_ptr<Bell>& bell,
                                           const std::shared_ptr<Reader*>& self) {
        auto token = plans.watch(run, [bell, self](std::int64_t) {
            bell->post([self] {
                if (*self) (*self)->ring();
            });
        });
        return token.value_or(nullptr);
    }

    void ring() {
        is_stale_ = true;
        if (!is_reading_) wake_();
    }

    void arrive(Page page) {
        is_reading_ = false;
        if (page.watch) watch_ = std::move(page.watch);
        is_over_ = page.is_over;
        if (!page.records.empty()) cursor_ = page.records.back().seq;
        for (const auto& record : page.records)
            page_.push_back(std::make_shared<const std::string>(encode_record(record)));
        if (!page_.empty() || is_over_ || is_stale_) wake_();
    }

    RunStreams& streams_;
    const std::string run_;
    std::int64_t cursor_;
    std::function<void()> wake_;
    std::deque<FrameText> page_;
    std::shared_ptr<void> watch_;
    bool is_reading_{false};
    bool is_stale_{false};  // Something was written since the last page was asked for.
    bool is_over_{false};
    std::shared_ptr<Reader*> self_;  // Emptied when this goes; pages may come later.
};

RunStreams::RunStreams(service::Plans* plans, base::Loop& loop, Submit submit)
    : plans_(plans), submit_(std::move(submit)), bell_(std::make_shared<Bell>(loop)) {}

RunStreams::~RunStreams() {
    bell_->silence();
}

std::unique_ptr<FrameStream> RunStreams::subscribe(const FollowRun& follow,
                                                   std::function<void()> wake) {
    return std::make_unique<Reader>(*this, follow, std::move(wake));
}

}  // namespace http_surface
