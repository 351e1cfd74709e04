// The one transport over HTTP. A codec says how an API writes requests and answers; everything
// else about an exchange is here.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/time.h"
#include "provider/http/codec.h"
#include "provider/http/http_client.h"
#include "provider/provider.h"

namespace provider {

// A stream lasts as long as something arrives.
inline constexpr HttpTimeouts kStreamTimeouts{.total = std::nullopt};
// How long a server may take to close a stream whose answer is complete.
inline constexpr std::chrono::milliseconds kStreamCloseGrace = 2s;

struct HttpTransportOptions {
    HttpTimeouts timeouts{};
    std::size_t body_bytes_max{kBodyBytesMax};
    std::chrono::milliseconds close_grace{kStreamCloseGrace};
    // What people do when the server rejects the credential; begins the message of such a failure.
    std::string when_rejected{};
};

// Sends one HTTP request for each ask(), and a second one when the codec replaces the first.
//
// The outcome of a streamed answer arrives with the event that ends it, even if the server leaves
// the stream open; after `close_grace` such a connection is closed. When nothing was streamed,
// progress gets the whole text at once, right before the reply. The credential that the codec sends
// appears in no failure, not even when the server repeats it. A stream that sends nothing but
// comments and pings fails with FailureKind::Timeout within two idle timeouts.
//
// An exchange needs neither the transport nor its handle: both may be dropped while it is on its
// way. If the HttpClient is dropped, the outcome is FailureKind::Cancelled.
class HttpTransport final : public Provider {
public:
    // Owns `codec`. The loop of `http` and `clock` must outlive every exchange; `http` must outlive
    // the transport.
    HttpTransport(HttpClient& http, base::Clock& clock, std::unique_ptr<Codec> codec,
                  HttpTransportOptions options = {});

    std::shared_ptr<Exchange> ask(Request request, Progress progress,
                                  std::move_only_function<void(Outcome)> done) override;

private:
    HttpClient& http_;
    base::Clock& clock_;
    std::unique_ptr<Codec> codec_;
    HttpTransportOptions options_;
};

// An exchange for a request that cannot be sent: `done` gets `failure` from the loop, as it would
// any other, or FailureKind::Cancelled if the exchange is cancelled before that. `loop` must
// outlive it.
std::shared_ptr<Exchange> fail_later(base::Loop& loop, Failure failure,
                                     std::move_only_function<void(Outcome)> done);

}  // namespace provider
