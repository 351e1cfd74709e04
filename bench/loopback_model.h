// A Chat Completions API on a loopback port that does next to nothing between a request and its
// answer, and notes when each of them passed.
#pragma once

#include <chrono>
#include <deque>
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
std::string calls(std::string_view tool, const std::string& arguments_json);
std::string says(std::string_view text);

// Serves one connection after the other; a client that opens two at once waits. Any thread may
// call it.
class LoopbackModel {
public:
    LoopbackModel();
    ~LoopbackModel();
    LoopbackModel(const LoopbackModel&) = delete;
    LoopbackModel& operator=(const LoopbackModel&) = delete;

    // Answers the next requests with these bodies; any beyond them gets a plain text answer.
    // Forgets the rounds so far.
    void script(std::deque<std::string> bodies);
    std::vector<Round> rounds() const;
    std::string base_url() const;

private:
    void accept_all();
    void serve(int client);
    std::string next_body();

    base::Fd listener_;
    int port_{0};
    mutable std::mutex mutex_;
    std::deque<std::string> bodies_;
    std::vector<Round> rounds_;
    std::jthread thread_;
};

}  // namespace bench
