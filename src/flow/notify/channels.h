// The real channels: a program of the operator, a webhook, and the transports that are bound.
//
// What is delivered goes to standard input or into the body of a request, never into an argument,
// a path or a header. Each attempt is bounded in time and in what is read of the answer.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/os/process.h"
#include "flow/notify/sender.h"
#include "provider/http/http_client.h"

namespace notify {

inline constexpr std::size_t kAnswerBytesMax = 64 * 1024;
inline constexpr std::chrono::milliseconds kTransportTimeout{5'000};
// How much longer than its time an attempt may take to end: a program is asked to end, then killed.
inline constexpr std::chrono::milliseconds kEndGrace{20'000};

struct CommandOptions {
    std::vector<std::string> argv;
    std::filesystem::path cwd;
    // The whole of it, to which HOLON_DELIVERY_ID and HOLON_DELIVERY_ATTEMPT are added.
    std::vector<std::pair<std::string, std::string>> environment{};
    std::chrono::milliseconds timeout{10'000};
};
// Runs the program with the body on its standard input. It has arrived when the program exits with
// 0; `processes` outlives the channel.
Send command_channel(base::ProcessRunner& processes, CommandOptions options);

struct WebhookOptions {
    std::string url;
    std::string secret;      // Empty when the credential is missing.
    std::string credential;  // The profile that is to hold it.
    std::chrono::milliseconds timeout{10'000};
};
// "sha256=" and the HMAC-SHA-256 of the body, in hex: the header X-Holon-Signature-256.
std::string signature_of(std::string_view secret, std::string_view body);
// Posts the body, signed. It has arrived when the answer is 2xx; `http` outlives the channel.
Send webhook_channel(provider::HttpClient& http, WebhookOptions options);

// Posts the body to the callback URL of the binding, with its token.
using TokenOf = std::function<base::Result<std::string>(const domain::OperatorBinding&)>;
Send transport_channel(provider::HttpClient& http, TokenOf token_of);

}  // namespace notify
