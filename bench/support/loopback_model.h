// A Chat Completions API on a loopback port that does next to nothing between a request and its
// answer, and notes when each of them passed.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/os/files.h"

namespace bench {

using Steady = std::chrono::steady_clock;

struct Round {
    Steady::time_point asked;     // The last byte of the request has arrived.
    Steady::time_point answered;  // The first byte of the answer is about to leave.
    std::size_t request_bytes{0};
};

// Bodies of answers.
std::string calls(std::string_view tool, const std::string& arguments_json, int times = 1);
std::string says(std::string_view text);

// Serves any number of connections at once. Any thread may call it; a client closes its
// connections before this is gone.
class LoopbackModel {
public:
    LoopbackModel();
    ~LoopbackModel();
    LoopbackModel(const LoopbackModel&) = delete;
    LoopbackModel& operator=(const LoopbackModel&) = delete;

    // Answers the next requests with these bodies; any beyond them gets a plain text answer.
    // Forgets the rounds so far.
    void script(std::deque<std::string> bodies);
    // Answers each request with what `answer` makes of its body, on the thread of its connection.
    using Answer = std::function<std::string(std::string_view body)>;
    void answer_with(Answer answer);
    std::vector<Round> rounds() const;
    std::string base_url() const;

private:
    void accept_all();
    void serve(int client);
    std::string next_body(std::string_view request);

    base::Fd listener_;
    int port_{0};
    mutable std::mutex mutex_;
    std::deque<std::string> bodies_;
    std::vector<Round> rounds_;
    Answer answer_;
    std::vector<std::jthread> connections_;  // Of thread_ alone.
    std::jthread thread_;
};

}  // namespace bench
