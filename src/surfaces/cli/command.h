// The command line, parsed.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <variant>

#include "service/service.h"

namespace cli {

// One table for the whole program; `holon help` prints it.
enum class Exit : int {
    Success = 0,
    Error = 1,  // The command could not be carried out.
    Usage = 2,
    Failed = 3,            // run: the turn failed.
    MaxTurnsExceeded = 4,  // run: the round limit ended it.
    Waiting = 5,           // run: it waits for something and is not done.
    Interrupted = 130,
};

struct RunCommand {
    service::RunRequest request;
    bool json{false};
};
struct StatusCommand {
    std::optional<std::string> agent{};
    bool json{false};
};
struct TranscriptCommand {
    std::optional<std::string> agent{};
    std::int64_t limit{50};
    bool json{false};
};
struct TailCommand {
    std::optional<std::string> agent{};
    std::int64_t limit{20};
    bool json{false};
};
struct EventsCommand {
    std::optional<std::string> agent{};
    std::int64_t after_seq{0};
    std::int64_t limit{128};
};
struct AgentListCommand {
    bool json{false};
};

struct Command {
    std::optional<std::string> home{};
    std::variant<RunCommand, StatusCommand, TranscriptCommand, TailCommand, EventsCommand,
                 AgentListCommand>
        action{};
};

// Nothing to do but to print `text` and to end: help, version, or a usage error.
struct Stop {
    std::string text;
    Exit exit{Exit::Success};
};

std::expected<Command, Stop> parse(int argc, const char* const* argv);

}  // namespace cli
