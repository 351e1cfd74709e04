#include "surfaces/cli/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "surfaces/show/times.h"
#include "tests/support/captured_terminal.h"
#include "tests/support/no_service.h"

namespace cli {
namespace {

using test_support::CapturedTerminal;

const json::object kDefaultModel{{"source", "runtime_default"},
                                 {"runtime_default_model", "vllm/m"},
                                 {"effective_model", "vllm/m"}};

// Knows agents by name; those in `gone` were removed after they were listed.
class FakeService final : public test_support::NoService {
public:
    std::vector<std::string> known{};
    std::vector<json::object> listed{};
    std::string gone{};
    base::Result<service::RunResponse> response{};
    std::vector<domain::TranscriptEntry> entries{};
    service::ListQuery last_list{};
    std::vector<domain::Event> history{};
    json::object model_state{kDefaultModel};

    service::RunRequest requested{};

    // Over as soon as it is started; `response` may be the error it could not be started with.
    base::Result<service::RunHold> start_run(const service::RunRequest& request, const Caller&,
                                             service::RunEnded ended) override {
        if (!response) return std::unexpected(response.error());
        requested = request;
        ended({});
        return service::RunHold{.started = {.run_id = "r", .agent_id = response->agent_id}};
    }
    base::Result<service::RunResponse> run_result(const std::string&) override { return response; }
    base::Status finish_run(const std::string&) override { return {}; }
    base::Result<json::object> status(const std::string& agent) override {
        if (agent == gone) return base::fail(base::ErrorCode::NotFound, "no agent '{}'", agent);
        return json::object{{"identity", {{"agent_id", agent}}},
                            {"agent", {{"status", "awake_idle"}, {"pending", 0}}},
                            {"scheduling_posture", {{"posture", "idle"}}},
                            {"lifecycle", json::object{}},
                            {"model", json::object{}},
                            {"closure", closure},
                            {"recent_operator_deliveries", deliveries}};
    }
    base::Result<std::vector<std::string>> agents() override { return known; }
    base::Result<std::vector<json::object>> agent_list(const service::AgentsQuery&) override {
        return listed;
    }
    base::Result<json::object> model(const std::string&) override { return model_state; }
    base::Result<json::object> set_model(const std::string&, const std::string& ref) override {
        model_state["source"] = "agent_override";
        model_state["effective_model"] = ref;
        model_state["override_model"] = ref;
        return model_state;
    }
    base::Result<json::object> clear_model(const std::string&) override {
        model_state = kDefaultModel;
        return model_state;
    }
    base::Result<service::Listed<domain::TranscriptEntry>> transcript(
        const std::string&, const service::ListQuery& query) override {
        last_list = query;
        return service::Listed<domain::TranscriptEntry>{.items = entries, .next = "17"};
    }
    base::Result<service::Listed<domain::Brief>> briefs(const std::string&,
                                                        const service::ListQuery&) override {
        return service::Listed<domain::Brief>{};
    }
    base::Result<std::vector<domain::Event>> events(const std::string&, std::int64_t after_seq,
                                                    std::int64_t limit) override {
        std::vector<domain::Event> page;
        for (const auto& event : history)
            if (event.event_seq > after_seq && std::ssize(page) < limit) page.push_back(event);
        return page;
    }
    base::Result<std::int64_t> newest_event(const std::string&) override {
        return history.empty() ? 0 : history.back().event_seq;
    }
    base::Result<std::vector<service::RecentRun>> recent_runs(std::int64_t) override {
        return runs;
    }
    std::vector<service::RecentRun> runs{};
    json::value closure{{"outcome", "completed"}};
    json::array deliveries{};
};

class Cli : public testing::Test {
protected:
    Exit run(Command command, const CapturedTerminal& captured) {
        return execute(command, {service, captured.terminal, clock, "main"});
    }

