// A model API on a loopback port that answers, or fails, as the test says.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/os/files.h"
#include "tests/support/eventually.h"

namespace test_support {

using namespace std::chrono_literals;

struct RecordedRequest {
    int connection{0};  // Counted from 1; equal numbers shared a connection.
    std::string method;
    std::string path;
    std::map<std::string, std::string> headers;  // Names in lower case.
    std::string body;
};

// One answer. The members after `headers` make it go wrong.
struct ServerReply {
    int status{200};
    std::string body{};
    std::vector<std::pair<std::string, std::string>> headers{{"Content-Type", "application/json"}};
    bool reset{false};                            // A TCP reset instead of (the rest of) an answer.
    bool hang{false};                             // No answer before release().
    std::optional<std::size_t> truncate_after{};  // Promises all of the body, sends so many bytes.
    std::chrono::milliseconds last_byte_delay{0};
    std::size_t drip_bytes{0};  // Sends the body in pieces of this size, with a pause between.
    std::chrono::milliseconds drip_pause{0};
};

// The format of an answer.
enum class Contract {
    ChatCompletions,
    Responses,
    CodexStream,
    Messages,
    ChatStream,
    MessagesStream
};
constexpr bool is_stream(Contract contract) {
    return contract == Contract::CodexStream || contract == Contract::ChatStream ||
           contract == Contract::MessagesStream;
}

// Good answers, with a usage of 10 tokens in and 5 out. `arguments` is the text of a JSON object;
// if it is not, the answer has it as the broken arguments that its contract can express.
ServerReply says(std::string_view text, Contract contract = Contract::ChatCompletions);
ServerReply calls(std::string_view tool, std::string_view arguments, std::string_view id = "call_a",
                  Contract contract = Contract::ChatCompletions);
// A Responses document with these items.
ServerReply responds(json::array output, std::string_view id = "resp_1");
// Server-sent events, each with the `event` line that its type asks for.
ServerReply streams(const std::vector<json::value>& events);
ServerReply status_reply(int status, std::string_view message = "scripted failure");
ServerReply error_reply(int status, std::string_view type, std::string_view code);
ServerReply rate_limited(std::optional<std::string> retry_after = std::nullopt);
ServerReply with_body(std::string body);  // 200 with these bytes, whatever they are.
ServerReply wrong_content_type();         // 200 with a web page.
ServerReply oversized(std::size_t bytes);
ServerReply resets();
ServerReply hangs();

// Listens on 127.0.0.1 with a thread for each connection. Every member may be called from the test
// thread while it runs; its destructor ends all connections.
class FakeModelServer {
public:
    FakeModelServer();
    ~FakeModelServer();
    FakeModelServer(const FakeModelServer&) = delete;
    FakeModelServer& operator=(const FakeModelServer&) = delete;

    // Answers the next request that has none yet, in order.
    void enqueue(ServerReply reply);
    // Answers every request beyond those; a 500 until it is set.
    void always(ServerReply reply);
    // Sends the answers that hang.
    void release();

    int port() const { return port_; }
    std::string base_url() const;
    std::vector<RecordedRequest> requests() const;
    std::size_t request_count() const;
    // True once `count` requests have come, false when they have not within `limit`.
    bool wait_for_requests(std::size_t count, std::chrono::milliseconds limit = kEventually) const;
    // How often a client went away while its answer was hanging.
    std::size_t disconnect_count() const;

private:
    void accept_all();
    void serve(base::Fd client, int connection);
    bool read_request(int client, std::string& buffer, RecordedRequest& request);
    bool answer(base::Fd& client, const ServerReply& reply);
    ServerReply next_reply();
    bool pause(std::chrono::milliseconds time);
    bool wait_for_release(int client);

    base::Fd listener_;
    base::Fd stop_;     // eventfd, readable once the server ends.
    base::Fd release_;  // eventfd, readable once released.
    int port_{0};
    mutable std::mutex mutex_;
    mutable std::condition_variable arrived_;
    std::deque<ServerReply> replies_;
    ServerReply otherwise_;
    std::vector<RecordedRequest> requests_;
    std::size_t disconnects_{0};
    std::vector<std::jthread> connections_;  // Touched by the accepting thread only.
    std::jthread acceptor_;
};

}  // namespace test_support
