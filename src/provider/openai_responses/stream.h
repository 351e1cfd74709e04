// The events of a streamed response. Pure.
#pragma once

#include <string>
#include <string_view>

#include "provider/http/codec.h"
#include "provider/openai_responses/wire.h"

namespace provider::openai_responses {

inline constexpr std::size_t kOutputItemsMax = 128;

// Collects the events of one response until one of them ends it.
class StreamReader final : public EventReader {
public:
    Step take(std::string_view data) override;
    Outcome stop(const HttpResponse& head) override;

    // Of the response that has ended; empty when it cannot be continued. See Answer.
    const std::string& response_id() const { return response_id_; }
    // The error that ended it, as the server wrote it; empty when there was none.
    const std::string& error() const { return error_; }

private:
    Outcome finish(const json::value& response);
    Failure failed_by(const json::value* error, const json::value* response);

    json::array items_;  // Of response.output_item.done, in order.
    std::string response_id_;
    std::string error_;
    bool seen_event_{false};
};

}  // namespace provider::openai_responses
