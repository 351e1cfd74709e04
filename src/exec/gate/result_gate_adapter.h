// The result gate of the dispatcher: the output of a call or a task becomes result documents, and
// their verdict alone decides whether it is passed on.
//
// A call that ran commands has one document for each of them, and all have to be accepted; any
// other call has one, with its tool and arguments as the command and everything it said as the
// streams. Writing, judging and moving are offloaded from the loop.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "base/os/loop.h"
#include "exec/gate/gate.h"
#include "exec/tasks/output_gate.h"
#include "exec/tools/result_gate.h"

namespace gate {

// Where commands ran, as a document shows it.
struct BackendFacts {
    std::string name;
    std::string version{};
    std::vector<std::pair<std::string, std::string>> limits{};
    bool network_is_open{false};       // Neither confined nor observed.
    std::vector<std::string> hosts{};  // All that an allow-list lets through.
};

// What applies where the operator has set nothing. What comes over an execution boundary (commands,
// files, the web, MCP servers) into a turn that external input started is enforced; what an MCP
// server says in other turns is reported, so that no page vanishes; the operator's own commands and
// what the runtime says of itself do not pass the gate.
domain::GatePolicy default_policy(domain::AuthorityClass instructed_by, tools::Family family,
                                  tools::RunsBehind runs_behind);

struct ResultGateParts {
    Gate& gate;
    base::Loop& loop;
    base::Clock& clock;
    // What the operator set; `unset` where they set nothing.
    std::function<domain::GatePolicy(const domain::AgentId&, tools::Family,
                                     domain::GatePolicy unset)>
        policy;
    std::function<BackendFacts(const domain::AgentId&)> backend;
    // Where programs run that serve all agents.
    std::function<BackendFacts()> shared_backend;
    // The file that got the output of a call's command while it ran; it need not be there.
    std::function<std::filesystem::path(const domain::ToolCall&)> log_of{};
    std::string executor;
};

class ResultGateAdapter final : public tools::ResultGate, public tasks::OutputGate {
public:
    explicit ResultGateAdapter(ResultGateParts parts) : parts_(std::move(parts)) {}
    // Waits for verdicts in flight; their callbacks are not called.
    ~ResultGateAdapter() override;
    ResultGateAdapter(const ResultGateAdapter&) = delete;
    ResultGateAdapter& operator=(const ResultGateAdapter&) = delete;

    // Finishes or removes, in the background, what an earlier process left half done. Called at the
    // start; what is judged before it has happened does it first.
    void settle_in_background();

    domain::GatePolicy policy(const domain::ToolCall& call, tools::Family family,
                              tools::RunsBehind runs_behind) const override {
        return parts_.policy(call.agent_id, family,
                             default_policy(call.authority_class, family, runs_behind));
    }
    void judge(tools::FinishedCall finished,
               std::move_only_function<void(tools::GateAnswer)> done) override;

    // A task's output is that of a command, whichever tool shows it.
    domain::GatePolicy policy(const domain::AgentId& agent,
                              domain::TrustLevel trust) const override;
    void judge(tasks::FinishedOutput finished,
               std::move_only_function<void(tasks::OutputAnswer)> done) override;

private:
    struct Judged {
        domain::GateMark mark;
        std::vector<domain::GateReason> reasons{};
    };
    template <class Answer, class Requests, class Apply>
    void check_in_background(const domain::AgentId& agent, BackendFacts backend,
                             domain::GatePolicy policy, Requests requests, Apply apply,
                             std::move_only_function<void(Answer)> done);
    void settle_once() const;  // Blocks.
    // Blocks. What cannot be judged is rejected.
    Judged pass(const domain::AgentId& agent, std::vector<FinishedRequest> requests) const;
    base::Result<domain::GateDocument> pass_one(const domain::AgentId& agent,
                                                FinishedRequest request) const;

    ResultGateParts parts_;
    mutable std::once_flag settled_;
    std::atomic<int> in_flight_{0};
};

}  // namespace gate
