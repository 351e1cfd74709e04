#include "service/remote/held_run.h"

#include <future>
#include <thread>

#include "provider/http/sse.h"
#include "service/remote/transfer.h"

namespace service {
namespace {

constexpr std::string_view kNoSuchRoute = "not_found";
constexpr int kPollMs = 60'000;  // Nothing depends on it: a stop wakes the poll.

base::Error lost(const std::string& why, const std::string& agent) {
    return {
        base::ErrorCode::Unavailable,
        fmt::format("the daemon ended before the run was over ({}). The prompt is kept, and the "
                    "next daemon resumes it: holon daemon start, then: holon tail -f --agent {}",
                    why, agent)};
}

// One connection, on a thread of its own.
class Connection {
public:
    Connection(Address address, const RunRequest& request, RunEnded ended)
        : address_(std::move(address)),
          request_{.method = Method::Post,
                   .path = "/control/runs/stream",
                   .body = base::json_text(base::to_json(request))},
          ended_(std::move(ended)),
          multi_(curl_multi_init()),
          thread_([this](const std::stop_token& stop) { run(stop); }) {}

    ~Connection() {
        thread_.request_stop();
        if (multi_) curl_multi_wakeup(multi_);
        thread_.join();
        if (multi_) curl_multi_cleanup(multi_);
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    base::Result<RunStarted> wait_for_start() { return answer_.get_future().get(); }

private:
    void run(const std::stop_token& stop) {
        base::Error error{base::ErrorCode::Unavailable, "no daemon answers",
                          std::string(kUnreachable)};
        for (const bool over_socket : {true, false}) {
            if (over_socket ? !address_.socket : address_.url.empty()) continue;
            error = stream(over_socket, stop);
            if (error.kind != kUnreachable) break;
        }
        if (!agent_) return answer_.set_value(std::unexpected(std::move(error)));
        if (!has_ended_ && !stop.stop_requested())
            ended_(std::unexpected(lost(error.message, *agent_)));
    }

    // Until the stream ends; returns why.
    base::Error stream(bool over_socket, const std::stop_token& stop) {
        provider::SseReader reader;
        const Transfer transfer(address_, request_, over_socket, [&](std::string_view chunk) {
            reader.add(chunk, [&](std::string_view data) { receive(data); });
            return true;
        });
        if (!multi_ || !transfer.is_ready())
            return {base::ErrorCode::Internal, "the HTTP client could not be set up"};
        curl_multi_add_handle(multi_, transfer.handle());
        const CURLcode code = drive(stop);
        curl_multi_remove_handle(multi_, transfer.handle());
        if (is_unreached(code))
            return {base::ErrorCode::Unavailable,
                    fmt::format("no daemon answers ({}); see holon daemon status",
                                transfer.failure_text(code)),
                    std::string(kUnreachable)};
        if (transfer.status() >= 300) {
            auto error = answer_error(transfer.status(), transfer.body(), transfer.sends_token());
            if (error.kind == kNoSuchRoute)
                error = {base::ErrorCode::Unavailable,
                         "the daemon is of an older version and cannot execute this run; replace "
                         "it with: holon daemon restart"};
            return error;
        }
        return {base::ErrorCode::Unavailable,
                code == CURLE_OK ? "it closed the connection" : transfer.failure_text(code)};
    }

    CURLcode drive(const std::stop_token& stop) {
        int running = 1;
        while (running > 0 && !stop.stop_requested()) {
            curl_multi_perform(multi_, &running);
            if (running > 0 && !stop.stop_requested())
                curl_multi_poll(multi_, nullptr, 0, kPollMs, nullptr);
        }
        int left = 0;
        const CURLMsg* message = curl_multi_info_read(multi_, &left);
        return message && message->msg == CURLMSG_DONE ? message->data.result : CURLE_OK;
    }

    // The first frame has the run, the second one says that it is over.
    void receive(std::string_view data) {
        const auto frame = base::parse_json(data);
        if (!frame || has_ended_) return;
        if (!agent_) {
            auto started = base::from_json<RunStarted>(*frame);
            if (!started) return;
            agent_ = started->agent_id;
            return answer_.set_value(std::move(*started));
        }
        has_ended_ = true;
        const std::string error = base::string_at(*frame, "error");
        if (error.empty()) return ended_({});
        ended_(std::unexpected(base::Error{base::ErrorCode::Internal, error}));
    }

    const Address address_;
    const Request request_;
    const RunEnded ended_;
    CURLM* multi_;
    std::promise<base::Result<RunStarted>> answer_;
    std::optional<std::string> agent_;  // Of the run, once it has started.
    bool has_ended_{false};
    std::jthread thread_;  // Last: it uses all of the above.
};

}  // namespace

base::Result<RunHold> hold_run(const Address& address, const RunRequest& request, RunEnded ended) {
    auto connection = std::make_shared<Connection>(address, request, std::move(ended));
    auto started = TRY(connection->wait_for_start());
    return RunHold{.started = std::move(started), .lease = std::move(connection)};
}

}  // namespace service
