#include "bench/support/prompt_log.h"

#include <algorithm>

#include "base/json.h"

namespace bench {
namespace {

std::vector<std::string> parts_of(std::string_view body) {
    json::value request = base::parse_json(body).value();
    const json::array messages = request.at("messages").as_array();
    request.as_object().erase("messages");
    std::vector<std::string> parts{base::json_text(request)};
    for (const auto& message : messages) parts.push_back(base::json_text(message));
    return parts;
}

double tokens_in(std::size_t bytes) {
    return static_cast<double>(bytes) / kBytesPerToken;
}

double tokens_in(const std::vector<std::string>& parts) {
    std::size_t bytes = 0;
    for (const auto& part : parts) bytes += part.size();
    return tokens_in(bytes);
}

}  // namespace

double price_of(double uncached_tokens, double cached_tokens) {
    return kUncachedPrice * uncached_tokens + kCachedPrice * cached_tokens;
}

const SentPrompt& PromptLog::add(std::string_view body) {
    auto now = parts_of(body);
    SentPrompt prompt{.tokens = tokens_in(now)};
    const auto [before, after] = std::ranges::mismatch(parts_, now);
    for (auto part = now.begin(); part != after; ++part)
        prompt.common_tokens += tokens_in(part->size());
    prompt.extends_previous = before == parts_.end() && !parts_.empty();
    if (before != parts_.end() && after != now.end()) {
        const auto same = std::ranges::mismatch(*before, *after).in1 - before->begin();
        prompt.common_tokens += tokens_in(static_cast<std::size_t>(same));
    }
    for (std::size_t i = now.size() - std::min<std::size_t>(2, now.size()); i < now.size(); ++i)
        prompt.last_round_tokens += tokens_in(now[i].size());
    parts_ = std::move(now);
    return prompts_.emplace_back(prompt);
}

double PromptLog::tokens() const {
    double sum = 0;
    for (const auto& prompt : prompts_) sum += prompt.tokens;
    return sum;
}

double PromptLog::price() const {
    double sum = 0;
    for (const auto& prompt : prompts_)
        sum += price_of(prompt.tokens - prompt.common_tokens, prompt.common_tokens);
    return sum;
}

double PromptLog::common_percent() const {
    double common = 0;
    for (const auto& prompt : prompts_) common += prompt.common_tokens;
    return 100 * common / tokens();
}

double PromptLog::extending_percent() const {
    const auto extending = std::ranges::count(prompts_, true, &SentPrompt::extends_previous);
    return 100 * static_cast<double>(extending) / static_cast<double>(prompts_.size() - 1);
}

double PromptLog::largest() const {
    return std::ranges::max(prompts_, {}, &SentPrompt::tokens).tokens;
}

}  // namespace bench
