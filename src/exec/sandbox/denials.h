// What the boundary kept a command from, as far as it can be seen from outside: for the audit.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"

namespace sandbox {

// Different ones of one command that are told apart; the last one counts the rest.
inline constexpr std::size_t kDenialsMax = 16;

enum class Rule {
    Unavailable,      // The command was not run: it could not have been kept in.
    ExecutionPolicy,  // The command was not run: see permit.h.
    Network,          // A destination that the allow-list does not have.
    CpuLimit,         // The command ended as one does that is over this limit.
    FileSizeLimit,
    SystemCall  // The command ended as one does that makes a forbidden system call.
};
BOOST_DESCRIBE_ENUM(Rule, Unavailable, ExecutionPolicy, Network, CpuLimit, FileSizeLimit,
                    SystemCall)

struct Denial {
    Rule rule{Rule::Network};
    std::string what;       // "example.com:443", "a command"; bounded and safe to show.
    std::int64_t count{1};  // How often.
    friend bool operator==(const Denial&, const Denial&) = default;
};
BOOST_DESCRIBE_STRUCT(Denial, (), (rule, what, count))

// Destinations of the log that were refused, each once, in the order in which they were first asked
// for. A log that is not there has none.
std::vector<Denial> refused_destinations(const std::filesystem::path& network_log);

// What the way a confined command ended says. A shell that reports the signal of a command as 128
// and more counts, too.
std::vector<Denial> denials_of_end(std::optional<std::int64_t> exit_code,
                                   std::optional<std::int64_t> signal);

// Both of a confined command that is over.
std::vector<Denial> denials_of(const std::filesystem::path& network_log,
                               std::optional<std::int64_t> exit_code,
                               std::optional<std::int64_t> signal);

}  // namespace sandbox
