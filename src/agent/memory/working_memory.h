// Working memory: derived without a model, from records, when a turn has ended. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "domain/memory.h"
#include "domain/message.h"
#include "domain/record.h"
#include "domain/tool.h"
#include "domain/waiting.h"

namespace memory {

inline constexpr std::size_t kFilesMax = 8;
inline constexpr std::size_t kFollowUpsMax = 6;
inline constexpr std::size_t kWaitsMax = 4;
inline constexpr std::size_t kResultsMax = 3;
inline constexpr std::size_t kCommandsMax = 4;
inline constexpr std::size_t kLineChars = 120;
inline constexpr std::size_t kDeltaFieldsMax = 12;
inline constexpr std::size_t kDeltaLinesMax = 6;
inline constexpr std::size_t kEpisodeListMax = 8;
inline constexpr std::size_t kEpisodeFilesMax = 10;
inline constexpr std::size_t kEpisodeSummaryChars = 800;
inline constexpr std::int64_t kEpisodeTurnsMax = 12;

// What the records say at the end of a turn.
struct Evidence {
    std::int64_t turn_index{0};
    std::int64_t message_count{0};  // Of all messages processed so far.
    base::Time now{};
    std::string workspace_id{};
    domain::MessageKind message_kind{domain::MessageKind::OperatorPrompt};
    bool was_waiting{false};  // Before the turn.
    // False: untrusted input asked for the turn. What it did is then no part of memory.
    bool is_trusted{true};
    std::optional<domain::WorkItem> item{};       // The focus, else the newest blocked item.
    std::vector<domain::WorkItem> other_items{};  // Open ones, most recently changed first.
    std::vector<domain::ToolExecution> calls{};   // Of the turn, oldest first.
    std::vector<domain::Brief> briefs{};          // Trusted results, newest first.
    std::vector<domain::Wait> waits{};            // Open ones.
    bool has_completed_item{false};               // In this turn.
    bool is_waiting{false};                       // For anything but the operator's next prompt.
};

struct Settled {
    domain::WorkingMemory memory;
    std::optional<domain::WorkingMemoryDelta> delta{};  // Set when the snapshot has changed.
    domain::TurnMemoryDelta turn{};
    std::optional<domain::ContextEpisode> episode{};  // Set when one has ended.
};

// The snapshot alone: the same evidence gives the same bytes.
domain::WorkingMemorySnapshot derive(const domain::WorkingMemorySnapshot& before,
                                     const Evidence& evidence);

// The memory after the turn. `fresh_id` names the episode that begins, if one does.
Settled settle(const domain::WorkingMemory& before, const Evidence& evidence,
               const std::string& fresh_id);

bool is_empty(const domain::WorkingMemorySnapshot& snapshot);

// The sections of the prompt; empty where there is nothing to say.
std::string memory_text(const domain::WorkingMemorySnapshot& snapshot);
std::string delta_text(const domain::WorkingMemory& memory);

// A prompt has shown the memory: what it showed is not shown again.
domain::WorkingMemory prompted(domain::WorkingMemory memory);

}  // namespace memory
