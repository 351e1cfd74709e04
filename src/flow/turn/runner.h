// Runs turns: performs what a commit asked for, and turns what comes back into the next event.
//
// The facts are in the store; what is kept here is a copy as last committed. A Runner that dies is
// replaced by another one that resumes the same attempts.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/context/capability.h"
#include "agent/context/conversation.h"
#include "agent/context/frame.h"
#include "agent/context/past/recent.h"
#include "base/os/loop.h"
#include "config/sections/retention.h"
#include "exec/tools/dispatcher.h"
#include "flow/turn/decide/decide.h"
#include "flow/turn/offers.h"
#include "provider/provider.h"
#include "record/events/committer.h"
#include "store/store.h"

namespace turn {

// How long a model may take to answer a round before that is recorded.
inline constexpr std::chrono::seconds kAnswerDelayed{30};

struct Parts {
    store::Store& store;
    base::Loop& loop;
    base::Clock& clock;
    base::Ids& ids;
    provider::Provider& provider;
    tools::Dispatcher& dispatcher;
    events::Feed& feed;
    std::function<std::filesystem::path(const domain::AgentId&)> home_of;
    // What the model of a turn may write in one round.
    std::function<std::int64_t(const std::string& model_ref)> max_output_tokens_of =
        [](const std::string&) { return std::int64_t{8192}; };
    // How long a turn waits for providers that are down before it fails.
    std::chrono::milliseconds patience{0};
    // How many messages an agent may leave for itself.
    config::FollowUpLimits follow_ups{};
    work::Settings work{};
    // How large a prompt of this model may be, and when it is compacted; empty: no bound is known.
    // Any thread may ask.
    std::function<std::optional<ContextLimits>(const std::string& model_ref)> context_limits_of =
        [](const std::string&) { return std::optional<ContextLimits>(); };
    // What holds for the agent's commands now; any thread may ask.
    std::function<domain::Execution(const domain::AgentId&)> execution_of =
        [](const domain::AgentId&) { return domain::Execution{}; };
    // The URL of a capability, for the prompt alone; see context/capability.h.
    context::UrlOf trigger_url_of{};
    // By which channels of the configuration briefs reach the operator.
    domain::BriefChannels brief_channels{};
    // The user's own folder, whose guidance and skills agents get; empty: none.
    std::filesystem::path user_home{};
    // Does a compaction that covers a part of the conversation ask the model for a summary?
    bool summarises{false};
    // What turns have loaded of conversations; retention::IdleRelease makes it forget them.
    std::shared_ptr<context::RecentPasts> recent = std::make_shared<context::RecentPasts>();
    std::shared_ptr<Offers> offers = std::make_shared<Offers>();
    // When this runtime started: a skill that an earlier one activated is a restored one.
    std::string session{};
};

// Used on the loop's thread only.
class Runner {
public:
    explicit Runner(Parts parts);
    ~Runner();

    // Continues an attempt that a commit has just opened, with the conversation so far.
    void start(Facts facts, const context::Frame& frame, context::Conversation conversation,
               const std::vector<Effect>& effects);

    // Resumes an attempt that another process left open: is_running() is true at once, the facts
    // are loaded in the background. `rounds_more` bounds how often the model is still asked.
    void resume(const domain::AgentId& agent, const domain::RunId& run,
                std::optional<std::int64_t> rounds_more = {});

    // Asks the agent's open turn, if it has one, to stop: what it waits for is really ended, and
    // the turn closes as `kind` says.
    void interrupt(const domain::AgentId& agent, std::string reason,
                   StopKind kind = StopKind::Interrupt);

    // Stops working on the agent's open turn without a word to the store: another process has it.
    // A command that runs is left to its supervisor.
    void abandon(const domain::AgentId& agent);

