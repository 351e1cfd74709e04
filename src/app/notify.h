// Reports the state of the program to a service manager (the sd_notify protocol).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"

namespace app {

// Silent when no notification was requested.
class Notify {
public:
    // Reads NOTIFY_SOCKET and WATCHDOG_USEC.
    explicit Notify(const config::Environment& environment);

    // For instance "READY=1\nSTATUS=…".
    void send(std::string_view state) const;
    // How often to send "WATCHDOG=1": half of what the manager waits for.
    std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

private:
    std::string socket_;
    std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace app
