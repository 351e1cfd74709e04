// A home whose agents did something long ago, for tests of its retention.
#pragma once

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "domain/events/turn.h"
#include "store/store.h"

namespace retention {

using std::chrono::days;

inline constexpr base::Time kToday{std::chrono::sys_days(std::chrono::year(2031) / 1 / 2)};

struct OldHome {
    std::filesystem::path folder;

    std::filesystem::path file(const std::string& agent, const std::string& rest) const {
        return folder / "agents" / agent / rest;
    }
    void put_file(const std::filesystem::path& path, base::Time written) const {
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << "bytes";
        std::filesystem::last_write_time(path, std::chrono::file_clock::from_sys(written));
    }
};

inline base::Status put_events(store::Tx& tx, const std::string& agent, int count, base::Time at) {
    for (int i = 0; i < count; ++i)
        TRY(tx.append_event({agent}, {.id = {"e"},
                                      .created_at = at,
                                      .kind = std::string(domain::events::TurnStarted::kKind)}));
    return {};
}

// A message that was handled, with its turn: one call that left an artifact, two entries, a prompt.
inline base::Status put_turn(store::Tx& tx, const std::string& agent, const std::string& id,
                             base::Time at,
                             domain::QueueStatus status = domain::QueueStatus::Processed) {
    TRY(tx.append_message({.id = {id}, .agent_id = {agent}, .created_at = at}, "key-" + id));
    domain::Attempt attempt{
        .run_id = {"run-" + id}, .agent_id = {agent}, .message_id = {id}, .opened_at = at};
    TRY(tx.open_attempt(attempt));
    TRY(tx.put_frame(attempt.run_id, json::object{{"system_prompt", std::string(500, 'p')}}));
    domain::ToolExecution execution{
        .call = {.call_id = {"call-" + id}, .run_id = attempt.run_id, .agent_id = {agent}}};
    execution.envelope = json::object{{"path", "/x/tool-artifacts/" + id + ".log"}};
    execution.receipt = std::string(2000, 'r') + id;
    TRY(tx.put_tool_execution(execution));
    for (const auto* entry : {"-1", "-2"})
        TRY(tx.append_transcript({.id = id + entry,
                                  .agent_id = {agent},
                                  .run_id = attempt.run_id,
                                  .created_at = at,
                                  .related_message_id = domain::MessageId{id},
                                  .data = json::object{{"text", *execution.receipt}}}));
    const bool is_open = status == domain::QueueStatus::Claimed;
    if (!is_open) attempt.state = domain::Closed{};
    TRY(tx.put_attempt(attempt));
    return tx.set_queue_status({id}, status, std::nullopt, at);
}

}  // namespace retention
