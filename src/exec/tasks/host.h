// Owns the commands that run in the background of turns, for a call or as tasks of their own, and
// the records of all tasks.
//
// A command belongs to a call at first. When the call's patience is over, it is promoted: the same
// process continues as a task, with a record, and its result comes back as a message. All of it
// runs under supervision (supervisor/), so that a new process of ours finds it again. Tasks of
// other kinds run behind an Executor.
//
// The facts are in the store and with the supervisor; a Host that dies is replaced by another that
// recovers. Used on the loop's thread only, and it never blocks that thread: what has to be read is
// loaded in the background. Every `done` is called at most once, on the loop, and is dropped
// without a call when the Host goes first.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
// Below the home of each agent: the logs of its commands, `<command id>.log` and the like.
inline constexpr std::string_view kOutputFolder = "task-output";
// Names that one step of the sweep at a start checks, files that it lists at most, and how old a
// log is before it is removed: a command without a record may just be starting.
inline constexpr std::size_t kSweepStep = 64;
inline constexpr std::size_t kSweptFilesMax = 100'000;
inline constexpr std::chrono::minutes kSweepAge{10};

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
    // Has the home of every agent, by its id. Empty: no logs are swept.
    std::filesystem::path agents_folder{};
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
    std::vector<std::shared_ptr<const base::Fd>> files{};  // See base::ProcessSpec::files.
    std::filesystem::path output_path;
    bool confined{false};                 // It runs behind a boundary that keeps something.
    std::filesystem::path network_log{};  // See builtin::CommandOutput.
};

// What is known of a command before a call starts it.
struct CommandState {
    std::optional<domain::Task> task{};  // What the command has become, if it is this agent's.
    bool was_started{false};             // start() would reattach, or it is a task.
    std::vector<domain::Task> active{};  // The agent's tasks that are not over.
};

