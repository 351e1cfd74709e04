#include "service/remote/client.h"

#include "base/text.h"
#include "service/remote/transfer.h"

namespace service {
namespace {

constexpr std::size_t kShownBytesMax = 400;

base::ErrorCode code_of(long status) {
    switch (status) {
        case 400:
        case 413:
        case 415:
        case 422:
            return base::ErrorCode::InvalidInput;
        case 401:
        case 403:
            return base::ErrorCode::Refused;
        case 404:
        case 405:
            return base::ErrorCode::NotFound;
        case 409:
            return base::ErrorCode::Conflict;
        case 503:
            return base::ErrorCode::Unavailable;
        default:
            return base::ErrorCode::Internal;
    }
}

base::Error unreachable(const Address& address, const std::string& why) {
    std::string where = address.url;
    if (address.socket) where = address.socket->string() + (where.empty() ? "" : " or " + where);
    return {base::ErrorCode::Unavailable,
            fmt::format("no daemon answers at {} ({}); see holon daemon status", where, why),
            std::string(kUnreachable)};
}

// The error when the connection broke, or the answer did not come.
base::Error broken(const Request& request, const std::string& why) {
    return {
        base::ErrorCode::Unavailable,
        fmt::format(
            "the connection broke before the daemon answered {} ({}); it may or may not have been "
            "executed, see holon status and holon daemon status",
            request.path, why)};
}

std::string percent_decoded(std::string_view text) {
    int length = 0;
    const std::unique_ptr<char, decltype(&curl_free)> decoded(
        curl_easy_unescape(nullptr, text.data(), static_cast<int>(text.size()), &length),
        curl_free);
    return decoded ? std::string(decoded.get(), static_cast<std::size_t>(length)) : std::string();
}

// Where the next part of a list begins: what its Link header says of `before`.
std::string next_of(std::string_view link) {
    constexpr std::string_view kBefore = "before=";
    const auto begin = link.find(kBefore);
    if (begin == std::string_view::npos || !link.contains("rel=\"next\"")) return {};
    link.remove_prefix(begin + kBefore.size());
    return percent_decoded(link.substr(0, link.find_first_of("&>")));
}

}  // namespace

Client::Client(Address address) : address_(std::move(address)) {}

base::Result<Answer> Client::answer(const Request& request) const {
    std::string unreached;
    for (const bool over_socket : {true, false}) {
        if (over_socket ? !address_.socket : address_.url.empty()) continue;
        const Transfer transfer(address_, request, over_socket);
        if (!transfer.is_ready())
            return base::fail(base::ErrorCode::Internal, "the HTTP client could not be set up");
        const CURLcode code = curl_easy_perform(transfer.handle());
        if (is_unreached(code)) {
            if (unreached.empty()) unreached = transfer.failure_text(code);
            continue;
        }
        if (code != CURLE_OK) return std::unexpected(broken(request, transfer.failure_text(code)));
        const long status = transfer.status();
        if (status < 200 || status >= 300)
            return std::unexpected(answer_error(status, transfer.body(), transfer.sends_token()));
        auto body = base::parse_json(transfer.body());
        if (!body)
            return base::fail(base::ErrorCode::Corrupt,
                              "{} was answered with something that is not JSON: is another program "
                              "listening at {}?",
                              request.path, over_socket ? address_.socket->string() : address_.url);
        return Answer{.body = std::move(*body), .next = next_of(transfer.header("link"))};
    }
    return std::unexpected(unreachable(address_, unreached));
}

base::Result<json::value> Client::ask(const Request& request) const {
    return TRY(answer(request)).body;
}

base::Result<Answer> Client::list(std::string path, const ListQuery& query,
                                  std::chrono::milliseconds timeout) const {
    path += fmt::format("{}limit={}", path.contains('?') ? '&' : '?', query.limit);
    if (!query.before.empty()) path += "&before=" + base::percent_encoded(query.before);
    return answer({.path = std::move(path), .timeout = timeout});
}

base::Result<json::value> Client::get(std::string path) const {
    return ask({.method = Method::Get, .path = std::move(path)});
}

base::Result<json::value> Client::post(std::string path, const json::value& body) const {
    return ask({.method = Method::Post, .path = std::move(path), .body = base::json_text(body)});
}

base::Error answer_error(long status, std::string_view body, bool token_was_sent) {
    base::Error error{.code = code_of(status)};
    const auto parsed = base::parse_json(body);
    if (parsed && parsed->is_object()) {
        error.details = parsed->get_object();
        error.message = base::string_at(*parsed, "error");
        error.kind = base::string_at(*parsed, "code");
    }
    if (error.message.empty()) {
        const auto text = base::collapse_whitespace(base::to_utf8(body.substr(0, kShownBytesMax)));
        error.message = fmt::format("the daemon answered with HTTP {}{}", status,
                                    text.empty() ? "" : ": " + text);
    }
    if (status == 401 || (status == 403 && error.kind == "forbidden" && token_was_sent)) {
        error.kind = token_was_sent ? kWrongToken : kTokenMissing;
        error.message = token_was_sent
                            ? "the daemon refused the control token; set HOLON_CONTROL_TOKEN to "
                              "the token that it was started with"
                            : "the daemon requires a control token; set HOLON_CONTROL_TOKEN, and "
                              "HOLON_HTTP_ADDR to the address that it is for";
        return error;
    }
    if (const std::string hint = parsed ? base::string_at(*parsed, "hint") : ""; !hint.empty())
        error.message += "; " + hint;
    return error;
}

std::unexpected<base::Error> unreadable_answer(std::string_view what, const std::string& why) {
    return base::fail(base::ErrorCode::Corrupt,
                      "the daemon's answer for {} cannot be read ({}); is it of another version? "
                      "Compare holon --version with holon daemon status",
                      what, why);
}

}  // namespace service
