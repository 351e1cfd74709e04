// One request and its response as values: what handlers see of HTTP.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "domain/labels.h"

namespace http_surface {

enum class Method { Get, Head, Post, Other };

// The part of a request that is known before its body is read.
struct Head {
    Method method{Method::Get};
    std::string path;   // As sent, percent-encoded, without the query.
    std::string query;  // As sent, without '?'.
    std::optional<std::string> authorization{};
    std::optional<std::string> content_type{};
    std::optional<std::string> host{};
    std::optional<std::string> origin{};
    std::optional<std::string> last_event_id{};
    // Those of kDeliveryHeaders that were sent, by their names in lower case.
    std::map<std::string, std::string, std::less<>> delivery{};
};

// What senders of webhooks sign and label a delivery with.
inline constexpr auto kDeliveryHeaders = std::to_array<std::string_view>(
    {"x-hub-signature-256", "x-github-event", "x-github-delivery", "x-gitlab-token",
     "x-gitlab-event", "x-gitlab-event-uuid", "stripe-signature"});

// The caller, as the listener and the token identify it.
struct Peer {
    std::string key;  // Equal for one client: its address; "unix" for the socket.
    bool is_unix{false};
    std::optional<std::uint32_t> uid{};  // On the socket: the user who opened it, from the kernel.
    bool token_required{false};
};

struct Rights {
    domain::AdmissionContext admission{domain::AdmissionContext::LocalProcess};
    bool control{true};
    bool replay{true};
};

struct Request {
    Head head;
    Peer peer;
    Rights rights;
    std::map<std::string, std::string, std::less<>> params{};  // From the path, decoded.
    std::map<std::string, std::string, std::less<>> query{};   // Decoded.
    std::string body{};
};

// A streaming response: the events of `agent` after `after_seq`.
struct Follow {
    std::string agent;
    std::int64_t after_seq{0};
    std::int64_t newest_seq{0};  // When the cursor was checked.
    bool deltas{false};          // What the agent is doing right now, too.
};

// The same with the journal of a run, until it has ended.
struct FollowRun {
    std::string run;  // Its whole id.
    std::int64_t after_seq{0};
};

// A run that the client holds by its connection; see live/held_runs.h.
class HeldRun;

struct Response {
    unsigned status{200};
    std::string body{};
    std::string content_type{"application/json"};
    std::vector<std::pair<std::string, std::string>> headers{};
    std::optional<Follow> follow{};
    std::optional<FollowRun> follow_run{};
    std::shared_ptr<HeldRun> held_run{};
};

Response json_response(const json::value& body, unsigned status = 200);

}  // namespace http_surface
