// What the proxy of an allow-list wrote down: the one reader of its log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sandbox {

struct Reached {
    std::string destination;  // "example.com:443"; bounded and safe to show.
    std::string outcome;      // As the proxy says it: connected, refused, private_address, …
    std::int64_t count{1};    // How often it was asked for with this outcome.
    bool is_connected() const { return outcome == "connected"; }
    bool is_forbidden() const { return outcome == "refused" || outcome == "private_address"; }
    friend bool operator==(const Reached&, const Reached&) = default;
};

// Each destination once for each outcome, in the order in which they were first asked for. Lines
// that are no entries are passed over. A log that is not there has none, as has one larger than the
// proxy writes.
std::vector<Reached> read_network_log(const std::filesystem::path& log);

}  // namespace sandbox
