// The one interface operators get. Surfaces see this and nothing behind it; what crosses it
// survives a trip through JSON.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/typed.h"
#include "domain/agent.h"
#include "domain/message.h"
#include "domain/provider.h"
#include "domain/record.h"
#include "domain/turn.h"

namespace service {

// One prompt, answered to its end. Without `agent` a private temporary agent does it and is removed
// when it has succeeded.
struct RunRequest {
    std::string text;
    std::optional<std::string> agent{};
    bool create_agent{false};
    // Takes up what an earlier run of `agent` left open or interrupted; `text` may be empty.
    bool resume{false};
    domain::TrustLevel trust{domain::TrustLevel::TrustedOperator};
    std::optional<std::int64_t> max_turns{};  // Model rounds, at most.
    std::optional<std::string> workspace_root{};
    std::optional<std::string> cwd{};
    // Stays until background tasks are over and their results were dealt with.
    bool wait_for_tasks{true};
};
BOOST_DESCRIBE_STRUCT(RunRequest, (),
                      (text, agent, create_agent, resume, trust, max_turns, workspace_root, cwd,
                       wait_for_tasks))
constexpr auto describe_fields(const RunRequest*) {
    return std::to_array<base::FieldDoc>({{.field = "wait_for_tasks", .has_default = true}});
}

enum class FinalStatus { Completed, Waiting, Failed, MaxTurnsExceeded, Interrupted };
BOOST_DESCRIBE_ENUM(FinalStatus, Completed, Waiting, Failed, MaxTurnsExceeded, Interrupted)

struct CacheSummary {
    std::int64_t read_input_tokens{0};
    std::int64_t creation_input_tokens{0};
    std::int64_t cacheable_input_tokens{0};
    std::optional<double> hit_rate{};
};
BOOST_DESCRIBE_STRUCT(CacheSummary, (),
                      (read_input_tokens, creation_input_tokens, cacheable_input_tokens, hit_rate))

struct RunResponse {
    std::string agent_id;
    FinalStatus final_status{FinalStatus::Completed};
    std::optional<domain::WaitingReason> waiting_reason{};
    std::string final_text;
    std::optional<std::string> raw_final_text{};
    std::optional<std::string> sleep_reason{};
    std::optional<domain::FailureArtifact> failure_artifact{};
    std::vector<json::value> tasks{};  // Begun or ended in this run, `{task: TaskOutputSnapshot}`.
    std::int64_t message_count{0};
    std::vector<std::string> changed_files{};
    domain::TokenUsage token_usage{};
    std::int64_t input_tokens{0};
    std::int64_t output_tokens{0};
    std::optional<CacheSummary> provider_cache_usage{};
    std::optional<domain::AttemptTimeline>
        provider_attempt_timeline{};  // All attempts of the run, in order.
    std::int64_t model_rounds{0};
    std::int64_t tool_calls{0};
    std::int64_t shell_commands{0};
    std::int64_t exec_command_items{0};
    std::int64_t batched_exec_command_items{0};
};
BOOST_DESCRIBE_STRUCT(RunResponse, (),
                      (agent_id, final_status, waiting_reason, final_text, raw_final_text,
                       sleep_reason, failure_artifact, tasks, message_count, changed_files,
                       token_usage, input_tokens, output_tokens, provider_cache_usage,
                       provider_attempt_timeline, model_rounds, tool_calls, shell_commands,
                       exec_command_items, batched_exec_command_items))

// Watches a run. Called on the thread that runs it; must not block.
class Observer {
public:
    virtual ~Observer() = default;
    virtual void on_started(const std::string& /*agent_id*/, const std::string& /*model_ref*/) {}
    // A committed event.
    virtual void on_event(const domain::Event& /*event*/) {}
    // Text of the model as it streams in; the committed round follows.
    virtual void on_text(std::string_view /*delta*/) {}
    // Every tick_interval(), while there is one.
    virtual std::chrono::milliseconds tick_interval() const { return std::chrono::milliseconds(0); }
    virtual void on_tick() {}
};

class Service {
public:
    virtual ~Service() = default;

    // Runs until the agent rests, the budget is spent or it is interrupted. An Error means that the
    // run could not be carried out at all; a turn that failed is a RunResponse.
    virtual base::Result<RunResponse> run(const RunRequest& request, Observer& observer) = 0;

    // The agent as operators see it (AgentSummary). NotFound for an unknown one.
    virtual base::Result<json::object> status(const std::string& agent) = 0;
    virtual base::Result<std::vector<std::string>> agents() = 0;
    // Which model the agent asks, and why (AgentModelState).
    virtual base::Result<json::object> model(const std::string& agent) = 0;
    // Gives the agent, and no other, a model of its own from its next turn on; a turn that is open
    // ends with the model it began with. Returns the new state. A model that cannot be asked is
    // refused.
    virtual base::Result<json::object> set_model(const std::string& agent,
                                                 const std::string& model_ref) = 0;
    // Back to the default and its fallbacks, in the same way.
    virtual base::Result<json::object> clear_model(const std::string& agent) = 0;
    // The newest `limit` records, oldest first.
    virtual base::Result<std::vector<domain::TranscriptEntry>> transcript(const std::string& agent,
                                                                          std::int64_t limit) = 0;
    virtual base::Result<std::vector<domain::Brief>> briefs(const std::string& agent,
                                                            std::int64_t limit) = 0;
    virtual base::Result<std::vector<domain::Event>> events(const std::string& agent,
                                                            std::int64_t after_seq,
                                                            std::int64_t limit) = 0;
};

}  // namespace service
