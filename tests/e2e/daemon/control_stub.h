// Something at a control socket that is not our runtime: gives the configured answers and records
// what it was asked.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/os/files.h"

namespace e2e {

class ControlStub {
public:
    // Gets "GET /path"; nothing: it hangs up without an answer.
    using Answer = std::function<std::optional<std::string>(const std::string& request)>;

    ControlStub(const std::filesystem::path& socket, Answer answer);
    ~ControlStub();
    std::vector<std::string> requests();

private:
    void serve();

    base::Fd fd_;
    Answer answer_;
    std::mutex mutex_;
    std::vector<std::string> requests_;
    std::jthread thread_;
};

}  // namespace e2e
