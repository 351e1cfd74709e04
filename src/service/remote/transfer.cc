#include "service/remote/transfer.h"

namespace service {
namespace {

bool curl_is_ready() {
    static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    return ready;
}

}  // namespace

Transfer::Transfer(const Address& address, const Request& request, bool over_socket,
                   OnChunk on_chunk)
    : on_chunk_(std::move(on_chunk)), over_socket_(over_socket) {
    if (!curl_is_ready()) return;
    easy_ = curl_easy_init();
    if (!easy_) return;
    error_.resize(CURL_ERROR_SIZE);
    // A handle of its own for each request: a kept connection that turns out to be dead would be
    // tried again by libcurl, and a POST would go out twice.
    url_ = (over_socket ? std::string("http://holon") : address.url) + request.path;
    set_headers(address, request);
    const auto set = [&](CURLoption option, auto value) {
        return curl_easy_setopt(easy_, option, value) == CURLE_OK;
    };
    ready_ = set(CURLOPT_URL, url_.c_str()) && set(CURLOPT_NOSIGNAL, 1L) &&
             set(CURLOPT_PROTOCOLS_STR, "http,https") && set(CURLOPT_FOLLOWLOCATION, 0L) &&
             set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1)) &&
             set(CURLOPT_PROXY, "") && set(CURLOPT_PATH_AS_IS, 1L) &&
             set(CURLOPT_HTTPHEADER, headers_) &&
             set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(kConnectTimeout.count())) &&
             set(CURLOPT_WRITEFUNCTION, &Transfer::on_body) && set(CURLOPT_WRITEDATA, this) &&
             set(CURLOPT_ERRORBUFFER, error_.data());
    if (on_chunk_) {
        ready_ = ready_ && set(CURLOPT_LOW_SPEED_LIMIT, 1L) &&
                 set(CURLOPT_LOW_SPEED_TIME,
                     std::chrono::duration_cast<std::chrono::seconds>(kQuietStreamTimeout).count());
    } else {
        ready_ = ready_ && set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
    }
    if (request.stop.stop_possible())
        ready_ = ready_ && set(CURLOPT_NOPROGRESS, 0L) &&
                 set(CURLOPT_XFERINFOFUNCTION, &Transfer::on_progress) &&
                 set(CURLOPT_XFERINFODATA, &request);
    if (over_socket) ready_ = ready_ && set(CURLOPT_UNIX_SOCKET_PATH, address.socket->c_str());
    if (address.ca_file && !over_socket)
        ready_ = ready_ && set(CURLOPT_CAINFO, address.ca_file->c_str());
    if (request.method == Method::Post)
        ready_ = ready_ && set(CURLOPT_POST, 1L) && set(CURLOPT_POSTFIELDS, request.body.data()) &&
                 set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
}

Transfer::~Transfer() {
    if (easy_) curl_easy_cleanup(easy_);
    curl_slist_free_all(headers_);
}

void Transfer::set_headers(const Address& address, const Request& request) {
    headers_ = curl_slist_append(headers_, "Expect:");
    headers_ = curl_slist_append(
        headers_, on_chunk_ ? "Accept: text/event-stream" : "Accept: application/json");
    if (request.method == Method::Post)
        headers_ = curl_slist_append(headers_, ("Content-Type: " + request.content_type).c_str());
    sends_token_ = !over_socket_ && !address.token.empty();
    if (sends_token_)
        headers_ = curl_slist_append(headers_, ("Authorization: Bearer " + address.token).c_str());
}

// libcurl calls it about once a second, also while nothing arrives.
int Transfer::on_progress(void* request, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<const Request*>(request)->stop.stop_requested() ? 1 : 0;
}

std::size_t Transfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const std::string_view chunk(data, size * count);
    const long status = transfer.status();
    if (transfer.on_chunk_ && status >= 200 && status < 300)
        return transfer.on_chunk_(chunk) ? chunk.size() : 0;
    if (transfer.body_.size() + chunk.size() > kAnswerBytesMax) return 0;
    transfer.body_ += chunk;
    return chunk.size();
}

long Transfer::status() const {
    long status = 0;
    if (easy_) curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

std::string Transfer::header(const char* name) const {
    curl_header* found = nullptr;
    if (!easy_ || curl_easy_header(easy_, name, 0, CURLH_HEADER, -1, &found) != CURLHE_OK)
        return {};
    return found->value;
}

std::string Transfer::failure_text(CURLcode code) const {
    return error_.empty() || error_[0] == '\0' ? curl_easy_strerror(code) : error_.c_str();
}

bool is_unreached(CURLcode code) {
    return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST;
}

}  // namespace service
