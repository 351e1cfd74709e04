#include "provider/http/curl_failure.h"

#include <curl/curl.h>

namespace provider {
namespace {

domain::TransportDiagnostics diagnostics_of(const TransferProgress& progress,
                                            domain::TransportFlags flags) {
    flags.status = progress.status;
    const std::string_view part = progress.status ? "response_body" : "request_send";
    return {.stage = (progress.streaming ? "streaming_" : "") + std::string(part),
            .url = progress.url,
            .status = progress.status,
            .reqwest = flags};
}

struct Reading {
    FailureKind kind;
    std::string_view text;
    bool is_connect{false};
};

Reading read_code(int code) {
    switch (code) {
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_RESOLVE_PROXY:
            return {FailureKind::Connection, "the host name could not be resolved", true};
        case CURLE_COULDNT_CONNECT:
        case CURLE_PROXY:
            return {FailureKind::Connection, "could not connect", true};
        case CURLE_SSL_CONNECT_ERROR:
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_CERTPROBLEM:
            return {FailureKind::Connection, "no trusted TLS connection could be made", true};
        case CURLE_OPERATION_TIMEDOUT:
            // The connect timeout is the only one that libcurl is given.
            return {FailureKind::Timeout, "no connection in time", true};
        case CURLE_SEND_ERROR:
        case CURLE_RECV_ERROR:
        case CURLE_GOT_NOTHING:
        case CURLE_HTTP2:
        case CURLE_HTTP2_STREAM:
            return {FailureKind::Connection, "the connection was closed before the answer"};
        case CURLE_PARTIAL_FILE:
            return {FailureKind::Connection, "the connection was closed within the answer"};
        case CURLE_BAD_CONTENT_ENCODING:
        case CURLE_WEIRD_SERVER_REPLY:
            return {FailureKind::InvalidResponse, "the response is not valid HTTP"};
        case CURLE_URL_MALFORMAT:
        case CURLE_UNSUPPORTED_PROTOCOL:
            return {FailureKind::ContractError, "the URL is not a valid http or https URL"};
        default:
            return {FailureKind::Unknown, "the request failed"};
    }
}

}  // namespace

Failure curl_failure(int code, const std::string& detail, const TransferProgress& progress) {
    const Reading reading = read_code(code);
    domain::TransportFlags flags{.is_timeout = reading.kind == FailureKind::Timeout,
                                 .is_connect = reading.is_connect,
                                 .is_request = !progress.status,
                                 .is_body = progress.status.has_value(),
                                 .is_decode = code == CURLE_BAD_CONTENT_ENCODING};
    auto diagnostics = diagnostics_of(progress, flags);
    std::vector<std::string> chain{curl_easy_strerror(static_cast<CURLcode>(code))};
    if (!detail.empty() && detail != chain[0]) chain.push_back(detail);
    diagnostics.source_chain = std::move(chain);
    return {.kind = reading.kind,
            .message = fmt::format("POST {}: {}", progress.url, reading.text),
            .status = progress.status,
            .diagnostics = std::move(diagnostics)};
}

Failure timeout_failure(std::string_view missing, std::chrono::milliseconds timeout,
                        const TransferProgress& progress) {
    return {
        .kind = FailureKind::Timeout,
        .message = fmt::format("POST {}: {} within {} ms", progress.url, missing, timeout.count()),
        .status = progress.status,
        .diagnostics = diagnostics_of(progress, {.is_timeout = true,
                                                 .is_request = !progress.status,
                                                 .is_body = progress.status.has_value()})};
}

Failure too_large_failure(std::string_view part, std::size_t bytes_max,
                          const TransferProgress& progress) {
    return {.kind = FailureKind::InvalidResponse,
            .message = fmt::format("POST {}: the response {} exceeds {} bytes", progress.url, part,
                                   bytes_max),
            .status = progress.status,
            .diagnostics = diagnostics_of(progress, {.is_body = true})};
}

Failure cancelled_failure(const TransferProgress& progress) {
    return {.kind = FailureKind::Cancelled,
            .message = "the request was cancelled",
            .diagnostics = diagnostics_of(progress, {})};
}

}  // namespace provider