    FakeService service;
    base::SystemClock clock;
    const CapturedTerminal piped;
    const CapturedTerminal shown{true};
};

TEST_F(Cli, AListIsJsonInAPipeAndATableOnATerminal) {
    service.listed = {{{"identity", {{"agent_id", "k"}}},
                       {"status", "asleep"},
                       {"pending", 2},
                       {"scheduling_posture", {{"posture", "idle"}}}}};
    EXPECT_EQ(run(AgentListCommand{}, piped), Exit::Success);
    EXPECT_EQ(base::parse_json(piped.out()).value(), json::value(json::array{service.listed[0]}));
    EXPECT_EQ(run(AgentListCommand{}, shown), Exit::Success);
    EXPECT_EQ(shown.out(), "k  asleep  2 pending  idle\n");
}

TEST_F(Cli, AStatusIsJsonInAPipeAndLinesOnATerminal) {
    EXPECT_EQ(run(StatusCommand{.agent = "k"}, piped), Exit::Success);
    EXPECT_EQ(base::parse_json(piped.out()).value(), json::value(*service.status("k")));
    EXPECT_EQ(run(StatusCommand{}, shown), Exit::Success);
    EXPECT_THAT(shown.out(), testing::StartsWith("agent      main\nstatus     ready\n"));
}

// contract: CLOSE-10
TEST_F(Cli, AStatusExplainsTheClosureInWords) {
    const std::vector<std::pair<json::object, std::string>> table{
        {{{"outcome", "completed"}}, "done"},
        {{{"outcome", "continuable"}}, "has work to continue"},
        {{{"outcome", "failed"}}, "the last turn failed"},
        {{{"outcome", "waiting"}, {"waiting_reason", "awaiting_operator_input"}},
         "waiting for your next prompt"},
        {{{"outcome", "waiting"}, {"waiting_reason", "awaiting_external_change"}},
         "waiting for an external event"},
        {{{"outcome", "waiting"}, {"waiting_reason", "awaiting_task_result"}},
         "waiting for a background task"},
        {{{"outcome", "waiting"}, {"waiting_reason", "awaiting_timer"}}, "waiting for a timer"}};
    for (const auto& [closure, text] : table) {
        service.closure = closure;
        const CapturedTerminal captured(true);
        EXPECT_EQ(run(StatusCommand{}, captured), Exit::Success);
        EXPECT_THAT(captured.out(), testing::HasSubstr("state      " + text + "\n"));
        const CapturedTerminal in_pipe;
        EXPECT_EQ(run(StatusCommand{}, in_pipe), Exit::Success);
        EXPECT_EQ(base::parse_json(in_pipe.out()).value().at("closure"), json::value(closure));
    }
}

TEST_F(Cli, AStatusShowsWhatDidNotReachTheOperator) {
    EXPECT_EQ(run(StatusCommand{}, shown), Exit::Success);
    EXPECT_THAT(shown.out(), testing::Not(testing::HasSubstr("notices")));
    service.deliveries = {{{"status", "failed_to_submit"},
                           {"route_id", "notify.webhook"},
                           {"failure_summary", "HTTP 500\x1b[2J"}},
                          {{"status", "pending"}, {"route_id", "notify.command"}},
                          {{"status", "accepted_by_transport"}, {"route_id", "notify.command"}}};
    const CapturedTerminal captured(true);
    EXPECT_EQ(run(StatusCommand{}, captured), Exit::Success);
    EXPECT_THAT(captured.out(),
                testing::HasSubstr("notices    notify.webhook failed: HTTP 500\\x1b[2J\n"
                                   "notices    notify.command: being sent\n"));
}

TEST_F(Cli, JsonIsPrintedOnATerminalOnRequest) {
    EXPECT_EQ(run(StatusCommand{.json = true}, shown), Exit::Success);
    EXPECT_TRUE(base::parse_json(shown.out()));
}

TEST_F(Cli, AnErrorGoesToStandardErrorAndExitsOne) {
    service.gone = "k";
    EXPECT_EQ(run(StatusCommand{.agent = "k"}, piped), Exit::Error);
    EXPECT_EQ(piped.out(), "");
    EXPECT_EQ(piped.err(), "Error: no agent 'k'\n");
}

TEST_F(Cli, TheExitCodeSaysHowARunEnded) {
    using service::FinalStatus;
    const std::vector<std::pair<FinalStatus, Exit>> table{
        {FinalStatus::Completed, Exit::Success},
        {FinalStatus::Failed, Exit::Failed},
        {FinalStatus::MaxTurnsExceeded, Exit::MaxTurnsExceeded},
        {FinalStatus::Waiting, Exit::Waiting},
        {FinalStatus::Interrupted, Exit::Interrupted}};
    for (const auto& [status, exit] : table) {
        service.response = service::RunResponse{.agent_id = "k", .final_status = status};
        for (const bool json : {true, false}) {
            const CapturedTerminal captured;
            EXPECT_EQ(run(RunCommand{.json = json}, captured), exit);
        }
    }
    service.response = base::fail(base::ErrorCode::Unavailable, "not here");
    EXPECT_EQ(run(RunCommand{}, piped), Exit::Error);
}

TEST_F(Cli, ARunInJsonPrintsOneDocumentAndNothingElse) {
    service.response = service::RunResponse{.agent_id = "k", .final_text = "\x1b[2Jdone"};
    EXPECT_EQ(run(RunCommand{.json = true}, piped), Exit::Success);
    EXPECT_EQ(piped.err(), "");
    EXPECT_EQ(base::string_at(base::parse_json(piped.out()).value(), "agent_id"), "k");
    EXPECT_EQ(run(RunCommand{}, shown), Exit::Success);
    EXPECT_EQ(shown.out(), "\\x1b[2Jdone\n");
}

TEST_F(Cli, AnInterruptedRunSaysHowToResume) {
    service.response =
        service::RunResponse{.agent_id = "k", .final_status = service::FinalStatus::Interrupted};
    run(RunCommand{}, piped);
    EXPECT_THAT(piped.err(), testing::HasSubstr("holon run --resume --agent k"));
}

TEST_F(Cli, ATranscriptShowsWhoSaidWhatAndWhenWithoutItsEscapes) {
    service.entries = {
        {.kind = domain::TranscriptKind::IncomingMessage,
         .data = {{"origin", {{"kind", "operator"}}}, {"body", {{"text", "look\nclosely"}}}}},
        {.kind = domain::TranscriptKind::IncomingMessage,
         .data = {{"origin", {{"kind", "system"}}}, {"body", {{"text", "wake up"}}}}},
        {.kind = domain::TranscriptKind::AssistantRound,
         .data = {{"blocks",
                   json::array{{{"type", "text"}, {"text", "\x1b[2Jyes"}},
                               {{"type", "tool_use"}, {"name", "Sleep"}},
                               {{"type", "tool_use"}, {"name", "X"}, {"input", {{"cmd", "make"}}}},
                               {{"type", "tool_use"},
                                {"name", "ApplyPatch"},
                                {"input", {{"patch", "--- a/f\n+++ b/f\n@@\n-old\n+new"}}}}}}}},
        {.kind = domain::TranscriptKind::ToolResults,
         .data = {{"results", json::array{{{"is_error", true}, {"content", "no"}}}}}}};
    EXPECT_EQ(run(TranscriptCommand{}, shown), Exit::Success);
    const std::string clock = show::local_clock(base::Time{});
    const std::string margin(26, ' ');
    EXPECT_EQ(shown.out(), show::local_day(base::Time{}) + "\n" +     //
                               clock + "       you  look\n" +         //
                               margin + "closely\n" +                 //
                               clock + "   runtime  wake up\n" +      //
                               clock + "     agent  \\x1b[2Jyes\n" +  //
                               margin.substr(0, 19) + "calls  Sleep\n" + margin.substr(0, 19) +
                               "calls  $ make\n" + margin.substr(0, 19) +
                               "patch  ApplyPatch\n" +  //
                               margin + "--- a/f\n" +   //
                               margin + "+++ b/f\n" +   //
                               margin + "@@\n" +        //
                               margin + "-old\n" +      //
                               margin + "+new\n" +      //
                               clock + "     error  no\n");
    EXPECT_EQ(run(TranscriptCommand{}, piped), Exit::Success);
    EXPECT_EQ(base::parse_json(piped.out()).value().as_array().size(), 4U);
    EXPECT_EQ(run(TranscriptCommand{.limit = 2, .before = "17"}, piped), Exit::Success);
    EXPECT_EQ(service.last_list.limit, 2);
    EXPECT_EQ(service.last_list.before, "17");
    EXPECT_THAT(shown.err(), testing::HasSubstr("the same command with --before 17"));
}

TEST_F(Cli, TheModelOfAnAgentIsShownSetAndCleared) {
    EXPECT_EQ(run(AgentModelGetCommand{}, piped), Exit::Success);
    EXPECT_EQ(base::parse_json(piped.out()).value(), json::value(kDefaultModel));
    EXPECT_EQ(run(AgentModelSetCommand{.model = "xai/x", .agent = "k"}, shown), Exit::Success);
    EXPECT_EQ(run(AgentModelClearCommand{.agent = "k"}, shown), Exit::Success);
    EXPECT_EQ(shown.out(),
              "agent k uses xai/x (this agent's own; the default is vllm/m)\n"
              "agent k uses vllm/m (the default)\n");
    const CapturedTerminal set;
    EXPECT_EQ(run(AgentModelSetCommand{.model = "xai/x", .agent = "k"}, set), Exit::Success);
    EXPECT_EQ(base::parse_json(set.out()).value(),
              (json::value{{"ok", true}, {"agent_id", "k"}, {"model", service.model_state}}));
}

TEST_F(Cli, EventsAreOneObjectALine) {
    service.history = {{.event_seq = 1, .kind = "a"}, {.event_seq = 2, .kind = "b"}};
    EXPECT_EQ(run(EventsCommand{}, piped), Exit::Success);
    std::vector<std::string> kinds;
    for (const auto line : base::split_lines(piped.out()))
        kinds.push_back(base::string_at(base::parse_json(line).value(), "kind"));
    EXPECT_THAT(kinds, testing::ElementsAre("a", "b"));
}

TEST_F(Cli, EventsAreShownToTheLastOrItIsSaidHowManyMoreThereAre) {
    for (std::int64_t seq = 1; seq <= 1300; ++seq) service.history.push_back({.event_seq = seq});
    EXPECT_EQ(run(EventsCommand{}, piped), Exit::Success);
    EXPECT_EQ(base::split_lines(piped.out()).size(), 1300U);
    EXPECT_EQ(piped.err(), "");
    const CapturedTerminal part;
    EXPECT_EQ(run(EventsCommand{.limit = 600}, part), Exit::Success);
    EXPECT_EQ(base::split_lines(part.out()).size(), 600U);
    EXPECT_EQ(part.err(), "There are 700 more events: holon events --after-seq 600\n");
}

TEST_F(Cli, TheLastRunIsContinuedAndThatOfThisFolderFirst) {
    service.response = service::RunResponse{.agent_id = "k"};
    EXPECT_EQ(run(RunCommand{.continues = true}, piped), Exit::Error);
    EXPECT_THAT(piped.err(), testing::HasSubstr("no earlier run"));
    service.runs = {{.agent_id = "tmp_run_2", .text = "second", .cwd = "/other"},
                    {.agent_id = "tmp_run_1", .text = "first", .cwd = "/here"}};
    const CapturedTerminal captured;
    const RunCommand again{.request = {.text = "more"}, .continues = true};
    EXPECT_EQ(
        execute(
            again,
            {.service = service, .terminal = captured.terminal, .clock = clock, .cwd = "/here"}),
        Exit::Success);
    EXPECT_EQ(service.requested.agent, "tmp_run_1");
    EXPECT_EQ(run(again, captured), Exit::Success);
    EXPECT_EQ(service.requested.agent, "tmp_run_2");
    EXPECT_EQ(run(RunCommand{.list = true}, shown), Exit::Success);
    EXPECT_THAT(shown.out(), testing::HasSubstr("tmp_run_1"));
    EXPECT_THAT(shown.out(), testing::HasSubstr("second"));
}

TEST_F(Cli, ARunInJsonThatCannotBeginStillPrintsADocument) {
    service.response = base::fail(base::ErrorCode::Unavailable, "not here");
    EXPECT_EQ(run(RunCommand{.json = true}, piped), Exit::Error);
    EXPECT_EQ(base::parse_json(piped.out()).value(),
              (json::value{{"ok", false}, {"error", "not here"}, {"code", "unavailable"}}));
    EXPECT_EQ(piped.err(), "Error: not here\n");
}

TEST_F(Cli, PlainTextIsPrintedIntoAPipeOnRequest) {
    CapturedTerminal captured;
    captured.terminal.plain = true;
    EXPECT_EQ(run(StatusCommand{}, captured), Exit::Success);
    EXPECT_THAT(captured.out(), testing::StartsWith("agent      main\n"));
}

}  // namespace
}  // namespace cli
