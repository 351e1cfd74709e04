// Every stored record survives a trip through its JSON, full and empty.
#include <gtest/gtest.h>

#include "domain/agent.h"
#include "domain/message.h"
#include "domain/record.h"
#include "domain/tool.h"
#include "domain/trigger.h"
#include "domain/turn.h"
#include "domain/waiting.h"
#include "domain/work.h"

namespace domain {
namespace {

constexpr Time kThen = Time(std::chrono::microseconds(1'925'000'000'000'000));

template <class T>
void expect_round_trip(const T& record) {
    const std::string text = base::json_text(base::to_json(record));
    const auto read = base::from_json<T>(base::parse_json(text).value());
    ASSERT_TRUE(read) << text << ": " << read.error().message;
    EXPECT_EQ(*read, record) << text << "\n" << base::json_text(base::to_json(*read));
}

std::string canonical(std::string_view text) {
    return base::canonical_json(base::parse_json(text).value());
}

template <class T>
std::string text_of(const T& record) {
    return base::canonical_json(base::to_json(record));
}

TurnTerminal terminal() {
    return {.turn_index = 3,
            .kind = TerminalKind::Aborted,
            .reason = std::string(kReasonInterrupted),
            .last_assistant_message = "half",
            .completed_at = kThen,
            .duration_ms = 1500};
}

FailureArtifact artifact() {
    return {.category = FailureCategory::Transport,
            .kind = "timeout",
            .summary = "no answer",
            .provider = "anthropic",
            .model_ref = "anthropic/m",
            .status = 504,
            .task_id = TaskId{"t"},
            .exit_status = 1,
            .source_chain = std::vector<std::string>{"outer", "inner"},
            .metadata = std::map<std::string, std::string>{{"k", "v"}}};
}

TEST(Records, AnAttemptReadsBackInEachOfItsStates) {
    Attempt attempt{.run_id = {"r"}, .agent_id = {"main"}, .message_id = {"m"}};
    expect_round_trip(attempt);
    attempt = {.run_id = {"r"},
               .agent_id = {"main"},
               .message_id = {"m"},
               .turn_index = 3,
               .rounds_max = 40,
               .output_limit_recoveries = 1,
               .restarts = 2,
               .model_ref = "anthropic/m",
               .token_usage = {10, 5, 15},
               .sleep_request = SleepRequest{"later", 200},
               .last_assistant_message = "text",
               .opened_at = kThen,
               .closed_at = kThen + std::chrono::seconds(2),
               .terminal = terminal()};
    for (const TurnState& state :
         {TurnState{Thinking{7}}, TurnState{AwaitingTools{2, {{"c-1"}, {"c-2"}}, 1}},
          TurnState{Closed{}}}) {
        attempt.state = state;
        expect_round_trip(attempt);
    }
    EXPECT_EQ(text_of(TurnState{Thinking{7}}),
              canonical(R"({"state":"thinking","round":7,"continues_text":false})"));
    EXPECT_EQ(text_of(TurnState{AwaitingTools{2, {{"c-1"}}, 1}}),
              canonical(R"({"state":"awaiting_tools","round":2,"calls":["c-1"],"next":1,
                           "text":""})"));
    // As an earlier program wrote it.
    EXPECT_EQ(base::from_json<TurnState>(
                  json::parse(R"({"state":"awaiting_tools","round":2,"calls":["c-1"],"next":1})"))
                  .value(),
              (TurnState{AwaitingTools{2, {{"c-1"}}, 1}}));
    EXPECT_EQ(text_of(TurnState{Closed{}}), canonical(R"({"state":"closed"})"));
}

// contract: WORK-02, WORK-04, WORK-05, WORK-06, WORK-07, WORK-08
TEST(Records, AWorkItemHasTheseFieldsAndRefusesOtherStates) {
    WorkItem item{.id = {"work_1"}, .agent_id = {"main"}, .workspace_id = "ws", .objective = "o"};
    const auto bare = base::to_json(item).as_object();
    for (const char* field : {"id", "agent_id", "workspace_id", "objective", "state", "plan_status",
                              "todo_list", "created_at", "updated_at"})
        EXPECT_TRUE(bare.contains(field)) << field;
    for (const char* field :
         {"plan", "blocked_by", "recheck_at", "recheck_consumed_at", "result_summary"})
        EXPECT_FALSE(bare.contains(field)) << field;
    item.plan = item.blocked_by = item.result_summary = "text";
    item.recheck_at = item.recheck_consumed_at = Time{};
    item.todo_list = {{"a", TodoState::InProgress}};
    expect_round_trip(item);
    const auto full = base::to_json(item).as_object();
    for (const char* field :
         {"plan", "blocked_by", "recheck_at", "recheck_consumed_at", "result_summary"})
        EXPECT_TRUE(full.contains(field)) << field;
    EXPECT_TRUE(full.at("plan").is_string());
    EXPECT_EQ(full.at("todo_list"),
              (json::array{json::object{{"text", "a"}, {"state", "in_progress"}}}));
    for (const char* field : {"state", "plan_status"}) {
        auto wrong = full;
        wrong[field] = "queued";
        EXPECT_FALSE(base::from_json<WorkItem>(wrong)) << field;
    }
    auto wrong = full;
    wrong["todo_list"].as_array()[0].as_object()["state"] = "maybe";
    EXPECT_FALSE(base::from_json<WorkItem>(wrong));
}

// contract: TURN-02
TEST(Records, ATerminalRecordHasIndexKindTextTimeAndDuration) {
    expect_round_trip(terminal());
    EXPECT_EQ(text_of(terminal()), canonical(R"({"turn_index":3,"kind":"aborted",
        "reason":"interrupted","last_assistant_message":"half",
        "completed_at":"2031-01-01T02:13:20.000000Z","duration_ms":1500})"));
    EXPECT_EQ(text_of(TurnTerminal{.turn_index = 1, .completed_at = kThen}),
              canonical(R"({"turn_index":1,"kind":"completed",
        "completed_at":"2031-01-01T02:13:20.000000Z","duration_ms":0})"));
}

TEST(Records, AToolExecutionReadsBackInEachOfItsStates) {
    ToolExecution execution{.call = {.call_id = {"c"},
                                     .run_id = {"r"},
                                     .step_id = "round-1.1",
                                     .agent_id = {"main"},
                                     .source = CallSource::PlanStep,
                                     .tool = "ExecCommand",
                                     .args = {{"cmd", "true"}},
                                     .args_hash = "sha256:0",
                                     .attempt = 2,
                                     .timeout_ms = 5,
                                     .deadline_at = kThen,
                                     .cancellable = false,
                                     .created_at = kThen,
                                     .executor_version = "1",
                                     .tool_registry_version = "2",
                                     .preview = "true",
                                     .risk_level = RiskLevel::Commands,
                                     .category = "process",
                                     .policy = {.confirmations_required = true,
                                                .sandbox = {.enabled = true,
                                                            .allowed_roots = {"/a"},
                                                            .deny_patterns = {"*.key"}},
                                                .limits = {.max_concurrency = 3}},
                                     .confirmation_id = "ok",
                                     .authority_class = AuthorityClass::ExternalEvidence},
                            .tool_use_id = "toolu_1",
                            .turn_index = 1,
                            .round = 2,
                            .ordinal = 3,
                            .trust = TrustLevel::UntrustedExternal};
    expect_round_trip(execution);
    execution.state = CallState::Started;
    execution.started_at = kThen;
    expect_round_trip(execution);
    execution.state = CallState::Finished;
    execution.result = ToolResult{.call_id = {"c"},
                                  .run_id = {"r"},
                                  .step_id = "round-1.1",
                                  .tool = "ExecCommand",
                                  .attempt = 2,
                                  .status = ResultStatus::Error,
                                  .ok = false,
                                  .data = json::value{{"exit_status", 3}},
                                  .data_hash = "sha256:1",
                                  .error = ResultError{"code", "text", json::value{{"d", 1}}, true},
                                  .started_at = kThen,
                                  .ended_at = kThen,
                                  .duration_ms = 12,
                                  .effects = {.observed = false,
                                              .side_effects_observed = true,
                                              .created = {{"a", PathKind::File}},
                                              .modified = {{"b", PathKind::Link, "e1", "e2"}},
                                              .deleted = {{"c", PathKind::Folder, true}},
                                              .renamed = {{"d", "e"}}},
                                  .user_message = "failed",
                                  .debug_message = "exit 3"};
    execution.envelope = json::value{{"status", "error"}};
    execution.receipt = "receipt";
    expect_round_trip(execution);
}

TEST(Records, AnAgentReadsBack) {
    Agent agent{.agent_id = {"main"}, .identity = {.agent_id = {"main"}}};
    expect_round_trip(agent);
    agent.identity = {.agent_id = {"tmp_child_1"},
                      .kind = AgentKind::Child,
                      .visibility = Visibility::Private,
                      .ownership = Ownership::ParentSupervised,
                      .profile_preset = ProfilePreset::PrivateChild,
                      .status = IdentityStatus::Archived,
                      .parent_agent_id = AgentId{"main"},
                      .lineage_parent_agent_id = AgentId{"main"},
                      .delegated_from_task_id = TaskId{"t"},
                      .created_at = kThen,
                      .updated_at = kThen};
    agent.paused = agent.stopped = true;
    agent.sleep = Sleep{kThen, "until the build is done", kThen};
    agent.turn_index = 3;
    agent.attached_workspaces = {"ws-1"};
    agent.active_workspace_entry = WorkspaceEntry{"ws-1",
                                                  "/p",
                                                  "git_worktree_root:ws-1:/w",
                                                  "/w",
                                                  ProjectionKind::GitWorktreeRoot,
                                                  AccessMode::ExclusiveWrite,
                                                  "/w/src"};
    agent.model_override = "openai/m";
    agent.current_work_item_id = WorkItemId{"work_1"};
    expect_round_trip(agent);
}

TEST(Records, StatisticsReadBack) {
    AgentStatistics statistics{.agent_id = {"main"}};
    expect_round_trip(statistics);
    statistics.last_turn_terminal = terminal();
    statistics.last_runtime_failure =
        RuntimeFailure{kThen, "it broke", "runtime_turn", "hint", artifact()};
    statistics.last_continuation =
        ContinuationResolution{.trigger_kind = TriggerKind::SystemTick,
                               .class_ = ContinuationClass::LivenessOnly,
                               .model_visible = false,
                               .prior_closure_outcome = ClosureOutcome::Waiting,
                               .prior_waiting_reason = WaitingReason::AwaitingTimer,
                               .matched_waiting_reason = true,
                               .evidence = {"a bare wake"}};
    statistics.last_wake_reason = "operator_prompt";
    statistics.last_brief_at = kThen;
    statistics.total_message_count = 1;
    statistics.compacted_message_count = 2;
    statistics.total_input_tokens = 3;
    statistics.total_output_tokens = 4;
    statistics.total_model_rounds = 5;
    statistics.last_turn_token_usage = TokenUsage{1, 2, 3};
    statistics.tool_latency = {{"ExecCommand", 2, 30, 20}};
    statistics.total_turn_ms = 6;
    expect_round_trip(statistics);
    const json::value continuation = base::to_json(*statistics.last_continuation);
    EXPECT_TRUE(continuation.as_object().contains("class"));
}

TEST(Statistics, CountEachToolByItsName) {
    AgentStatistics statistics;
    count_call(statistics, "Read", true, 5);
    count_call(statistics, "Write", true, 1);
    count_call(statistics, "Read", true, 3);
    EXPECT_EQ(statistics.tool_latency,
              (std::vector<ToolLatency>{{"Read", 2, 8, 5}, {"Write", 1, 1, 1}}));
}

TEST(Statistics, CountNamesThatNoToolHasTogether) {
    AgentStatistics statistics{.tool_latency = {{"Invented", 1, 1, 1}}};
    count_call(statistics, "Invented", false, 5);
    count_call(statistics, "Another", false, 7);
    EXPECT_EQ(statistics.tool_latency,
              (std::vector<ToolLatency>{{"Invented", 1, 1, 1}, {"(other)", 2, 12, 7}}));
}

TEST(Statistics, KeepABoundedNumberOfNames) {
    AgentStatistics statistics;
    for (std::size_t i = 0; i < 2 * kToolLatencyMax; ++i)
        count_call(statistics, "tool-" + std::to_string(i), true, 2);
    count_call(statistics, "tool-0", true, 2);
    ASSERT_EQ(statistics.tool_latency.size(), kToolLatencyMax);
    EXPECT_EQ(statistics.tool_latency.front(), (ToolLatency{"tool-0", 2, 4, 2}));
    const auto rest = static_cast<std::int64_t>(kToolLatencyMax + 1);
    EXPECT_EQ(statistics.tool_latency.back(), (ToolLatency{"(other)", rest, 2 * rest, 2}));
}

TEST(Statistics, FoldTheNamesThatAnOlderProgramHasCounted) {
    for (const std::size_t had : {kToolLatencyMax - 1, kToolLatencyMax, 3 * kToolLatencyMax}) {
        AgentStatistics statistics;
        for (std::size_t i = 0; i < had; ++i)
            statistics.tool_latency.push_back({"invented-" + std::to_string(i), 1, 2, 2});
        count_call(statistics, "NoSuchTool", false, 9);
        EXPECT_EQ(statistics.tool_latency.size(), kToolLatencyMax) << had;
        std::int64_t calls = 0;
        for (const auto& entry : statistics.tool_latency) calls += entry.calls;
        EXPECT_EQ(calls, static_cast<std::int64_t>(had + 1));
        EXPECT_EQ(statistics.tool_latency.back().tool_name, kOtherTools);
        EXPECT_EQ(statistics.tool_latency.back().max_ms, 9);
    }
}

TEST(Records, WaitsTimersAndTasksReadBackAndWriteTheirNulls) {
    expect_round_trip(Wait{.id = {"w"}, .agent_id = {"main"}});
    expect_round_trip(Wait{{"w"},
                           {"main"},
                           WaitKind::External,
                           WaitStatus::Resolved,
                           "subject",
                           "a reply",
                           MessageId{"m"},
                           RunId{"r"},
                           kThen,
                           kThen,
                           kThen});
    expect_round_trip(Timer{{"t"},
                            {"main"},
                            kThen,
                            5,
                            10,
                            true,
                            TimerStatus::Completed,
                            "tea",
                            kThen,
                            kThen,
                            2,
                            MessageId{"m"},
                            WaitId{"w"}});
    EXPECT_EQ(text_of(Timer{.id = {"t"}, .agent_id = {"main"}, .created_at = kThen}),
              canonical(R"({"id":"t","agent_id":"main","created_at":"2031-01-01T02:13:20.000000Z",
        "duration_ms":0,"interval_ms":null,"repeat":false,"status":"active","summary":null,
        "next_fire_at":null,"last_fired_at":null,"fire_count":0})"));
    expect_round_trip(Task{{"t"},
                           {"main"},
                           TaskKind::ChildAgentTask,
                           TaskStatus::Interrupted,
                           kThen,
                           kThen,
                           MessageId{"m"},
                           WorkItemId{"work_1"},
                           "summary",
                           json::value{{"cmd", "true"}},
                           json::value{{"kind", "command_task"}}});
    EXPECT_EQ(
        text_of(Task{.id = {"t"}, .agent_id = {"main"}, .created_at = kThen, .updated_at = kThen}),
        canonical(R"({"id":"t","agent_id":"main","kind":"command_task","status":"queued",
        "created_at":"2031-01-01T02:13:20.000000Z","updated_at":"2031-01-01T02:13:20.000000Z",
        "parent_message_id":null,"summary":null,"detail":null,"recovery":null})"));
}

// contract: BRIEF-14
TEST(Records, ABriefHasTheKeysPeopleAndScriptsRead) {
    expect_round_trip(Brief{{"b"},
                            {"main"},
                            "ws-1",
                            WorkItemId{"work_1"},
                            BriefKind::Failure,
                            BriefVisibility::ActionRequired,
                            kThen,
                            "it failed",
                            std::vector<BriefAttachment>{{.uri = "file:///log"}},
                            MessageId{"m"},
                            TaskId{"t"}});
    EXPECT_EQ(text_of(Brief{.id = {"b"}, .agent_id = {"main"}, .created_at = kThen}),
              canonical(R"({"id":"b","agent_id":"main","workspace_id":"","kind":"result",
        "created_at":"2031-01-01T02:13:20.000000Z","text":"","attachments":null,
        "related_message_id":null,"related_task_id":null})"));
}

TEST(Records, ATranscriptEntryWritesWhatItLacksAsNull) {
    const TranscriptEntry bare{
        .id = "e", .agent_id = {"main"}, .run_id = {"r"}, .created_at = kThen};
    EXPECT_EQ(text_of(bare), canonical(R"({"id":"e","agent_id":"main","run_id":"r",
        "created_at":"2031-01-01T02:13:20.000000Z","kind":"incoming_message","round":null,
        "related_message_id":null,"stop_reason":null,"input_tokens":null,"output_tokens":null,
        "data":null})"));
    expect_round_trip(bare);
    expect_round_trip(TranscriptEntry{"e",
                                      {"main"},
                                      {"r"},
                                      kThen,
                                      TranscriptKind::ToolResults,
                                      2,
                                      MessageId{"m"},
                                      "end_turn",
                                      3,
                                      4,
                                      json::value{{"results", json::array{}}}});
}

TEST(Records, TriggersAndHintsReadBackAndWriteTheirNulls) {
    expect_round_trip(ExternalTrigger{.external_trigger_id = {"x"},
                                      .target_agent_id = {"main"},
                                      .delivery_mode = DeliveryMode::EnqueueMessage,
                                      .token_hash = "h",
                                      .status = TriggerStatus::Revoked,
                                      .created_at = kThen,
                                      .revoked_at = kThen,
                                      .last_delivered_at = kThen,
                                      .delivery_count = 2});
    expect_round_trip(WakeHint{.target_agent_id = {"main"},
                               .reason = "r",
                               .description = "d",
                               .source = "s",
                               .scope = TriggerScope::Agent,
                               .delivery_mode = DeliveryMode::WakeHint,
                               .waiting_intent_id = "w",
                               .external_trigger_id = ExternalTriggerId{"x"},
                               .resource = "pr",
                               .body = TextBody{"news"},
                               .content_type = "text/plain",
                               .correlation_id = "c",
                               .causation_id = "k",
                               .trust = TrustLevel::TrustedIntegration,
                               .created_at = kThen,
                               .merged_count = 1,
                               .merged = {{.reason = "q", .created_at = kThen}}});
    EXPECT_EQ(text_of(WakeHint{.target_agent_id = {"main"}, .reason = "r", .created_at = kThen}),
              canonical(R"({"target_agent_id":"main","reason":"r","source":null,"body":null,
        "content_type":null,"correlation_id":null,"causation_id":null,"trust":"trusted_system",
        "created_at":"2031-01-01T02:13:20.000000Z","merged_count":0,"merged":[]})"));
}

TEST(Records, EventsAndQueueEntriesReadBack) {
    expect_round_trip(Event{{"e"}, 7, kThen, "turn_started", json::value{{"round", 1}}});
    expect_round_trip(QueueEntry{
        {"m"}, {"main"}, Priority::Next, QueueStatus::Dropped, 3, 1, "too old", kThen, kThen});
    expect_round_trip(QueueEntry{.message_id = {"m"}, .agent_id = {"main"}});
}

// contract: CLOSE-01
TEST(Records, AClosureDecisionHasItsMembersAndOnlyThoseThatApply) {
    const WorkSignal signal{{"work_1"}, WorkSignalStatus::Queued, ReactivationMode::ActivateQueued};
    const ClosureDecision continuable{.outcome = ClosureOutcome::Continuable,
                                      .work_signal = signal,
                                      .evidence = {"a queued item is runnable"}};
    expect_round_trip(continuable);
    EXPECT_EQ(text_of(continuable), canonical(R"({"outcome":"continuable",
        "work_signal":{"work_item_id":"work_1","status":"queued",
        "reactivation_mode":"activate_queued"},
        "runtime_posture":"awake","evidence":["a queued item is runnable"]})"));
    EXPECT_EQ(text_of(ClosureDecision{.outcome = ClosureOutcome::Waiting,
                                      .waiting_reason = WaitingReason::AwaitingTimer,
                                      .runtime_posture = RuntimePosture::Sleeping}),
              canonical(R"({"outcome":"waiting","waiting_reason":"awaiting_timer",
        "runtime_posture":"sleeping","evidence":[]})"));
    EXPECT_EQ(text_of(ClosureDecision{}),
              canonical(R"({"outcome":"completed","runtime_posture":"awake","evidence":[]})"));
}

TEST(Records, AnAgentIdIsOnePathComponentOfPlainCharacters) {
    for (const std::string& id : {std::string("main"), std::string("a"), std::string("A.b-c_9"),
                                  std::string(".hidden"), std::string("..a"), std::string(64, 'x')})
        EXPECT_TRUE(is_agent_id(id)) << id;
    for (const std::string& id :
         {std::string(), std::string("."), std::string(".."), std::string("..."),
          std::string("a/b"), std::string("a b"), std::string("a\n"), std::string("a\0b", 3),
          std::string("\xC3\xA4"), std::string(65, 'x'), std::string("a:b")})
        EXPECT_FALSE(is_agent_id(id)) << base::json_text(json::value(id));
}

TEST(Records, EqualArgumentsHashEquallyWhateverTheirOrder) {
    const json::value one = base::parse_json(R"({"a":1,"b":{"c":2,"d":3}})").value();
    const json::value same = base::parse_json(R"({"b":{"d":3,"c":2},"a":1})").value();
    const json::value other = base::parse_json(R"({"a":1,"b":{"c":2,"d":4}})").value();
    EXPECT_EQ(args_hash(one), args_hash(same));
    EXPECT_NE(args_hash(one), args_hash(other));
    EXPECT_TRUE(args_hash(one).starts_with("sha256:"));
    EXPECT_EQ(args_hash(one).size(), std::string_view("sha256:").size() + 64);
}

TEST(Records, TokenUsageAddsUpFieldByField) {
    EXPECT_EQ((TokenUsage{10, 5, 15} + TokenUsage{7, 3, 10}), (TokenUsage{17, 8, 25}));
}

// contract: PROV-48
TEST(AttemptTimeline, OnlyASingleAttemptTakesTheTimingOfItsRound) {
    const Time start = base::from_micros(1'000'000), end = base::from_micros(1'250'000);
    AttemptTimeline one{.attempts = {{.provider = "a"}}};
    fill_timing(one, start, end);
    EXPECT_EQ(one.attempts[0].started_at, start);
    EXPECT_EQ(one.attempts[0].completed_at, end);
    EXPECT_EQ(one.attempts[0].duration_ms, 250);
    AttemptTimeline two{.attempts = {{.provider = "a"}, {.provider = "b"}}};
    const AttemptTimeline before = two;
    fill_timing(two, start, end);
    EXPECT_EQ(two, before);
    AttemptTimeline timed{.attempts = {{.provider = "a", .duration_ms = 7}}};
    const AttemptTimeline known = timed;
    fill_timing(timed, start, end);
    EXPECT_EQ(timed, known);
}

// contract: FAIL-02
TEST(FailureArtifact, HasTheseFieldsAndLeavesOutWhatIsNotKnown) {
    const FailureArtifact full{.category = FailureCategory::Task,
                               .kind = "command_failed",
                               .summary = "exit 3",
                               .provider = "a",
                               .model_ref = "a/b",
                               .status = 500,
                               .task_id = TaskId{"t"},
                               .exit_status = 3,
                               .source_chain = std::vector<std::string>{"x"},
                               .metadata = std::map<std::string, std::string>{{"k", "v"}}};
    EXPECT_EQ(base::to_json(full), base::parse_json(R"({"category": "task",
        "kind": "command_failed", "summary": "exit 3", "provider": "a", "model_ref": "a/b",
        "status": 500, "task_id": "t", "exit_status": 3, "source_chain": ["x"],
        "metadata": {"k": "v"}})")
                                       .value());
    EXPECT_EQ(base::to_json(FailureArtifact{.summary = "odd"}),
              base::parse_json(R"({"category": "unknown", "kind": "", "summary": "odd"})").value());
}

}  // namespace
}  // namespace domain
