// The events of a streamed completion. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "provider/chat_completions/wire.h"
#include "provider/http/codec.h"

namespace provider::chat_completions {

inline constexpr std::size_t kStreamedCallsMax = 128;

// Puts the pieces together into the document that a server sends when it does not stream, so that
// both are read by the same code. Some servers repeat a call's name in every piece, leave out its
// index, use one index for all, or end without [DONE]; they are understood.
class StreamReader final : public EventReader {
public:
    Step take(std::string_view data) override;
    Outcome stop(const HttpResponse& head) override;

private:
    struct Call {
        std::string id;
        std::string name;
        std::string arguments;
        friend bool operator==(const Call&, const Call&) = default;
    };

    Call* call_of(const json::value& piece);
    bool add_calls(const json::array& pieces);
    Outcome finish() const;

    std::string completion_id_;
    Content content_;
    std::vector<Call> calls_;
    std::string finish_reason_;
    json::value usage_;
    bool seen_event_{false};
    bool seen_choice_{false};
};

}  // namespace provider::chat_completions
