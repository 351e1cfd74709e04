// Owns the commands that run in the background of turns, for a call or as tasks of their own, and
// the records of all tasks.
//
// A command belongs to a call at first. When the call's patience is over, it is promoted: the same
// process continues as a task, with a record, and its result comes back as a message. All of it
// runs under supervision (supervisor/), so that a new process of ours finds it again. Tasks of
// other kinds run behind an Executor.
//
// The facts are in the store and with the supervisor; a Host that dies is replaced by another that
// recovers. Used on the loop's thread only.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/os/loop.h"
#include "exec/tasks/decide.h"
#include "exec/tasks/executor.h"
#include "exec/tasks/supervisor/supervisor.h"
#include "record/events/committer.h"
#include "store/store.h"

namespace tasks {

// Command tasks that one agent may have at the same time.
inline constexpr std::size_t kCommandTasksPerAgentMax = 32;
// Between SIGTERM and SIGKILL: for a task that is stopped, and for a call that is cancelled.
inline constexpr std::chrono::milliseconds kStopGrace{5000};
inline constexpr std::chrono::milliseconds kCancelGrace{500};
// Before the record of an ended task is loaded again, when the store could not be read.
inline constexpr std::chrono::seconds kSettleRetry{1};
// The output of a command may take one in so many of the bytes that are free when it starts: it is
// copied from its log to an artifact, a gate has copies of its own, and others need the disk, too.
inline constexpr std::uint64_t kFreeDiskShare = 4;

// Puts a task's result before its agent, in the transaction that ends the task.
using Rejoin = std::function<base::Status(events::Log&, domain::Message)>;

struct Parts {
    store::Store& store;
    base::Loop& loop;
    base::Clock& clock;
    base::Ids& ids;
    events::Feed& feed;
    supervisor::Supervisor& supervisor;
    Rejoin rejoin;
    // What the agent may start. Its tasks pass sandbox::permit with it.
    std::function<domain::Execution(const domain::AgentId&)> execution_of =
        [](const domain::AgentId&) { return domain::Execution{}; };
    OutputGate* gate{nullptr};  // None: output is shown as it is.
    // Of one command, and never more than a share of the free disk; see kFreeDiskShare.
    std::uint64_t output_bytes_max{supervisor::kLogBytesMax};
};

// A command to run. Its id names it for good: the call that asked for it has the same one, and so
// has the task it may become, so that after a crash neither is started twice.
struct CommandRequest {
    domain::TaskId id;
    domain::AgentId agent_id;
    std::optional<domain::RunId> run_id{};  // The turn that asked for it.
    // Of those who asked for it; its result acts on no better word.
    domain::AuthorityClass authority_class{domain::AuthorityClass::OperatorInstruction};
    std::string summary;
    CommandTaskSpec spec{};
    std::vector<std::string> argv;
    std::filesystem::path workdir;
    std::vector<std::pair<std::string, std::string>> environment;
    std::filesystem::path output_path;
    bool confined{false};                 // It runs behind a boundary that keeps something.
    std::filesystem::path network_log{};  // See builtin::CommandOutput.
};

struct StopReceipt {
    domain::Task task;
    bool force_stop_requested{false};
};
struct InputReceipt {
    domain::Task task;
    std::optional<std::int64_t> bytes_written{};  // Absent: refused.
    std::string refusal{};
};

class Host {
public:
    explicit Host(Parts parts);
    // Commands continue. Their ends are not reported any more.
    ~Host();
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    // Resumes every task that these agents left open: its command is watched again, or the task
    // ends with what can still be said about it. Call it before their turns are resumed.
    void recover(const std::vector<domain::AgentId>& agents);

    // Commands of calls --------------------------------------------------------------------------
    // Starts a command for a call, or reattaches to it when an earlier process has started it.
    // `on_end` comes once, unless the command is promoted first. Fails when it cannot be started at
    // all.
    base::Status start(CommandRequest request, supervisor::OnEnd on_end);
    // Was the command of this call started, so that start() would reattach to it, or it is a task?
    bool knows(const domain::TaskId& id) const;
    // Makes a task of a command that still runs. `done` gets its record, as committed. When that
    // fails, the command stays with its call; Refused: the execution policy has no tasks.
    void promote(const domain::TaskId& id,
                 std::move_only_function<void(base::Result<domain::Task>)> done);
    // Ends a command that is still its call's; the end arrives as usual.
    void cancel(const domain::TaskId& id);
    // The output of a call's command that has ended.
    void collect(const domain::TaskId& id, const std::filesystem::path& log,
                 const supervisor::Ended& ended, supervisor::Capture capture,
                 std::move_only_function<void(base::Result<supervisor::Captured>)> done);

