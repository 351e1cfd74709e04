#include "service/remote/watch.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "provider/http/sse.h"
#include "service/remote/transfer.h"

namespace service {
namespace {

constexpr int kPollMs = 60'000;  // Nothing depends on it: a stop wakes the poll.

class Follower {
public:
    Follower(Address address, Followed followed, WatchCalls calls)
        : address_(std::move(address)),
          client_(address_),
          followed_(std::move(followed)),
          calls_(std::move(calls)),
          multi_(curl_multi_init()),
          thread_([this](const std::stop_token& stop) { run(stop); }) {}

    ~Follower() {
        thread_.request_stop();
        if (multi_) curl_multi_wakeup(multi_);
        thread_.join();
        if (multi_) curl_multi_cleanup(multi_);
    }
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

private:
    void run(const std::stop_token& stop) {
        auto wait = kReconnectFirst;
        bool is_lost = false;
        while (!stop.stop_requested()) {
            connected_ = false;
            has_ended_ = false;
            is_over_ = false;
            const auto ended = stream(stop);
            if (stop.stop_requested()) return;
            if (has_ended_) calls_.changed(newest_);
            if (is_over_) return;
            if (connected_) wait = kReconnectFirst;
            if (!has_ended_ && (connected_ || !is_lost) && calls_.lost) calls_.lost(ended);
            is_lost = !has_ended_;
            std::unique_lock lock(mutex_);
            woken_.wait_for(lock, stop, wait, [] { return false; });
            wait = next_reconnect(wait);
        }
    }

    // Until the stream ends; returns why.
    base::Error stream(const std::stop_token& stop) {
        base::Error error = stream_over(true, stop);
        if (!address_.url.empty() && (!address_.socket || error.kind == kUnreachable))
            error = stream_over(false, stop);
        return error;
    }

    base::Error stream_over(bool over_socket, const std::stop_token& stop) {
        base::Error unreached{base::ErrorCode::Unavailable, "no daemon answers",
                              std::string(kUnreachable)};
        if (over_socket && !address_.socket) return unreached;
        const Request request{.path = followed_.stream_path()};
        provider::SseReader reader;
        const Transfer transfer(address_, request, over_socket, [&](std::string_view chunk) {
            reader.add(chunk, [&](std::string_view data) { report(data); });
            return true;
        });
        if (!multi_ || !transfer.is_ready())
            return {base::ErrorCode::Internal, "the HTTP client could not be set up"};
        curl_multi_add_handle(multi_, transfer.handle());
        const CURLcode code = drive(transfer, stop);
        curl_multi_remove_handle(multi_, transfer.handle());
        if (is_unreached(code)) return unreached;
        const long status = transfer.status();
        is_over_ = followed_.ends && code == CURLE_OK && status == 204;
        has_ended_ = followed_.ends && code == CURLE_OK && status < 300;
        if (status >= 300) return answer_error(status, transfer.body(), transfer.sends_token());
        return {base::ErrorCode::Unavailable,
                code == CURLE_OK ? "the daemon ended the event stream"
                                 : "the event stream broke: " + transfer.failure_text(code)};
    }

    CURLcode drive(const Transfer& transfer, const std::stop_token& stop) {
        int running = 1;
        while (running > 0 && !stop.stop_requested()) {
            curl_multi_perform(multi_, &running);
            catch_up(transfer);
            if (running > 0) curl_multi_poll(multi_, nullptr, 0, kPollMs, nullptr);
        }
        int left = 0;
        const CURLMsg* message = curl_multi_info_read(multi_, &left);
        return message && message->msg == CURLMSG_DONE ? message->data.result : CURLE_OK;
    }

    // Once the stream is open: what came before it is not part of it.
    void catch_up(const Transfer& transfer) {
        if (connected_ || transfer.status() != 200) return;
        connected_ = true;
        if (calls_.connected) calls_.connected();
        const std::int64_t newest = followed_.newest ? followed_.newest(client_) : 0;
        if (newest > 0) calls_.changed(newest);
    }

    void report(std::string_view data) {
        const auto event = base::parse_json(data);
        if (!event) return;
        // A delta is no event and has no number.
        if (calls_.delta && !base::find(*event, followed_.seq_member)) {
            if (const auto delta = base::from_json<Delta>(*event)) calls_.delta(*delta);
            return;
        }
        newest_ = base::int_at(*event, followed_.seq_member);
        calls_.changed(newest_);
    }

    const Address address_;
    const Client client_;
    const Followed followed_;
    const WatchCalls calls_;
    CURLM* multi_;
    bool connected_{false};
    bool has_ended_{false};  // The last connection ended as streams that end do.
    bool is_over_{false};
    std::int64_t newest_{0};
    std::mutex mutex_;
    std::condition_variable_any woken_;
    std::jthread thread_;  // Last: it uses all of the above.
};

}  // namespace

std::shared_ptr<void> follow(const Address& address, Followed followed, WatchCalls calls) {
    return std::make_shared<Follower>(address, std::move(followed), std::move(calls));
}

std::shared_ptr<void> follow(const Address& address, const std::string& agent, WatchCalls calls) {
    const std::string path = "/agents/" + base::percent_encoded(agent);
    std::string stream = path + (calls.delta ? "/events/stream?deltas=true" : "/events/stream");
    return follow(address,
                  Followed{.stream_path = [stream] { return stream; },
                           .seq_member = "event_seq",
                           .newest =
                               [path](const Client& client) {
                                   const auto page = client.get(path + "/events?limit=1");
                                   return page ? base::int_at(*page, "newest_seq") : 0;
                               }},
                  std::move(calls));
}

std::chrono::milliseconds next_reconnect(std::chrono::milliseconds former) {
    return std::min(former * 2, kReconnectMax);
}

}  // namespace service