    bool is_running(const domain::AgentId& agent) const;
    // Does the turn wait for a provider's limit to reset?
    bool is_parked(const domain::AgentId& agent) const;
    std::vector<domain::AgentId> running() const;
    // Turns that are open here and do not wait for a provider's limit to reset.
    std::size_t active_count() const { return live_.size() - parked_; }

    // The agent's turn began to wait for a provider's limit.
    std::function<void(const domain::AgentId&)> on_parked;
    // The agent's turn has closed.
    std::function<void(const domain::AgentId&)> on_closed;
    // A commit failed, or a step threw (Internal), so nothing more can be done for this agent here.
    // Its attempt stays open.
    std::function<void(const domain::AgentId&, const base::Error&)> on_stuck;
    // Somebody began to watch the agent.
    void watch_output(const domain::AgentId& agent);
    // For people to watch: what comes from the model, and the newest line that a running call has
    // printed. The latter is read only while `is_watched` answers true.
    std::function<void(const domain::AgentId&, const provider::News&)> on_news;
    std::function<void(const domain::AgentId&, const std::string& tool, const std::string& line)>
        on_output;
    std::function<bool(const domain::AgentId&)> is_watched;

private:
    struct Live;
    struct Left;

    void loaded(const std::shared_ptr<Live>& live, Left left,
                std::optional<std::int64_t> rounds_more);
    // The call has come back; what it used of skills is found out before it is recorded.
    void finished(const std::shared_ptr<Live>& live, const RunTool& run,
                  tools::Dispatched dispatched);
    void record(const std::shared_ptr<Live>& live, const RunTool& run,
                tools::Dispatched dispatched);
    void continue_call(const std::shared_ptr<Live>& live, const domain::ToolCall& call,
                       bool can_resume, Resumed resumed);
    void act(const std::shared_ptr<Live>& live, const std::vector<Effect>& effects);
    void ask_model(const std::shared_ptr<Live>& live, const AskModel& ask);
    void run_tool(const std::shared_ptr<Live>& live, const RunTool& run);
    // Reports what the call under way prints, for as long as it is under way and watched.
    void watch_output(const std::shared_ptr<Live>& live);
    void wait_until(const std::shared_ptr<Live>& live, const WaitUntil& wait);
    void compact(const std::shared_ptr<Live>& live, const Compact& compact);
    void summarise(const std::shared_ptr<Live>& live, const Summarise& summarise);
    provider::Request request_of(const Live& live, std::string id) const;
    void write_ledger(const domain::AgentId& agent);
    // The record of the conversation has changed: loads it, then continues with `effects`.
    void reload(const std::shared_ptr<Live>& live, const std::vector<Effect>& effects);
    void step(const std::shared_ptr<Live>& live, Event event,
              const std::optional<Effect>& finished);
    void commit(const std::shared_ptr<Live>& live, Event event,
                const std::optional<Effect>& finished,
                std::optional<domain::PlanArtifact> plan = std::nullopt);
    void committed(const std::shared_ptr<Live>& live, const Step& step);
    void stop(const std::shared_ptr<Live>& live, Interrupted request);
    // Runs a part of the turn on the loop, unless the turn is over. What it throws ends the work on
    // this turn and no other.
    template <class Part>
    void guarded(const std::shared_ptr<Live>& live, Part part);
    void fail(const std::shared_ptr<Live>& live, const base::Error& error);
    void watch_answer(const std::shared_ptr<Live>& live, const AskModel& ask);
    void drop(const std::shared_ptr<Live>& live);
    void prepare(Live& live);
    std::optional<std::int64_t> prompt_room(const Live& live) const;
    void watch_deadline(const std::shared_ptr<Live>& live);
    void forget(const std::shared_ptr<Live>& live);
    void end_wait(Live& live);
    tools::ExecutionContext place(const Live& live) const;

    Parts parts_;
    std::map<domain::AgentId, std::shared_ptr<Live>> live_;
    std::size_t parked_{0};
    events::Committer committer_;
    base::Lifetime lifetime_;
};

}  // namespace turn