    // Tasks --------------------------------------------------------------------------------------
    // NotFound for a task that is not this agent's.
    base::Result<domain::Task> find(const domain::AgentId& agent, const domain::TaskId& id) const;
    // Queued, running and cancelling ones, last changed first.
    base::Result<std::vector<domain::Task>> active(const domain::AgentId& agent) const;

    // Starts a command as a task from its first moment. Refused when the agent has too many.
    void create(CommandRequest request,
                std::move_only_function<void(base::Result<domain::Task>)> done);

    // Asks for the end of a task: the whole tree, softly, and by force after kStopGrace or when
    // asked again. The end arrives as every other. Conflict when it is over already.
    void stop(const domain::AgentId& agent, const domain::TaskId& id,
              std::move_only_function<void(base::Result<StopReceipt>)> done);

    // Gives the command something to read.
    void input(const domain::AgentId& agent, const domain::TaskId& id, std::string text,
               std::move_only_function<void(base::Result<InputReceipt>)> done);

    // Calls `on_end` when the task's end is committed, unless the token is dropped first. The token
    // is null when it is over already, and nothing is called then.
    [[nodiscard]] std::shared_ptr<void> await_end(const domain::TaskId& id,
                                                  std::function<void()> on_end);

    // Other kinds of tasks -----------------------------------------------------------------------
    // Adds what runs behind tasks of another kind; before the first task of it is resumed or
    // stopped. It outlives the Host.
    void add(Executor& executor);
    // The end of a task of another kind is committed.
    void has_ended(const domain::AgentId& agent, const domain::TaskId& id) {
        settled(agent, id, true);
    }

    // Set once, before the loop runs, by the owner of the scheduler; cleared when that one goes.
    struct Listener {
        // A result is committed and waits in the agent's queue.
        std::function<void(const domain::AgentId&)> on_result{};
        // A commit failed for good: the task stays as it is for the next process.
        std::function<void(const domain::AgentId&, const base::Error&)> on_stuck{};
    };
    void set_listener(Listener listener) { listener_ = std::move(listener); }

private:
    struct Live;
    class Commands;

    Executor* executor_of(domain::TaskKind kind) const;
    void report_stuck(const domain::AgentId& agent, const base::Error& error) const;
    // Why this agent may have no further task, or nothing.
    std::optional<base::Error> refusal(const domain::AgentId& agent) const;
    void reattach(const domain::Task& task);
    void stop_command(const domain::Task& task, bool force);
    std::uint64_t output_bytes_max(const std::filesystem::path& folder) const;
    supervisor::OnEnd ending_of(const domain::TaskId& id);
    void ended(const domain::TaskId& id, supervisor::End end);
    void forget_finished(const domain::AgentId& agent);
    // Is the result of the call that this command belongs to in the store?
    bool is_recorded(const domain::TaskId& id) const;
    void sweep(const std::vector<domain::AgentId>& agents);
    // Is what this agent's tasks print kept back until it has passed the gate?
    bool withholds(const domain::AgentId& agent) const;
    void withhold(domain::Task task);
    void settle(const domain::AgentId& agent, const domain::TaskId& id, const supervisor::End& end);
    void commit(const domain::Task& task, const supervisor::End& end,
                std::optional<OutputAnswer> answer);
    void settled(const domain::AgentId& agent, const domain::TaskId& id, bool has_ended);
    Parts parts_;
    std::map<domain::TaskId, std::shared_ptr<Live>> live_;
    std::map<domain::TaskId, std::vector<std::weak_ptr<std::function<void()>>>> waiting_;
    // Calls' commands that are over, kept until their results are surely recorded.
    struct Finished {
        domain::TaskId id;
        std::filesystem::path log;
        std::filesystem::path network_log;
    };
    std::map<domain::AgentId, std::vector<Finished>> finished_;
    std::unique_ptr<Commands> commands_;
    std::map<domain::TaskKind, Executor*> executors_;
    Listener listener_;
    events::Committer committer_;
    base::Lifetime lifetime_;
};

}  // namespace tasks
