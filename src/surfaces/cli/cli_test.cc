#include "surfaces/cli/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
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
    base::Result<std::vector<domain::TranscriptEntry>> transcript(const std::string&,
                                                                  std::int64_t) override {
        return entries;
    }
    base::Result<std::vector<domain::Brief>> briefs(const std::string&, std::int64_t) override {
        return {};
    }
    base::Result<std::vector<domain::Event>> events(const std::string&, std::int64_t,
                                                    std::int64_t) override {
        return history;
    }
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
    EXPECT_THAT(shown.out(), testing::StartsWith("k "));
    EXPECT_THAT(shown.out(), testing::HasSubstr("asleep            2 pending  idle\n"));
}

TEST_F(Cli, AStatusIsJsonInAPipeAndLinesOnATerminal) {
    EXPECT_EQ(run(StatusCommand{.agent = "k"}, piped), Exit::Success);
    EXPECT_EQ(base::parse_json(piped.out()).value(), json::value(*service.status("k")));
    EXPECT_EQ(run(StatusCommand{}, shown), Exit::Success);
    EXPECT_THAT(shown.out(), testing::StartsWith("agent      main\nstatus     awake_idle\n"));
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

TEST_F(Cli, ATranscriptShowsWhoSaidWhatWithoutItsEscapes) {
    service.entries = {
        {.kind = domain::TranscriptKind::IncomingMessage,
         .data = {{"body", {{"text", "look\nclosely"}}}}},
        {.kind = domain::TranscriptKind::AssistantRound,
         .data = {{"blocks", json::array{{{"type", "text"}, {"text", "\x1b[2Jyes"}},
                                         {{"type", "tool_use"}, {"name", "Sleep"}}}}}},
        {.kind = domain::TranscriptKind::ToolResults,
         .data = {{"results", json::array{{{"is_error", true}, {"content", "no"}}}}}}};
    EXPECT_EQ(run(TranscriptCommand{}, shown), Exit::Success);
    EXPECT_EQ(shown.out(),
              " operator  look\n"
              "           closely\n"
              "    agent  \\x1b[2Jyes\n"
              "    calls  Sleep \n"
              "    error  no\n");
    EXPECT_EQ(run(TranscriptCommand{}, piped), Exit::Success);
    EXPECT_EQ(base::parse_json(piped.out()).value().as_array().size(), 3U);
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

TEST(RunText, ListsItsPartsInOrder) {
    service::RunResponse response{.final_status = service::FinalStatus::Completed};
    EXPECT_EQ(run_text(response), "The run ended without a result.");
    response.final_text = "Text.";
    EXPECT_EQ(run_text(response), "Text.");
    response.final_status = service::FinalStatus::Waiting;
    response.waiting_reason = domain::WaitingReason::AwaitingTimer;
    response.sleep_reason = "tired";
    response.token_usage = {.input_tokens = 3, .output_tokens = 4, .total_tokens = 7};
    response.provider_cache_usage = service::CacheSummary{
        .read_input_tokens = 1, .creation_input_tokens = 2, .hit_rate = 0.333};
    EXPECT_EQ(run_text(response),
              "Text.\n\nRun status: waiting\n\nWaiting reason: awaiting_timer\n\nSleep reason: "
              "tired\n\nToken usage: input 3, output 4, total 7\n\nProvider cache: read 1, created "
              "2, hit rate 33.3%");
    response.provider_cache_usage->hit_rate.reset();
    EXPECT_THAT(run_text(response), testing::EndsWith("hit rate n/a"));
    response.tasks = {{{"task", {{"status", "completed"}, {"summary", "Command: make"}}}},
                      {{"task", {{"status", "failed"}, {"kind", "command_task"}}}}};
    EXPECT_THAT(run_text(response),
                testing::EndsWith("\n\nTasks:\n- [completed] Command: make\n- [failed] "
                                  "command_task"));
}

}  // namespace
}  // namespace cli
