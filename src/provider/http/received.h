// What every transport reads from a response in the same way. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "provider/http/http_client.h"
#include "provider/provider.h"

namespace provider {

bool is_success(std::int64_t status);

// The stage of what goes wrong within a stream; others are in TransportDiagnostics.
inline constexpr std::string_view kStreamStage = "streaming_response_body";

// One short line for people, whatever the server sent.
std::string excerpt(std::string_view text);

// A failure with its diagnostics, which lack what only the caller knows: URL, provider and model.
Failure failure_at(std::string_view stage, FailureKind kind, std::int64_t status,
                   std::string message);

// For a response that says it failed. `error` is the part of the body that explains it, text or an
// object with a `message`; null when there is none. `now` is for a Retry-After that is a date.
Failure status_failure(const HttpResponse& response, FailureKind kind, const json::value* error,
                       base::Time now);

// For a response that cannot be what it claims to be.
Failure unreadable(std::string_view stage, std::int64_t status, std::string message);

// "the response is not valid JSON (content type text/html)"
std::string not_json_message(const HttpResponse& response);
// "the response is not an event stream (content type text/html)"
std::string not_events_message(const HttpResponse& head);

// Replaces `secret` in `text`; false when it was not there. Very short ones are words of ordinary
// text and stay.
bool hide(std::string& text, std::string_view secret);

// A count of tokens; bounded, so that sums cannot overflow.
std::int64_t tokens_at(const json::value& usage, std::string_view name);

// The parts of `input` tokens, of which `read` came from a cache and `created` went into one.
domain::CacheUsage cache_usage_of(std::int64_t input, std::int64_t read, std::int64_t created,
                                  std::int64_t reasoning);

// Hands out ids for the calls of one reply. Calls without an id, or with one that was used before,
// get one that follows from `seed`, which must outlive this.
class CallIds {
public:
    explicit CallIds(std::string_view seed) : seed_(seed) {}
    std::string take(std::string id);

private:
    std::string_view seed_;
    std::size_t count_{0};
    std::set<std::string> taken_;
};

// The name of a call that came without one: no tool has it.
inline constexpr std::string_view kUnnamedTool = "unnamed_tool";

// The arguments of a call as servers send them: JSON in text, or an object; nothing, null and blank
// text mean none. Text that is no JSON comes back as a text, cut where it is long: no tool takes
// one, so that the model receives an error and can send the call again.
json::value read_arguments(const json::value* arguments);

}  // namespace provider
