// The episodes of an agent as a file of JSON lines, for people and other tools. It is written from
// committed records and never read back as truth.
#pragma once

#include <filesystem>

#include "store/store.h"

namespace memory {

inline constexpr std::string_view kLedgerFile = ".holon/ledger/context_episodes.jsonl";
// So many episodes are added at a time.
inline constexpr std::int64_t kLedgerPage = 64;

// Adds the episodes that the file does not have yet, each as one line; lines that are there stay
// as they are. A last line that a crash cut off is removed first. Without the folder nothing is
// written. Blocks on store and file system; one thread at a time for an agent.
base::Status write_ledger(store::Store& store, const domain::AgentId& agent,
                          const std::filesystem::path& home);

}  // namespace memory
