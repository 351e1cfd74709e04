// Takes back the patches that an agent made last.
//
// What is to be undone is written to a file of the runtime's before any file of the workspace
// changes, and that file goes when the record says that they did. A process that is killed in
// between leaves it, and the next one finishes the undo: each file is either as the patch left it
// or back already.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>

#include "exec/tools/patch/undo.h"
#include "flow/turn/runner.h"
#include "service/local/agents/transactions.h"
#include "service/service.h"

namespace service {

inline constexpr std::int64_t kUndoPatchesMax = 100;
// How far back in the transcript a patch is looked for.
inline constexpr std::int64_t kUndoEntriesMax = 10'000;
inline constexpr std::size_t kUndonePathsNamed = 50;

class LocalUndo {
public:
    struct Parts {
        Transactions& transactions;
        const turn::Parts& turn;            // Ids, the clock, and where agents live.
        const std::filesystem::path& home;  // Of the runtime.
        // Sends a message to an agent that has begun a turn meanwhile.
        std::function<base::Result<std::string>(const std::string& agent, const std::string& text,
                                                const Caller& caller)>
            prompt;
    };
    explicit LocalUndo(Parts parts) : parts_(std::move(parts)) {}

    // As service.h promises. Blocks; any thread but the loop's.
    base::Result<Undone> undo(const std::string& agent, const UndoRequest& request,
                              const Caller& caller);
    // Finishes what killed processes have begun. Blocks; before agents run.
    void finish_all();

private:
    // The patches to undo, newest first, of one turn and one root.
    struct Found {
        domain::RunId run_id;
        std::optional<domain::MessageId> message_id{};
        std::vector<domain::ToolExecution> calls{};
        std::vector<patch::Undo> undos{};
    };
    // What the file says.
    struct Intent;

    base::Result<Found> find(store::Tx& tx, const domain::AgentId& agent,
                             const UndoRequest& request) const;
    base::Result<std::vector<std::string>> take_back(const domain::AgentId& agent,
                                                     const Found& found, bool dry_run) const;
    base::Status record(const domain::AgentId& agent, const Found& found,
                        const std::vector<std::string>& paths, const Caller& caller);
    base::Status finish(const std::filesystem::path& file);

    Parts parts_;
    std::mutex mutex_;  // One undo at a time.
};

}  // namespace service
