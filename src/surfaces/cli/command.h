// The command line, parsed.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <variant>

#include "service/gate.h"
#include "service/service.h"
#include "service/settings.h"

namespace cli {

// One table for the whole program; `holon help` prints it.
enum class Exit : int {
    Success = 0,
    Error = 1,  // The command could not be carried out.
    Usage = 2,
    Failed = 3,            // run: the turn failed. gate check: the document is rejected.
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

struct AgentModelGetCommand {
    std::optional<std::string> agent{};
    bool json{false};
};
struct AgentModelSetCommand {
    std::string model;
    std::optional<std::string> agent{};
    bool json{false};
};
struct AgentModelClearCommand {
    std::optional<std::string> agent{};
    bool json{false};
};

// What needs the store of agents.
using Command = std::variant<RunCommand, StatusCommand, TranscriptCommand, TailCommand,
                             EventsCommand, AgentListCommand, AgentModelGetCommand,
                             AgentModelSetCommand, AgentModelClearCommand>;

struct SettingGetCommand {
    std::string key;
};
struct SettingSetCommand {
    std::string key;
    std::string value;
};
struct SettingUnsetCommand {
    std::string key;
};
struct SettingListCommand {};
struct SettingSchemaCommand {};
struct ModelsCommand {};
struct ProviderSetCommand {
    service::ProviderChange change;
};
struct ProviderGetCommand {
    std::string id;
};
struct ProviderListCommand {};
struct ProviderRemoveCommand {
    std::string id;
};
struct ProviderDoctorCommand {
    std::string id;
    bool probe{false};
};
struct CredentialSetCommand {
    std::string profile;
    std::string kind;
    bool from_stdin{false};
    std::optional<std::string> material{};
};
struct CredentialListCommand {};
struct CredentialRemoveCommand {
    std::string profile;
};
struct DoctorCommand {
    bool probe{false};
};

// What needs the configuration only.
struct SettingsCommand {
    bool json{false};
    std::variant<SettingGetCommand, SettingSetCommand, SettingUnsetCommand, SettingListCommand,
                 SettingSchemaCommand, ModelsCommand, ProviderSetCommand, ProviderGetCommand,
                 ProviderListCommand, ProviderRemoveCommand, ProviderDoctorCommand,
                 CredentialSetCommand, CredentialListCommand, CredentialRemoveCommand,
                 DoctorCommand>
        action{};
};

struct GateCheckCommand {
    std::string file;
};
struct GateListCommand {
    std::optional<domain::GatePlace> place{};
    std::int64_t limit{50};
};
struct GateShowCommand {
    std::string document_id;
};
struct GateReleaseCommand {
    std::string document_id;
    std::string reason;
};
struct GatePurgeCommand {
    service::PurgeRequest request;
};

// What needs the store and the folders of the gate.
struct GateCommand {
    bool json{false};
    std::variant<GateCheckCommand, GateListCommand, GateShowCommand, GateReleaseCommand,
                 GatePurgeCommand>
        action{};
};

struct Invocation {
    std::optional<std::string> home{};
    std::variant<Command, SettingsCommand, GateCommand> command{};
};

// Nothing to do but to print `text` and to end: help, version, or a usage error.
struct Stop {
    std::string text;
    Exit exit{Exit::Success};
};

std::expected<Invocation, Stop> parse(int argc, const char* const* argv);

}  // namespace cli
