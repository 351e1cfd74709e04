// What a model was sent, request by request: how much of each request the one before has begun, and
// what that costs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bench {

// What providers charge, in units of one token of input that no cache is involved in.
inline constexpr double kUncachedPrice = 1.25;  // It is written to the cache as well.
inline constexpr double kCachedPrice = 0.1;
inline constexpr double kBytesPerToken = 4;

struct SentPrompt {
    double tokens{0};
    double common_tokens{0};       // Of the beginning that it has in common with the one before.
    double last_round_tokens{0};   // Of its last two messages: a call and its result.
    bool extends_previous{false};  // It begins with all that the one before had.
};

double price_of(double uncached_tokens, double cached_tokens);

class PromptLog {
public:
    // Adds the body of a Chat Completions request. Tools come first, as providers read them.
    const SentPrompt& add(std::string_view body);
    const std::vector<SentPrompt>& prompts() const { return prompts_; }

    double tokens() const;
    double price() const;
    double common_percent() const;
    double extending_percent() const;  // Of all but the first.
    double largest() const;

private:
    std::vector<std::string> parts_;  // Of the newest: everything besides messages, each message.
    std::vector<SentPrompt> prompts_;
};

}  // namespace bench
