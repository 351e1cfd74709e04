// A scripted model that remembers what it was asked.
#pragma once

#include <atomic>

#include "provider/scripted/scripted_provider.h"

namespace test_support {

class Recording final : public provider::Provider {
public:
    Recording(std::string_view scenario, base::Loop& loop)
        : inner_(provider::parse_scenario(scenario).value(), loop) {}
    std::shared_ptr<provider::Exchange> ask(
        provider::Request request, provider::Progress progress,
        std::move_only_function<void(provider::Outcome)> done) override {
        requests.push_back(request);
        ++asked;
        return inner_.ask(std::move(request), std::move(progress), std::move(done));
    }
    // What the agent was shown before the conversation, of one request.
    std::string opening(std::size_t request) const {
        std::string text;
        for (const auto& block : requests.at(request).frame.context_blocks)
            text += block.text + "\n";
        return text;
    }

    std::vector<provider::Request> requests;  // Of the loop's thread.
    std::atomic<std::size_t> asked{0};        // Of any.

private:
    provider::ScriptedProvider inner_;
};

}  // namespace test_support
