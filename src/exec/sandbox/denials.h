// What the boundary denied a command, as far as the runtime can observe it: for the audit.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"

namespace sandbox {

// At most this many denials of one command are listed; the last one counts all further ones.
inline constexpr std::size_t kDenialsMax = 16;

enum class Rule {
    Unavailable,      // The command was not run: it could not be confined.
    ExecutionPolicy,  // The command was not run: see permit.h.
    Network,          // A destination that the allow-list does not have.
    CpuLimit,         // The exit status is that of a command over this limit.
    FileSizeLimit,
    SystemCall  // The exit status is that of a forbidden system call.
};
BOOST_DESCRIBE_ENUM(Rule, Unavailable, ExecutionPolicy, Network, CpuLimit, FileSizeLimit,
                    SystemCall)

// One denied action of a command.
struct Denial {
    Rule rule{Rule::Network};
    std::string what;       // "example.com:443", "a command"; bounded and safe to show.
    std::int64_t count{1};  // How often.
    friend bool operator==(const Denial&, const Denial&) = default;
};
BOOST_DESCRIBE_STRUCT(Denial, (), (rule, what, count))

// The refused destinations of the proxy's log, each once, in the order of their first request.
// Empty for a missing log. Blocks on the file system; any thread.
std::vector<Denial> refused_destinations(const std::filesystem::path& network_log);

// The denial that the exit status of a confined command shows, if any. A shell that reports the
// signal of its command as 128 plus the signal counts, too. Pure.
std::vector<Denial> denials_of_end(std::optional<std::int64_t> exit_code,
                                   std::optional<std::int64_t> signal);

// Both of the above, for a confined command that has ended.
std::vector<Denial> denials_of(const std::filesystem::path& network_log,
                               std::optional<std::int64_t> exit_code,
                               std::optional<std::int64_t> signal);

}  // namespace sandbox
