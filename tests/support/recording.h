// A scripted model that remembers what it was asked.
#pragma once

#include <atomic>

#include "provider/scripted/scripted_provider.h"

namespace test_support {

class Recording final : public provider::Provider {
public:
    Recording(std::string_view scenario, base::Loop& loop)
        : inner_(provider::parse_scenario(scenario).value(), loop), loop_(loop) {}
    std::shared_ptr<provider::Exchange> ask(
        provider::Request request, provider::Progress progress,
        std::move_only_function<void(provider::Outcome)> done) override {
        requests.push_back(request);
        ++asked;
        if (summary && asks_for_summary(request)) {
            if (!holds_summary)
                loop_.post([done = std::move(done), text = *summary]() mutable {
                    done(provider::Reply{.blocks = {domain::TextBlock{std::move(text)}},
                                         .usage = domain::TokenUsage{7'000, 70, 7'070}});
                });
            return nullptr;
        }
        return inner_.ask(std::move(request), std::move(progress), std::move(done));
    }
    // What the agent was shown before the conversation, of one request.
    std::string opening(std::size_t request) const {
        std::string text;
        for (const auto& block : requests.at(request).frame.context_blocks)
            text += block.text + "\n";
        return text;
    }

    static bool asks_for_summary(const provider::Request& request) {
        if (request.conversation.empty()) return false;
        const auto* last = std::get_if<provider::UserTurn>(&request.conversation.back());
        return last && last->blocks.front().text.starts_with("## compaction_summary");
    }

    // The answer to a request for a summary; without one, such a request gets the next round.
    std::optional<std::string> summary{};
    bool holds_summary{false};                // Never answers such a request.
    std::vector<provider::Request> requests;  // Of the loop's thread.
    std::atomic<std::size_t> asked{0};        // Of any.

private:
    provider::ScriptedProvider inner_;
    base::Loop& loop_;
};

}  // namespace test_support
