#include "flow/scheduler/scheduler.h"

#include "agent/workspace/workspace.h"
#include "base/files.h"

namespace scheduler {
namespace {

constexpr std::size_t kGuidanceBytesMax = 256 * 1024;

// Guidance files as they are now; one that is missing or unreadable is simply not there.
std::vector<context::Guidance> read_guidance(
    const std::filesystem::path& home, const std::optional<domain::WorkspaceEntry>& workspace) {
    std::vector<context::Guidance> list;
    const auto add = [&](std::string name, const std::filesystem::path& file) {
        auto text = base::read_file(file, kGuidanceBytesMax);
        if (text && !text->empty()) list.push_back({std::move(name), std::move(*text)});
        return text.has_value();
    };
    add("agent_agents_md", home / "AGENTS.md");
    if (!workspace) return list;
    const std::filesystem::path anchor(workspace->workspace_anchor);
    if (!add("workspace_agents_md", anchor / "AGENTS.md"))
        add("workspace_agents_md", anchor / "CLAUDE.md");
    return list;
}

}  // namespace

Scheduler::Scheduler(turn::Parts parts, Options options)
    : parts_(parts),
      options_(std::move(options)),
      runner_(std::move(parts)),
      self_(std::make_shared<Scheduler*>(this)) {
    runner_.on_closed = [this](const domain::AgentId& agent) { wake(agent); };
    runner_.on_stuck = [this](const domain::AgentId& agent, const base::Error& error) {
        on_stuck(agent, error);
    };
    runner_.on_text = [this](const domain::AgentId& agent, std::string_view text) {
        if (on_text) on_text(agent, text);
    };
}
Scheduler::~Scheduler() = default;

void Scheduler::recover(const std::vector<domain::AgentId>& agents) {
    for (const auto& agent : agents) {
        std::optional<domain::Attempt> attempt;
        const auto status = parts_.store.read([&](store::Tx& tx) -> base::Status {
            const auto facts = TRY(tx.agent(agent));
            if (facts) rounds_before_.emplace(agent, facts->total_model_rounds);
            attempt = TRY(tx.open_attempt_of(agent));
            return {};
        });
        if (!status) {
            on_stuck(agent, status.error());
        } else if (attempt) {
            runner_.resume(agent, attempt->run_id, options_.rounds_total);
        } else {
            wake(agent);
        }
    }
}

void Scheduler::interrupt(const domain::AgentId& agent, std::string reason) {
    held_[agent] = reason;
    runner_.interrupt(agent, std::move(reason));
    if (!runner_.is_running(agent) && !ticking_.contains(agent)) wake(agent);
}

void Scheduler::wake(const domain::AgentId& agent) {
    if (const auto held = held_.find(agent); held != held_.end() && !runner_.is_running(agent)) {
        if (on_rest) on_rest(agent, held->second);
        return;
    }
    if (runner_.is_running(agent)) return;  // It is looked at again when its turn closes.
    if (!ticking_.insert(agent).second) {
        wanted_.insert(agent);
        return;
    }
    tick(agent);
}

void Scheduler::tick(const domain::AgentId& agent) {
    auto outcome = std::make_shared<Outcome>();
    auto published = std::make_shared<std::vector<events::Committed>>();
    OpenInput input{.model_ref = options_.model_ref};
    std::optional<domain::Agent> known;
    const auto status = parts_.store.read([&](store::Tx& tx) -> base::Status {
        known = TRY(tx.agent(agent));
        return {};
    });
    if (!status || !known) {
        ticking_.erase(agent);
        return on_stuck(agent, status ? base::Error{base::ErrorCode::NotFound,
                                                    "there is no agent " + agent.value}
                                      : status.error());
    }
    const auto home = parts_.home_of(agent);
    input.home_workspace = workspace::agent_home(agent, home);
    input.guidance = read_guidance(home, known->active_workspace_entry);
    input.tools = turn::declarations(parts_.dispatcher.registry(), known->identity.profile_preset);
    input.now = [this] { return parts_.clock.now(); };
    const std::int64_t before =
        rounds_before_.emplace(agent, known->total_model_rounds).first->second;
    input.budget = {options_.rounds_total, known->total_model_rounds - before};

    parts_.store.write_async(
        store::Durability::Process,
        [this, agent, outcome, published, input = std::move(input)](store::Tx& tx) -> base::Status {
            events::Log log(tx, parts_.clock.now(), parts_.ids);
            *outcome = TRY(open_next(log, agent, input));
            *published = log.take();
            return {};
        },
        [this, alive = std::weak_ptr(self_), agent, outcome, published](base::Status committed) {
            parts_.loop.post(
                [this, alive, agent, outcome, published, committed = std::move(committed)] {
                    if (!alive.lock()) return;
                    if (!committed) {
                        ticking_.erase(agent);
                        return on_stuck(agent, committed.error());
                    }
                    parts_.feed.publish(*published);
                    ticked(agent, std::move(*outcome));
                });
        });
}

void Scheduler::ticked(const domain::AgentId& agent, Outcome outcome) {
    const bool again = wanted_.erase(agent) > 0;
    if (auto* opened = std::get_if<Opened>(&outcome)) {
        ticking_.erase(agent);
        runner_.start(std::move(opened->facts), opened->frame, opened->effects);
        if (const auto held = held_.find(agent); held != held_.end())
            runner_.interrupt(agent, held->second);
        return;
    }
    if (held_.contains(agent)) {
        ticking_.erase(agent);
        return wake(agent);
    }
    if (again || std::holds_alternative<Reduced>(outcome)) return tick(agent);
    ticking_.erase(agent);
    if (on_rest) on_rest(agent, std::get<Rest>(outcome).reason);
}

}  // namespace scheduler
