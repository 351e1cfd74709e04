// One libcurl handle with our settings; what requests and streams share.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <curl/curl.h>

#include "service/remote/client.h"

namespace service {

// Prepared for one transfer. The request and the address must outlive it.
class Transfer {
public:
    // Gets the body of a 2xx answer in pieces; false ends the transfer.
    using OnChunk = std::function<bool(std::string_view)>;

    Transfer(const Address& address, const Request& request, bool over_socket,
             OnChunk on_chunk = nullptr);
    ~Transfer();
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    CURL* handle() const { return easy_; }
    bool is_ready() const { return ready_; }
    long status() const;
    const std::string& body() const { return body_; }  // Empty when it went out in pieces.
    std::string header(const char* name) const;        // Of the answer; empty without it.
    bool sends_token() const { return sends_token_; }
    // The message of libcurl for a failure.
    std::string failure_text(CURLcode code) const;

private:
    static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
    static int on_progress(void* request, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
    void set_headers(const Address& address, const Request& request);

    OnChunk on_chunk_;
    CURL* easy_{nullptr};
    curl_slist* headers_{nullptr};
    std::string url_;
    std::string body_;
    std::string error_;
    bool over_socket_{false};
    bool sends_token_{false};
    bool ready_{false};
};

// No connection was made, so nothing was sent.
bool is_unreached(CURLcode code);

}  // namespace service
