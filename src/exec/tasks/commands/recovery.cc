// What earlier processes left behind: tasks that are resumed, and files that nothing names any
// more.
#include <set>
#include <utility>

#include "base/log/log.h"
#include "base/os/files.h"
#include "exec/tasks/commands/live.h"

namespace tasks {
namespace {

using domain::TaskStatus;

// What the store says of the command with this id.
enum class RecordState {
    Needed,   // Its task is open, or its call has no result yet.
    Over,     // The record is complete without what is left of the command.
    Unnamed,  // There is no record.
    Foreign   // It is of an agent that this recovery is not for.
};

base::Result<RecordState> record_state(store::Tx& tx, const std::string& id,
                                       const std::optional<std::set<domain::AgentId>>& agents) {
    const auto task = TRY(tx.task({id}));
    const auto call = TRY(tx.tool_execution({id}));
    if (!task && !call) return RecordState::Unnamed;
    if (agents && !agents->contains(task ? task->agent_id : call->call.agent_id))
        return RecordState::Foreign;
    if (task) return domain::is_terminal(task->status) ? RecordState::Over : RecordState::Needed;
    return call->state == domain::CallState::Finished ? RecordState::Over : RecordState::Needed;
}

// The id of the command that this file is of; nothing for a file of somebody else's.
std::optional<std::string> command_of(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    for (const std::string_view suffix : {".network.jsonl", ".log"})
        if (name.size() > suffix.size() && name.ends_with(suffix))
            return name.substr(0, name.size() - suffix.size());
    return std::nullopt;
}

}  // namespace

// What earlier processes left open, as the store has it.
struct Host::Leftovers {
    struct OfAgent {
        domain::AgentId agent;
        base::Result<std::vector<domain::Task>> open;
    };
    std::vector<OfAgent> agents;
};

// The files of commands that are to be checked, and what the sweep may touch.
struct Host::Sweep {
    std::optional<std::set<domain::AgentId>> agents;  // Absent: of all agents.
    std::vector<std::string> commands;                // With the supervisor; last one first.
    std::vector<std::filesystem::path> files;         // Logs; last one first.
    bool is_partial{false};                           // There may be more than is listed here.
    bool has_removed{false};
};

void Host::recover(std::vector<domain::AgentId> agents) {
    Sweep sweep{.agents = std::set<domain::AgentId>(agents.begin(), agents.end())};
    recover_from(
        [agents = std::move(agents)](store::Store&) -> base::Result<std::vector<domain::AgentId>> {
            return agents;
        },
        std::move(sweep));
}

void Host::recover_all(std::int64_t agents_max) {
    recover_from(
        [agents_max](store::Store& store) -> base::Result<std::vector<domain::AgentId>> {
            std::vector<domain::AgentId> agents;
            TRY(store.read([&](store::Tx& tx) -> base::Status {
                agents = TRY(tx.agents_with_active_tasks(agents_max));
                return {};
            }));
            return agents;
        },
        {});
}

void Host::recover_from(
    std::function<base::Result<std::vector<domain::AgentId>>(store::Store&)> agents_of,
    Sweep sweep) {
    ++recovering_;
    committer_.background<Leftovers>(
        lifetime_,
        [&store = parts_.store, agents_of = std::move(agents_of)]() -> base::Result<Leftovers> {
            return load_leftovers(store, TRY(agents_of(store)));
        },
        [this, sweep = std::move(sweep)](const base::Result<Leftovers>& left) mutable {
            if (left)
                resume(*left);
            else
                base::log_error("tasks cannot be resumed: {}", left.error().message);
            if (--recovering_ == 0)
                for (auto& job : std::exchange(after_recovery_, {})) job();
            list_for_sweep(std::move(sweep));
        });
}

// Agent by agent: a record that cannot be read harms the tasks of one.
Host::Leftovers Host::load_leftovers(store::Store& store,
                                     const std::vector<domain::AgentId>& agents) {
    Leftovers left;
    for (const auto& agent : agents) {
        auto& of_agent = left.agents.emplace_back(Leftovers::OfAgent{.agent = agent, .open = {}});
        const auto status = store.read([&](store::Tx& tx) -> base::Status {
            of_agent.open = TRY(load_active(tx, agent));
            return {};
        });
        if (!status) of_agent.open = std::unexpected(status.error());
    }
    return left;
}

void Host::resume(const Leftovers& left) {
    for (const auto& [agent, open] : left.agents) {
        if (!open) {
            report_stuck(agent, open.error());
            continue;
        }
        for (const auto& task : *open) {
            if (live_.contains(task.id)) continue;
            if (task.kind == domain::TaskKind::SleepJob)
                settle(agent, task.id, supervisor::Lost{"The runtime was restarted meanwhile."});
            else if (auto* executor = executor_of(task.kind))
                executor->resume(task);
        }
    }
}

// Also asks again for the end of a task that was being stopped: the order may not have gone out.
void Host::reattach(const domain::Task& task) {
    const auto detail = detail_of(task);
    // It was started before output was kept back.
    if (!detail.output_withheld && withholds(task.agent_id, trust_of(task)))
        withhold(task.agent_id, task.id);
    auto live = std::make_shared<Live>();
    live->request = {.id = task.id, .agent_id = task.agent_id};
    live->owner = Live::Owner::Task;
    live_[task.id] = live;
    live->command = parts_.supervisor.attach(task.id.value, ending_of(task.id));
    if (task.status == TaskStatus::Cancelling)
        live->command->stop(detail.force_stop_requested.value_or(false)
                                ? std::chrono::milliseconds(0)
                                : kStopGrace);
}

void Host::withhold(const domain::AgentId& agent, const domain::TaskId& id) {
    committer_.commit<bool>(
        lifetime_, {.on_fault = events::OnFault::Retry},
        [id](events::Log& log) -> base::Result<bool> {
            auto task = TRY(log.tx().task(id));
            if (!task || domain::is_terminal(task->status)) return false;
            auto detail = detail_of(*task);
            detail.output_withheld = kOutputWithheld;
            task->detail = base::to_json(detail);
            TRY(log.tx().put_task(*task));
            return true;
        },
        [this, agent](const base::Result<bool>& done) {
            if (!done) report_stuck(agent, done.error());
        });
}

// Sweeping: each step checks kSweepStep names in the background, and the loop runs between steps.

void Host::list_for_sweep(Sweep sweep) {
    committer_.background<Sweep>(
        lifetime_,
        [&supervisor = parts_.supervisor, agents_folder = parts_.agents_folder,
         sweep = std::move(sweep)]() mutable -> base::Result<Sweep> {
            sweep.commands = supervisor.known();
            sweep.files = output_files(agents_folder, sweep.agents);
            sweep.is_partial = sweep.commands.size() == supervisor::kLeftoversMax;
            return std::move(sweep);
        },
        [this](base::Result<Sweep> listed) {
            if (listed) sweep_on(std::move(*listed));
        });
}

std::vector<std::filesystem::path> Host::output_files(
    const std::filesystem::path& agents_folder,
    const std::optional<std::set<domain::AgentId>>& agents) {
    std::vector<std::filesystem::path> files;
    std::error_code failed;
    if (agents_folder.empty()) return files;
    for (const auto& home : std::filesystem::directory_iterator(agents_folder, failed)) {
        if (agents && !agents->contains({home.path().filename().string()})) continue;
        std::error_code none;
        for (const auto& file :
             std::filesystem::directory_iterator(home.path() / kOutputFolder, none)) {
            if (files.size() == kSweptFilesMax) return files;
            files.push_back(file.path());
        }
    }
    return files;
}

void Host::sweep_on(Sweep sweep) {
    if (sweep.commands.empty() && sweep.files.empty()) {
        if (sweep.is_partial && sweep.has_removed) list_for_sweep({.agents = sweep.agents});
        return;
    }
    std::set<std::string> ours;  // What this process runs or has just finished.
    for (const auto& [id, live] : live_) ours.insert(id.value);
    for (const auto& [agent, list] : finished_)
        for (const auto& finished : list) ours.insert(finished.id.value);
    struct Swept {
        Sweep unchecked;
        std::vector<std::string> to_end;
    };
    committer_.background<Swept>(
        lifetime_,
        [&store = parts_.store, &supervisor = parts_.supervisor, now = parts_.clock.now(),
         ours = std::move(ours), sweep = std::move(sweep)]() mutable -> base::Result<Swept> {
            Swept swept;
            for (std::size_t i = 0; i < kSweepStep && !sweep.commands.empty(); ++i) {
                const std::string id = std::move(sweep.commands.back());
                sweep.commands.pop_back();
                if (ours.contains(id)) continue;
                const auto kept = sweep_command(store, supervisor, id, sweep.agents);
                if (kept == Kept::UntilItsEnd) swept.to_end.push_back(id);
                if (kept == Kept::Nothing) sweep.has_removed = true;
            }
            for (std::size_t i = 0; i < kSweepStep && !sweep.files.empty(); ++i) {
                const auto file = std::move(sweep.files.back());
                sweep.files.pop_back();
                const auto id = command_of(file);
                if (id && !ours.contains(*id)) sweep_file(store, supervisor, file, *id, now);
            }
            swept.unchecked = std::move(sweep);
            return swept;
        },
        [this](base::Result<Swept> swept) {
            if (!swept) return;
            for (const auto& id : swept->to_end) end_abandoned(id);
            sweep_on(std::move(swept->unchecked));
        });
}

// What became of the files of one command.
Host::Kept Host::sweep_command(store::Store& store, supervisor::Supervisor& supervisor,
                               const std::string& id,
                               const std::optional<std::set<domain::AgentId>>& agents) {
    auto state = RecordState::Needed;
    const auto status = store.read([&](store::Tx& tx) -> base::Status {
        state = TRY(record_state(tx, id, agents));
        return {};
    });
    if (!status || state == RecordState::Needed || state == RecordState::Foreign) return Kept::All;
    if (supervisor.is_in_use(id))
        // Without a record nobody can say whose it is: it may be the step of a plan.
        return state == RecordState::Over ? Kept::UntilItsEnd : Kept::All;
    supervisor.forget(id);
    return Kept::Nothing;
}

// The log of a task stays for as long as its record does.
void Host::sweep_file(store::Store& store, supervisor::Supervisor& supervisor,
                      const std::filesystem::path& file, const std::string& id, base::Time now) {
    auto state = RecordState::Needed;
    const auto status = store.read([&](store::Tx& tx) -> base::Status {
        if (!TRY(tx.task({id}))) state = TRY(record_state(tx, id, std::nullopt));
        return {};
    });
    if (!status || state == RecordState::Needed) return;
    std::error_code failed;
    if (state == RecordState::Unnamed) {
        const auto changed = std::filesystem::last_write_time(file, failed);
        const auto age = now - std::chrono::floor<base::Time::duration>(
                                   std::chrono::file_clock::to_sys(changed));
        if (failed || age < kSweepAge || supervisor.is_in_use(id)) return;
    }
    std::filesystem::remove(file, failed);
}

// Its call has its result, and no turn will come back for it.
void Host::end_abandoned(const std::string& id) {
    if (live_.contains({id})) return;
    const auto command = parts_.supervisor.attach(
        id, lifetime_.guard([this, id](const supervisor::End&) { forget_later(id); }));
    command->stop(kCancelGrace);
}

}  // namespace tasks
