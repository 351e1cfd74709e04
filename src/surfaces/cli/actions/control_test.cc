#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "surfaces/cli/cli.h"
#include "tests/support/captured_terminal.h"
#include "tests/support/no_service.h"

namespace cli {
namespace {

using test_support::CapturedTerminal;
using testing::ElementsAre;
using testing::HasSubstr;

// Records the requests, as text.
class Recorder final : public test_support::NoService {
public:
    std::vector<std::string> calls;
    std::filesystem::path plans{"/h"};  // Where plan files are.
    std::optional<base::Error> failure;

    base::Result<json::object> status(const std::string&) override { return json::object{}; }
    base::Result<std::vector<std::string>> agents() override { return {}; }
    base::Result<json::object> model(const std::string&) override { return json::object{}; }
    base::Result<json::object> set_model(const std::string&, const std::string&) override {
        return json::object{};
    }
    base::Result<json::object> clear_model(const std::string&) override { return json::object{}; }
    base::Result<service::Listed<domain::TranscriptEntry>> transcript(
        const std::string&, const service::ListQuery&) override {
        return service::Listed<domain::TranscriptEntry>{};
    }
    base::Result<service::Listed<domain::Brief>> briefs(const std::string&,
                                                        const service::ListQuery&) override {
        return service::Listed<domain::Brief>{};
    }
    base::Result<std::vector<domain::Event>> events(const std::string&, std::int64_t,
                                                    std::int64_t) override {
        return {};
    }
    base::Result<std::string> prompt(const std::string& agent, const std::string& text,
                                     const service::Caller&) override {
        TRY(note(fmt::format("prompt {} {}", agent, text)));
        return "m-1";
    }
    base::Result<domain::AgentIdentity> create_agent(const std::string& agent,
                                                     const std::optional<std::string>& from,
                                                     const service::Caller&) override {
        TRY(note(fmt::format("create {} {}", agent, from.value_or("-"))));
        return domain::AgentIdentity{.agent_id = {agent}};
    }
    base::Status set_lifecycle(const std::string& agent, service::LifecycleAction action,
                               const service::Caller&) override {
        return note(fmt::format("{} {}", base::enum_name(action), agent));
    }
    base::Result<json::object> abort_run(const std::string& agent,
                                         const std::optional<std::string>& run_id,
                                         const service::Caller&) override {
        TRY(note(fmt::format("abort {} {}", agent, run_id.value_or("-"))));
        return json::object{{"aborted", true}};
    }
    base::Result<json::object> compact_conversation(const std::string& agent,
                                                    const service::Caller&) override {
        TRY(note("compact " + agent));
        if (agent == "new")
            return json::object{{"compacted", false}, {"reason", "nothing to compact"}};
        return json::object{{"compacted", true},
                            {"previous_estimated_tokens", 900},
                            {"projected_estimated_tokens", 400}};
    }
    base::Result<domain::Task> start_task(const std::string& agent,
                                          const service::TaskRequest& request,
                                          const service::Caller&) override {
        TRY(note(fmt::format("task {} {} {} in {}", agent, request.summary, request.cmd,
                             request.workdir.value_or("-"))));
        return domain::Task{.id = {"t-1"}, .agent_id = {agent}};
    }
    base::Result<service::WorkItemsPage> work_items(const std::string& agent,
                                                    const service::WorkItemsQuery& query) override {
        TRY(note(
            fmt::format("work list {} {} {}", agent, base::enum_name(query.filter), query.limit)));
        service::WorkItemsPage page{.next = "7:w"};
        page.work_items.push_back({{"id", "w"},
                                   {"objective", "ship\x1b[31m"},
                                   {"readiness", "blocked"},
                                   {"blocked_by", "CI"},
                                   {"is_current", true}});
        return page;
    }
    base::Result<json::object> work_item(const std::string& agent, const std::string& id) override {
        TRY(note(fmt::format("work show {} {}", agent, id)));
        return json::object{
            {"id", id},
            {"plan_artifact",
             {{"path", (plans / "w/plan.md").string()}, {"relative_path", "w/plan.md"}}}};
    }
    base::Result<domain::WorkItem> create_work_item(const std::string& agent,
                                                    const service::WorkItemRequest& request,
                                                    const service::Caller&) override {
        TRY(note(fmt::format("work add {} {}", agent, request.objective)));
        return domain::WorkItem{.id = {"w"}, .agent_id = {agent}, .objective = request.objective};
    }
    base::Result<json::object> change_work_item(const std::string& agent, const std::string& id,
                                                const service::WorkItemChange& change,
                                                const service::Caller&) override {
        TRY(note(fmt::format("work {} {} {} {}", base::enum_name(change.action), agent, id,
                             change.text)));
        return json::object{{"id", id}};
    }
    base::Result<domain::Timer> create_timer(const std::string& agent,
                                             const service::TimerRequest& request,
                                             const service::Caller&) override {
        TRY(note(fmt::format("timer {} {}", agent, request.duration_ms)));
        return domain::Timer{.id = {"t-2"}, .agent_id = {agent}};
    }
    base::Result<domain::Timer> cancel_timer(const std::string& agent, const std::string& timer,
                                             const service::Caller&) override {
        TRY(note(fmt::format("cancel {} {}", agent, timer)));
        return domain::Timer{.id = {timer}, .agent_id = {agent}};
    }
    base::Result<json::object> external_trigger(const std::string& agent, bool rotate,
                                                const service::Caller&) override {
        TRY(note(fmt::format("trigger {} {}", agent, rotate)));
        return json::object{{"trigger_url", "https://h/callbacks/wake/cb_1"}};
    }
    base::Result<service::WebhookView> create_webhook(const std::string& agent,
                                                      const service::WebhookRequest& request,
                                                      const service::Caller&) override {
        TRY(note(fmt::format("webhook {} {} {}", agent, base::enum_name(request.signature),
                             request.rate_per_minute.value_or(0))));
        return service::WebhookView{.webhook_id = "w-1",
                                    .agent_id = agent,
                                    .name = "github",
                                    .webhook_url = "http://h/webhooks/wh_1",
                                    .secret = "whs_1"};
    }
    base::Result<std::vector<service::WebhookView>> webhooks(const std::string& agent) override {
        return std::vector{
            service::WebhookView{.webhook_id = "w-1", .agent_id = agent, .name = "github"}};
    }
    base::Result<service::WebhookView> rotate_webhook(const std::string& agent,
                                                      const std::string& webhook,
                                                      const std::optional<std::string>& secret,
                                                      const service::Caller&) override {
        TRY(note(fmt::format("rotate_webhook {} {} {}", agent, webhook, secret.value_or("-"))));
        return service::WebhookView{.webhook_id = webhook, .agent_id = agent};
    }
    base::Result<service::WebhookView> revoke_webhook(const std::string& agent,
                                                      const std::string& webhook,
                                                      const service::Caller&) override {
        TRY(note(fmt::format("revoke_webhook {} {}", agent, webhook)));
        return service::WebhookView{.webhook_id = webhook, .agent_id = agent};
    }
    base::Status revoke_trigger(const std::string& agent, const service::Caller&) override {
        return note("revoke " + agent);
    }
    base::Result<domain::WorkspaceEntry> attach_workspace(const std::string& agent,
                                                          const std::string& path,
                                                          const service::Caller&) override {
        TRY(note(fmt::format("attach {} {}", agent, path)));
        return domain::WorkspaceEntry{.workspace_id = "ws-1", .workspace_anchor = path};
    }
    base::Status exit_workspace(const std::string& agent, const service::Caller&) override {
        return note("exit " + agent);
    }
    base::Status detach_workspace(const std::string& agent, const std::string& id,
                                  const service::Caller&) override {
        return note(fmt::format("detach {} {}", agent, id));
    }

private:
    base::Status note(std::string call) {
        if (failure) return std::unexpected(*failure);
        calls.push_back(std::move(call));
        return {};
    }
};

class Control : public testing::Test {
protected:
    // Parses and executes the command; gives its standard output.
    Exit type(std::vector<const char*> words, const CapturedTerminal& captured) {
        words.insert(words.begin(), "holon");
        const auto invocation = parse(static_cast<int>(words.size()), words.data());
        EXPECT_TRUE(invocation) << invocation.error().text;
        if (!invocation) return Exit::Usage;
        return execute(std::get<Command>(invocation->command),
                       {service, captured.terminal, clock, "main", {}, "/here"});
    }

