// The events of a streamed message. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "provider/http/codec.h"

namespace provider::anthropic_messages {

inline constexpr std::int64_t kStreamedBlocksMax = 256;

// Puts the pieces together into the message that a server sends when it does not stream, so that
// both are read by the same code.
class StreamReader final : public EventReader {
public:
    Step take(std::string_view data) override;
    Outcome stop(const HttpResponse& head) override;

private:
    // A block as it started, and what its deltas have added to these members of it.
    struct Part {
        json::object block;
        std::string text, thinking, signature;
        std::string input_json;  // Of a call; replaces the empty input it starts with.
    };

    std::string add_delta(const json::value& event);
    void merge_usage(const json::value& holder);
    Outcome finish() const;

    std::map<std::int64_t, Part> parts_;  // By index.
    json::object message_;                // All but the content.
    bool seen_event_{false};
    bool seen_message_{false};
};

}  // namespace provider::anthropic_messages
