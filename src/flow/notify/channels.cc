#include "flow/notify/channels.h"

#include "base/hash.h"
#include "base/os/files.h"
#include "base/text.h"

namespace notify {
namespace {

constexpr std::size_t kOutputBytesMax = 8 * 1024;

std::string last_line(std::string_view text) {
    text = base::trim(text);
    const auto line = text.rfind('\n');
    return std::string(line == std::string_view::npos ? text : text.substr(line + 1));
}

Outcome outcome_of_exit(const base::ProcessExit& exit, std::chrono::milliseconds timeout) {
    if (exit.timed_out)
        return Failed{fmt::format("the program did not end within {} ms", timeout.count())};
    if (exit.exit_code == 0) return Delivered{};
    std::string why =
        exit.exit_code ? fmt::format("the program exited with {}", *exit.exit_code)
                       : fmt::format("the program was ended by signal {}", exit.signal.value_or(0));
    const auto& err = exit.err.spilled ? exit.err.tail : exit.err.head;
    if (const auto line = last_line(err); !line.empty()) why += ": " + line;
    return Failed{std::move(why)};
}

Outcome outcome_of_http(const provider::HttpOutcome& outcome) {
    if (outcome) return outcome_of_status(outcome->status, outcome->body);
    return Failed{outcome.error().message};
}

provider::HttpRequest request_of(const Outgoing& outgoing, std::string url,
                                 std::chrono::milliseconds timeout) {
    const auto& delivery = outgoing.delivery;
    return {
        .url = std::move(url),
        .headers = {{"Content-Type", "application/json"},
                    {"User-Agent", "holon/" HOLON_VERSION},
                    {"Idempotency-Key", delivery.delivery_intent_id},
                    {"X-Holon-Attempt", std::to_string(delivery.attempts)}},
        .body = outgoing.body,
        .timeouts = {.connect = timeout, .first_byte = timeout, .idle = timeout, .total = timeout},
        .body_bytes_max = kAnswerBytesMax,
        .header_bytes_max = kAnswerBytesMax};
}

}  // namespace

Send command_channel(base::ProcessRunner& processes, CommandOptions options) {
    return [&processes, options = std::move(options)](const Outgoing& outgoing,
                                                      std::move_only_function<void(Outcome)> done) {
        auto input = base::memory_file(outgoing.body + "\n");
        if (!input) return done(Failed{input.error().message});
        base::ProcessSpec spec{.argv = options.argv,
                               .cwd = options.cwd,
                               .environment = options.environment,
                               .input = std::make_shared<const base::Fd>(std::move(*input)),
                               .timeout = options.timeout,
                               .memory_bytes_max = kOutputBytesMax};
        spec.environment.emplace_back("HOLON_DELIVERY_ID", outgoing.delivery.delivery_intent_id);
        spec.environment.emplace_back("HOLON_DELIVERY_ATTEMPT",
                                      std::to_string(outgoing.delivery.attempts));
        auto shared = std::make_shared<std::move_only_function<void(Outcome)>>(std::move(done));
        const auto started = processes.start(
            std::move(spec), [shared, timeout = options.timeout](const base::ProcessExit& exit) {
                (*shared)(outcome_of_exit(exit, timeout));
            });
        if (!started) (*shared)(Failed{started.error().message});
    };
}

std::string signature_of(std::string_view secret, std::string_view body) {
    return "sha256=" + base::hmac_sha256_hex(secret, body);
}

Send webhook_channel(provider::HttpClient& http, WebhookOptions options) {
    return [&http, options = std::move(options)](const Outgoing& outgoing,
                                                 std::move_only_function<void(Outcome)> done) {
        // Unsigned, the receiver could not tell it from a forgery.
        if (options.secret.empty())
            return done(
                Failed{fmt::format("there is no credential '{0}' to sign with; store it with: "
                                   "holon config credentials set {0} --kind api_key --stdin, "
                                   "and restart the daemon",
                                   options.credential)});
        auto request = request_of(outgoing, options.url, options.timeout);
        request.headers.push_back({"X-Holon-Delivery", outgoing.delivery.delivery_intent_id});
        request.headers.push_back(
            {"X-Holon-Signature-256", signature_of(options.secret, outgoing.body)});
        http.send(std::move(request), {},
                  [done = std::move(done)](const provider::HttpOutcome& outcome) mutable {
                      done(outcome_of_http(outcome));
                  });
    };
}

Send transport_channel(provider::HttpClient& http, TokenOf token_of) {
    return [&http, token_of = std::move(token_of)](const Outgoing& outgoing,
                                                   std::move_only_function<void(Outcome)> done) {
        if (!outgoing.binding || outgoing.binding->status != domain::BindingStatus::Active)
            return done(Failed{"the transport is no longer bound", true});
        const auto token = token_of(*outgoing.binding);
        if (!token) return done(Failed{token.error().message, true});
        auto request =
            request_of(outgoing, outgoing.binding->delivery_callback_url, kTransportTimeout);
        if (!token->empty()) request.headers.push_back({"Authorization", "Bearer " + *token});
        http.send(std::move(request), {},
                  [done = std::move(done)](const provider::HttpOutcome& outcome) mutable {
                      done(outcome_of_http(outcome));
                  });
    };
}

}  // namespace notify
