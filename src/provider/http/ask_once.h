// One question as one HTTP request: what transports that do not stream share.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/time.h"
#include "provider/http/http_client.h"
#include "provider/provider.h"

namespace provider {

struct Posting {
    HttpRequest http;
    std::string model_ref;
    std::string secret{};  // Hidden wherever a server repeats it in a failure.
    json::object request_diagnostics{};
    // Reads the response. May be called again, with the secret hidden in it, when it fails.
    std::move_only_function<Outcome(const HttpResponse& response, base::Time now)> parse;
};

// Sends `posting`, keeps the promises of Provider::ask() and gives progress the whole text right
// before the reply. `http` and `clock` must outlive the question.
std::shared_ptr<Exchange> ask_once(HttpClient& http, base::Clock& clock, Posting posting,
                                   Progress progress, std::move_only_function<void(Outcome)> done);

// Replaces `secret` in `text`; false when it was not there. Very short ones are words of ordinary
// text and stay.
bool hide(std::string& text, std::string_view secret);

// `failure` with the diagnostics that only the caller knows, and without `secret`.
Failure completed(Failure failure, const std::string& model_ref, std::string_view url,
                  std::string_view secret);

Failure cancelled();

}  // namespace provider
