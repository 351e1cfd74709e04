// One walk over all agents that removes what is old enough, in small steps.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "flow/retention/decide.h"
#include "flow/retention/files.h"
#include "store/store.h"

namespace retention {

// Rows that one transaction removes, about; others wait for no more than that.
inline constexpr std::int64_t kRowsPerStep = 500;
// Agents without anything to remove that one step passes over.
inline constexpr int kAgentsPerStep = 64;
inline constexpr int kFoldersPerStep = 16;

// The agents of `holon run` without --agent.
inline constexpr std::string_view kTemporaryPrefix = "tmp_";

// One thread at a time uses it. Everything it holds may be lost at any time: another pass finds
// what is left.
class Pass {
public:
    // With `dry_run` nothing is changed and everything is counted.
    Pass(store::Store& store, std::filesystem::path agents_folder, Cut cut, bool dry_run);

    // Does a bounded part: at most one transaction, then the files that it left without a name.
    // False when the walk is over. Fails as the store does, and may be called again. Blocks.
    base::Result<bool> step();

    const store::Removed& removed() const { return removed_; }

private:
    struct Found;

    base::Result<bool> next_agent();
    base::Result<Found> find(store::Tx& tx) const;
    base::Status remove(const Found& found);
    base::Result<bool> remove_agent();
    base::Status sweep_folders();
    base::Result<bool> step_rows();
    void count(store::Stream stream, std::int64_t rows);
    void count(const FileCount& files);
    std::filesystem::path home_of(const domain::AgentId& agent) const;

    store::Store& store_;
    const std::filesystem::path agents_folder_;
    const Cut cut_;
    const bool dry_run_;
    store::Removed removed_{};

    // Where the walk is.
    domain::AgentId agent_{};
    bool is_abandoned_{false};  // The agent is temporary and goes with all its rows.
    std::size_t stream_{0};
    std::int64_t after_seq_{0};
    bool rows_are_done_{false};
    std::vector<std::string> folders_{};  // Still to be swept; last one first.
    bool folders_are_listed_{false};
};

}  // namespace retention