    Recorder service;
    base::SystemClock clock;
    const CapturedTerminal piped;
    const CapturedTerminal shown{true};
};

TEST_F(Control, CompactSaysWhatCameOfIt) {
    const CapturedTerminal done{true};
    EXPECT_EQ(type({"agent", "compact", "a"}, done), Exit::Success);
    EXPECT_THAT(done.out(), HasSubstr("compacted from about 900 to 400 tokens"));
    const CapturedTerminal nothing{true};
    EXPECT_EQ(type({"agent", "compact", "new"}, nothing), Exit::Success);
    EXPECT_THAT(nothing.out(), HasSubstr("nothing to compact"));
}

TEST_F(Control, EveryCommandReachesTheServiceAsItWasMeant) {
    const std::vector<std::vector<const char*>> typed{
        {"prompt", "how far?", "--agent", "a"},
        {"agent", "create", "a", "--template", "t"},
        {"agent", "start", "a"},
        {"agent", "stop"},
        {"agents", "pause"},
        {"agent", "resume"},
        {"agent", "abort", "a", "--run-id", "r"},
        {"agent", "compact", "a"},
        {"control", "stop", "--agent", "a"},
        {"control", "abort"},
        {"task", "tests", "--cmd", "make test", "--workdir", "sub"},
        {"timer", "--after-ms", "5"},
        {"timer", "--cancel", "t-2"},
        {"work", "add", "ship it", "--agent", "a"},
        {"work", "list", "--filter", "open", "--limit", "3"},
        {"work", "show", "w"},
        {"work", "pick", "w"},
        {"work", "block", "w", "CI"},
        {"work", "unblock", "w"},
        {"work", "done", "w"},
        {"work", "plan", "w"},
        {"wait", "list"},
        {"workspace", "attach", "../there"},
        {"workspace", "exit"},
        {"workspace", "detach", "ws-1"},
        {"trigger", "show"},
        {"trigger", "rotate", "--agent", "a"},
        {"trigger", "revoke"},
        {"webhook", "create", "--agent", "a", "--signature", "github", "--rate-per-minute", "5"},
        {"webhook", "list"},
        {"webhook", "rotate", "github"},
        {"webhook", "revoke", "github", "--agent", "a"}};
    for (const auto& words : typed) {
        const CapturedTerminal captured;
        EXPECT_EQ(type(words, captured), Exit::Success) << words[0];
        EXPECT_TRUE(base::parse_json(captured.out())) << words[0] << ": " << captured.out();
    }
    EXPECT_THAT(
        service.calls,
        ElementsAre("prompt a how far?", "create a t", "start a", "stop main", "pause main",
                    "resume main", "abort a r", "compact a", "stop a", "abort main -",
                    "task main tests make test in /here/sub", "timer main 5", "cancel main t-2",
                    "work add a ship it", "work list main open 3", "work show main w",
                    "work pick main w ", "work block main w CI", "work unblock main w ",
                    "work done main w ", "work show main w", "attach main /there", "exit main",
                    "detach main ws-1", "trigger main false", "trigger a true", "revoke main",
                    "webhook a github 5", "rotate_webhook main github -",
                    "revoke_webhook a github"));
}

TEST_F(Control, APersonReadsWhatToDoNext) {
    type({"prompt", "hello"}, shown);
    type({"agent", "stop"}, shown);
    type({"trigger", "show"}, shown);
    EXPECT_THAT(shown.out(), HasSubstr("holon tail -f --agent main"));
    EXPECT_THAT(shown.out(), HasSubstr("holon agent start"));
    EXPECT_THAT(shown.out(), HasSubstr("\nhttps://h/callbacks/wake/cb_1\n"));
}

TEST_F(Control, APersonReadsAListOfWorkItems) {
    type({"work", "list"}, shown);
    EXPECT_EQ(shown.out(),
              "* blocked        ship\\x1b[31m\n"
              "                 by: CI\n"
              "                 w\n");
}

TEST_F(Control, TheEditorOpensAPlanAndNoLinkInItsPlace) {
    namespace fs = std::filesystem;
    std::string name = testing::TempDir() + "holon-plan-XXXXXX";
    service.plans = ::mkdtemp(name.data());
    const fs::path marker = service.plans / "edited";
    ::setenv("EDITOR", ("touch " + marker.string()).c_str(), 1);
    ::unsetenv("VISUAL");
    fs::create_directory(service.plans / "w");
    EXPECT_EQ(type({"work", "plan", "w"}, shown), Exit::Error) << "there is none";
    fs::create_symlink("/etc/passwd", service.plans / "w/plan.md");
    EXPECT_EQ(type({"work", "plan", "w"}, shown), Exit::Error);
    fs::remove(service.plans / "w/plan.md");
    fs::create_directory(service.plans / "w/plan.md");
    EXPECT_EQ(type({"work", "plan", "w"}, shown), Exit::Error);
    EXPECT_FALSE(fs::exists(marker));
    fs::remove(service.plans / "w/plan.md");
    std::ofstream(service.plans / "w/plan.md") << "do it";
    EXPECT_EQ(type({"work", "plan", "w"}, shown), Exit::Success);
    EXPECT_TRUE(fs::exists(marker));
    fs::remove_all(service.plans);
}

TEST_F(Control, AScriptGetsTheJsonOfTheReference) {
    type({"prompt", "hello"}, piped);
    EXPECT_EQ(base::parse_json(piped.out()).value(),
              (json::object{{"ok", true}, {"agent_id", "main"}, {"message_id", "m-1"}}));
}

TEST_F(Control, AFailureIsOneLineAndExitsOne) {
    service.failure =
        base::Error{base::ErrorCode::Conflict, "agent main is stopped", "agent_stopped"};
    EXPECT_EQ(type({"prompt", "hello"}, piped), Exit::Error);
    EXPECT_EQ(piped.out(), "");
    EXPECT_EQ(piped.err(), "Error: agent main is stopped\n");
}

}  // namespace
}  // namespace cli
