// The service in this very process, on an open store.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "agent/identity/views.h"
#include "exec/tasks/host.h"
#include "flow/turn/runner.h"
#include "service/service.h"

namespace service {

struct LocalParts {
    turn::Parts turn;
    tasks::Host& tasks;
    identity::ModelFacts models;
    // Whether a run can ask this model (empty: none is known) or one of its fallbacks.
    std::function<base::Status(const std::string& model_ref)> check_run;
    // The full name of a model that can be asked.
    std::function<base::Result<std::string>(const std::string& model_ref)> name_model;
    std::filesystem::path workspace_dir;  // Where a run works unless told otherwise.
    std::filesystem::path started_in;     // The working directory, where it lies in the workspace.
    // Runs the loop until stop_loop is called from one of its tasks.
    std::function<void()> run_loop;
    std::function<void()> stop_loop;
};

class LocalService final : public Service {
public:
    explicit LocalService(LocalParts parts);

    base::Result<RunResponse> run(const RunRequest& request, Observer& observer) override;
    base::Result<json::object> status(const std::string& agent) override;
    base::Result<std::vector<std::string>> agents() override;
    base::Result<json::object> model(const std::string& agent) override;
    base::Result<json::object> set_model(const std::string& agent,
                                         const std::string& model_ref) override;
    base::Result<json::object> clear_model(const std::string& agent) override;
    base::Result<std::vector<domain::TranscriptEntry>> transcript(const std::string& agent,
                                                                  std::int64_t limit) override;
    base::Result<std::vector<domain::Brief>> briefs(const std::string& agent,
                                                    std::int64_t limit) override;
    base::Result<std::vector<domain::Event>> events(const std::string& agent,
                                                    std::int64_t after_seq,
                                                    std::int64_t limit) override;

    // Asks the run that is going on to stop. From a task of the loop.
    void interrupt(const std::string& reason);

private:
    struct Run;
    base::Result<domain::AgentId> name_agent(const RunRequest& request);
    base::Result<json::object> put_model(const std::string& agent,
                                         const std::optional<std::string>& model_ref);
    base::Result<std::string> model_of(const domain::AgentId& agent);
    base::Result<std::optional<domain::WorkspaceEntry>> choose_workspace(
        const RunRequest& request, const domain::AgentId& agent);
    base::Status prepare_agent(const RunRequest& request, const domain::AgentId& id,
                               const std::optional<domain::WorkspaceEntry>& entry);
    base::Result<domain::Message> receive(const RunRequest& request, const domain::AgentId& agent);
    base::Status deliver(const domain::Message& message);
    base::Result<RunResponse> conclude(const Run& run, const domain::AgentId& agent);
    base::Status remove_agent(const domain::AgentId& agent);

    LocalParts parts_;
    std::function<void(const std::string&)> interrupt_;
};

}  // namespace service
