#include "provider/scripted/scripted_provider.h"

#include "provider/scripted/play.h"

namespace provider {
namespace {

// Each word with the blanks behind it: joined again they are the text.
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t blank = text.find_first_of(" \n\t");
        const std::size_t next =
            blank == text.npos ? text.npos : text.find_first_not_of(" \n\t", blank);
        words.emplace_back(text.substr(0, next));
        text.remove_prefix(next == text.npos ? text.size() : next);
    }
    return words;
}

std::vector<std::string> words_of(const Outcome& outcome) {
    if (!outcome) return {};
    for (const auto& block : outcome->blocks)
        if (const auto* text = std::get_if<domain::TextBlock>(&block)) return words_of(text->text);
    return {};
}

// A request being answered word by word. The jobs of the loop own it until `done` was called.
class ScriptedExchange final : public Exchange,
                               public std::enable_shared_from_this<ScriptedExchange> {
public:
    ScriptedExchange(base::Loop& loop, Outcome outcome, Progress progress,
                     std::move_only_function<void(Outcome)> done)
        : loop_(loop),
          outcome_(std::move(outcome)),
          progress_(std::move(progress)),
          done_(std::move(done)) {
        if (progress_) words_ = words_of(outcome_);
    }

    void start(std::chrono::milliseconds delay) {
        timer_ = loop_.after(delay, [self = shared_from_this()] { self->step(); });
    }

    void cancel() override {
        if (cancelled_ || !done_) return;
        cancelled_ = true;
        loop_.cancel(timer_);
        loop_.post([self = shared_from_this()] {
            self->finish(std::unexpected(
                Failure{.kind = FailureKind::Cancelled, .message = "the request was cancelled"}));
        });
    }

private:
    void step() {
        if (cancelled_) return;
        if (shown_ == words_.size()) return finish(std::move(outcome_));
        progress_(std::string_view(words_[shown_++]));
        loop_.post([self = shared_from_this()] { self->step(); });
    }

    // Releases the callbacks, which may hold this.
    void finish(Outcome outcome) {
        progress_ = nullptr;
        std::exchange(done_, nullptr)(std::move(outcome));
    }

    base::Loop& loop_;
    Outcome outcome_;
    Progress progress_;
    std::move_only_function<void(Outcome)> done_;
    std::vector<std::string> words_;
    std::size_t shown_{0};
    bool cancelled_{false};
    base::Loop::TimerHandle timer_{base::Loop::TimerHandle::None};
};

}  // namespace

ScriptedProvider::ScriptedProvider(Scenario scenario, base::Loop& loop)
    : scenario_(std::move(scenario)), loop_(loop) {
    CHECK(!scenario_.rounds.empty(), "a scenario has at least one round");
}

std::shared_ptr<Exchange> ScriptedProvider::ask(Request request, Progress progress,
                                                std::move_only_function<void(Outcome)> done) {
    auto& given = faults_given_[round_index(scenario_, request)];
    Played played = play(scenario_, request, given);
    if (played.was_fault) ++given;
    auto exchange = std::make_shared<ScriptedExchange>(loop_, std::move(played.outcome),
                                                       std::move(progress), std::move(done));
    exchange->start(played.delay);
    return exchange;
}

}  // namespace provider