// A stop that is committed: the record as it is now, and whether force was asked for.
struct StopReceipt {
    domain::Task task;
    bool force_stop_requested{false};
};
// What became of input for a task.
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

    using TaskDone = std::move_only_function<void(base::Result<domain::Task>)>;
    using InputDone = std::move_only_function<void(base::Result<InputReceipt>)>;
    // Whether the command runs, or why it could not be started.
    using Started = std::move_only_function<void(base::Status)>;

    // Resumes every task that these agents left open: its command is watched again, or the task
    // ends with what can still be said about it. Returns at once; what is asked about tasks
    // meanwhile is answered when the recovery is done. An agent whose tasks cannot be loaded is
    // reported as stuck. Then, in the background, it removes the files of commands that no record
    // names any more, and ends commands whose calls have their results. Call it before the agents'
    // turns are resumed.
    void recover(std::vector<domain::AgentId> agents);
    // The same for all agents that have open tasks, at most so many.
    void recover_all(std::int64_t agents_max);

    // Commands of calls --------------------------------------------------------------------------
    // Starts a command for a call, or reattaches to it when an earlier process has started it.
    // `started` comes once, maybe before start() returns. When it gets an error, nothing runs and
    // `on_end` is never called; Conflict: it was cancelled first. Otherwise `on_end` comes once,
    // unless the command is promoted first.
    void start(CommandRequest request, supervisor::OnEnd on_end, Started started);
    // Was the command of this call started, so that start() would reattach to it, or it is a task?
    // `done` may be called before knows() returns. False also when the store cannot be read.
    void knows(const domain::TaskId& id, std::move_only_function<void(bool)> done);
    // What a call must know before it starts its command. An error of the store only when no
    // process of the command is known either.
    void load_command(const domain::AgentId& agent, const domain::TaskId& id,
                      std::move_only_function<void(base::Result<CommandState>)> done);
    // Makes a task of a command that still runs. `done` gets its record, as committed. When that
    // fails, the command stays with its call; Refused: the execution policy has no tasks.
    void promote(const domain::TaskId& id, TaskDone done);
    // Ends a command that is still its call's; the end arrives as usual. One that is not started
    // yet is not started any more.
    void cancel(const domain::TaskId& id);
    // The output of a call's command that has ended.
    void collect(const domain::TaskId& id, const std::filesystem::path& log,
                 const supervisor::Ended& ended, supervisor::Capture capture,
                 std::move_only_function<void(base::Result<supervisor::Captured>)> done);

    // Tasks --------------------------------------------------------------------------------------
    // Loads one task. NotFound for a task that is not this agent's.
    void find(const domain::AgentId& agent, const domain::TaskId& id, TaskDone done);
    // Loads the queued, running and cancelling ones, last changed first.
    void active(const domain::AgentId& agent,
                std::move_only_function<void(base::Result<std::vector<domain::Task>>)> done);

    // Starts a command as a task from its first moment. `done` gets the record when the command was
    // started, or its failure to start is on its way as the task's end. Refused when the agent has
    // too many.
    void create(CommandRequest request, TaskDone done);

    // Asks for the end of a task: the whole tree, softly, and by force after kStopGrace or when
    // asked again. The end arrives as every other. Conflict when it is over already; InvalidInput
    // when nothing here runs tasks of its kind.
    void stop(const domain::AgentId& agent, const domain::TaskId& id,
              std::move_only_function<void(base::Result<StopReceipt>)> done);

    // Gives the command something to read. A task that takes no input is a receipt with a refusal,
    // not an error.
    void input(const domain::AgentId& agent, const domain::TaskId& id, std::string text,
               InputDone done);

    // Calls `on_end` once when the task's end is committed, soon when it is over already or its
    // record cannot be loaded, and not at all when the token is dropped first.
    [[nodiscard]] std::shared_ptr<void> await_end(const domain::TaskId& id,
                                                  std::function<void()> on_end);

    // Other kinds of tasks -----------------------------------------------------------------------
    // Adds what runs behind tasks of another kind; before the first task of it is resumed or
    // stopped. It outlives the Host, or is removed before it goes.
    void add(Executor& executor);
    void remove(const Executor& executor) { executors_.erase(executor.kind()); }
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
    struct Ground;
    struct Leftovers;
    struct Sweep;
    enum class Kept { All, UntilItsEnd, Nothing };
    class Commands;
    using Waiter = std::weak_ptr<std::function<void()>>;
    // A call's command that is over, kept until its result is surely recorded.
    struct Finished {
        domain::TaskId id;
        std::filesystem::path log;
        std::filesystem::path network_log;
    };

    Executor* executor_of(domain::TaskKind kind) const;
    void report_stuck(const domain::AgentId& agent, const base::Error& error) const;
    // Why this agent may have no further task, or nothing.
    std::optional<base::Error> refusal(const domain::AgentId& agent) const;
    // Runs `job` at once, or after the recovery that is on its way.
    void when_recovered(base::Job job);
    void recover_from(
        std::function<base::Result<std::vector<domain::AgentId>>(store::Store&)> agents_of,
        Sweep sweep);
    // Blocks; any thread.
    static Leftovers load_leftovers(store::Store& store,
                                    const std::vector<domain::AgentId>& agents);
    void resume(const Leftovers& left);
    void reattach(const domain::Task& task);
    // Removes what no record names, step by step, in the background. Nothing that runs is touched,
    // but for commands whose calls have their results: those are stopped first.
    void list_for_sweep(Sweep sweep);
    void sweep_on(Sweep sweep);
    // These block; any thread.
    static std::vector<std::filesystem::path> output_files(
        const std::filesystem::path& agents_folder,
        const std::optional<std::set<domain::AgentId>>& agents);
    static Kept sweep_command(store::Store& store, supervisor::Supervisor& supervisor,
                              const std::string& id,
                              const std::optional<std::set<domain::AgentId>>& agents);
    static void sweep_file(store::Store& store, supervisor::Supervisor& supervisor,
                           const std::filesystem::path& file, const std::string& id,
                           base::Time now);
    void end_abandoned(const std::string& id);
    // Starts the command of an entry in `live_`, which leaves it again when that fails.
    void start(const std::shared_ptr<Live>& live, Started started);
    base::Status launch(Live& live, const Ground& ground);
    void drop(const std::shared_ptr<Live>& live);
    void commit_promotion(const std::shared_ptr<Live>& live, results::Preview initial,
                          bool withheld, TaskDone done);
    void stop_command(const domain::Task& task, bool force);
    void write_input(InputReceipt receipt, std::string text, InputDone done);
    supervisor::OnEnd ending_of(const domain::TaskId& id);
    void ended(const domain::TaskId& id, supervisor::End end);
    void forget_finished(const domain::AgentId& agent);
    // Removes the files of commands whose results are in the store, and names these commands.
    // Blocks; any thread.
    static std::vector<domain::TaskId> remove_recorded(store::Store& store,
                                                       supervisor::Supervisor& supervisor,
                                                       const std::vector<Finished>& list);
    void forget_later(const std::string& id);
    void remove_later(const std::filesystem::path& file) const;
    // Is what this agent's tasks print kept back until it has passed the gate?
    bool withholds(const domain::AgentId& agent, domain::TrustLevel trust) const;
    void withhold(const domain::AgentId& agent, const domain::TaskId& id);
    void settle(const domain::AgentId& agent, const domain::TaskId& id, const supervisor::End& end);
    void commit(const domain::Task& task, const supervisor::End& end,
                std::optional<OutputAnswer> answer);
    void settled(const domain::AgentId& agent, const domain::TaskId& id, bool has_ended);
    void report_end(const domain::TaskId& id);
    static void report_end(const Waiter& waiter);

    Parts parts_;
    std::map<domain::TaskId, std::shared_ptr<Live>> live_;
    std::map<domain::TaskId, std::vector<Waiter>> waiting_;
    std::map<domain::AgentId, std::vector<Finished>> finished_;
    std::unique_ptr<Commands> commands_;
    std::map<domain::TaskKind, Executor*> executors_;
    Listener listener_;
    int recovering_{0};
    std::vector<base::Job> after_recovery_;
    events::Committer committer_;
    base::Lifetime lifetime_;
};

}  // namespace tasks
