// Reads the log that the proxy of an allow-list writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sandbox {

struct Reached {
    std::string destination;  // "example.com:443"; bounded and safe to show.
    std::string outcome;      // As the proxy reports it: connected, refused, private_address, …
    std::int64_t count{1};    // Requests with this outcome.
    bool is_connected() const { return outcome == "connected"; }
    bool is_forbidden() const { return outcome == "refused" || outcome == "private_address"; }
    friend bool operator==(const Reached&, const Reached&) = default;
};

// Gives each destination once for each outcome, in the order of the first requests. Skips invalid
// lines. Empty for a missing log, and for one larger than the proxy ever writes. Blocks on the file
// system.
std::vector<Reached> read_network_log(const std::filesystem::path& log);

}  // namespace sandbox
