// One question whose answer arrives as server-sent events: what transports that stream share.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "provider/http/http_client.h"
#include "provider/provider.h"

namespace provider {

// A stream lasts as long as something arrives.
inline constexpr HttpTimeouts kStreamTimeouts{.total = std::nullopt};
// How long a server may take to close a stream whose answer is complete.
inline constexpr std::chrono::milliseconds kStreamCloseGrace = 2s;

// Collects the events of one answer until one of them ends it. Never throws, whatever the bytes.
class EventReader {
public:
    // What an event brought: text to show, or the end.
    struct Step {
        std::string text_delta{};
        std::optional<Outcome> end{};
    };
    virtual ~EventReader() = default;

    // An event that ends the answer in a failure changes nothing here, so that it may be given
    // again, with a secret hidden.
    virtual Step take(std::string_view data) = 0;

    // What a stream is that stops here, before an event has ended it. `head` is the response
    // without its body.
    virtual Outcome stop(const HttpResponse& head) = 0;
};

// "the response is not an event stream (content type text/html)"
std::string not_events_message(const HttpResponse& head);

struct Streaming {
    HttpRequest http;
    std::string model_ref;
    std::string secret{};  // Hidden wherever a server repeats it in a failure.
    json::object request_diagnostics{};
    std::chrono::milliseconds close_grace{kStreamCloseGrace};
    std::shared_ptr<EventReader> events;
    // Reads a refusal. May be called again, with the secret hidden in it.
    std::move_only_function<Outcome(const HttpResponse& response, base::Time now)> parse;
    // Servers that do not stream answer with one document all the same: `parse` reads it as well.
    bool may_be_document{false};
};

// Sends `streaming` and keeps the promises of Provider::ask(). The outcome arrives with the event
// that ends the answer, even if the server leaves the stream open; such a server is hung up on
// after `close_grace`. `http` and `clock` must outlive the question.
std::shared_ptr<Exchange> ask_stream(HttpClient& http, base::Clock& clock, Streaming streaming,
                                     Progress progress,
                                     std::move_only_function<void(Outcome)> done);

// A question that cannot be sent: fails from the loop, as any other would.
std::shared_ptr<Exchange> fail_later(base::Loop& loop, Failure failure,
                                     std::move_only_function<void(Outcome)> done);

}  // namespace provider
