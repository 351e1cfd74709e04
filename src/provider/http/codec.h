// A model API as the HTTP transport speaks it: requests become bytes, responses become outcomes.
// Nothing here sends anything, so that an API is tested by values.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "provider/http/http_client.h"
#include "provider/provider.h"

namespace provider {

// Collects the events of one streamed answer until one of them ends it. Never throws, whatever the
// bytes. Used from one thread.
class EventReader {
public:
    // What an event brought: text to show, or the end.
    struct Step {
        std::string text_delta{};
        std::optional<Outcome> end{};
        bool is_keep_alive{false};  // It only says that the connection still exists.
    };
    virtual ~EventReader() = default;

    // Reads the data of one event. An event that ends the answer in a failure changes nothing here,
    // so that the caller may pass it again with a secret hidden.
    virtual Step take(std::string_view data) = 0;

    // The outcome of a stream that stops here, before an event has ended it. `head` is the response
    // without its body.
    virtual Outcome stop(const HttpResponse& head) = 0;
};

class Decoder;

// One request in the format of an API, and the decoder of its answer.
struct EncodedRequest {
    std::string url;
    std::vector<HttpHeader> headers{};
    json::object body{};                 // In the order in which it is written.
    std::string secret{};                // Hidden wherever the server repeats it in a failure.
    json::object request_diagnostics{};  // For Reply::request_diagnostics.
    std::unique_ptr<Decoder> decoder{};  // Never null.
    // Of a streamed answer: servers that do not stream send one document all the same, which
    // Decoder::decode() reads.
    bool may_be_document{false};
};

// Reads the answer to one request. Never throws, whatever the bytes. Diagnostics in its failures
// lack what only the transport knows: URL, provider and model.
class Decoder {
public:
    virtual ~Decoder() = default;

    // The outcome of a response that came whole: the reply in a document, or the failure that a
    // status, an error object or an unreadable body means. `now` is for a Retry-After that is a
    // date. After a failure it may be called again, with a secret hidden in the body.
    virtual Outcome decode(const HttpResponse& response, base::Time now) = 0;

    // The reader of a streamed answer, owned by this; null when the request asks for a document.
    virtual EventReader* events() { return nullptr; }

    // Called once, with the outcome as it was read, unless the exchange was cancelled. Returns the
    // request to send instead when the server refused a shortcut that this request took, or an
    // optional field of it; the outcome is then dropped. Otherwise the outcome is final.
    virtual std::optional<EncodedRequest> replacement(const Outcome&) { return std::nullopt; }
};

// One API at one endpoint. What it remembers between requests, if anything, only saves bytes. Used
// from the loop's thread only; a Decoder may outlive the Codec that made it.
class Codec {
public:
    virtual ~Codec() = default;

    // The request as it goes out. A failure means that it cannot be sent at all.
    virtual std::expected<EncodedRequest, Failure> encode(const Request& request) = 0;
};

// A decoder that keeps nothing: `decode` is a pure function. `events` is null for a document.
std::unique_ptr<Decoder> make_decoder(Outcome (*decode)(const HttpResponse&, base::Time),
                                      std::unique_ptr<EventReader> events);

// The credential without the blanks around it; empty when there is none.
std::string trimmed_credential(const std::optional<std::string>& credential);

// "Authorization: Bearer <token>"
HttpHeader bearer(std::string_view token);

}  // namespace provider
