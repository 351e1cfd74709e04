#include "agent/identity/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/sql/sqlite/sqlite_store.h"

namespace identity {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

constexpr base::Time kThen = base::Time(std::chrono::microseconds(1'925'000'000'000'000));

std::vector<std::string> keys(const json::object& object) {
    std::vector<std::string> list;
    for (const auto& member : object) list.emplace_back(member.key());
    return list;
}

AgentFacts full() {
    AgentFacts facts;
    facts.agent = {
        .agent_id = {"main"},
        .identity = {.agent_id = {"main"}, .kind = domain::AgentKind::Default},
        .sleep = domain::Sleep{.since = kThen, .reason = "tea", .until = kThen},
        .turn_index = 2,
        .attached_workspaces = {"ws-1"},
        .active_workspace_entry = domain::WorkspaceEntry{.workspace_id = "ws-1", .cwd = "/p/src"},
        .model_override = "openai/m",
        .current_work_item_id = domain::WorkItemId{"work_1"}};
    facts.statistics = {.agent_id = {"main"},
                        .last_turn_terminal = domain::TurnTerminal{.turn_index = 2},
                        .last_runtime_failure = domain::RuntimeFailure{.summary = "s"},
                        .last_continuation = domain::ContinuationResolution{},
                        .last_wake_reason = "operator_prompt",
                        .last_brief_at = kThen,
                        .total_message_count = 9,
                        .compacted_message_count = 4,
                        .total_input_tokens = 17,
                        .total_output_tokens = 8,
                        .total_model_rounds = 3,
                        .last_turn_token_usage = domain::TokenUsage{1, 2, 3},
                        .tool_latency = {{"ExecCommand", 1, 2, 2}}};
    facts.pending = 5;
    facts.active_tasks = {{.id = {"t1"}}, {.id = {"t2"}}};
    return facts;
}

// The keys every state has; the others appear with the facts they show.
const std::vector<std::string> kKeys{"id",
                                     "status",
                                     "sleeping_until",
                                     "current_run_id",
                                     "pending",
                                     "active_task_ids",
                                     "last_wake_reason",
                                     "last_brief_at",
                                     "turn_index",
                                     "last_continuation",
                                     "context_summary",
                                     "compacted_message_count",
                                     "total_message_count",
                                     "total_input_tokens",
                                     "total_output_tokens",
                                     "total_model_rounds",
                                     "tool_latency",
                                     "active_skills",
                                     "working_memory",
                                     "execution_profile",
                                     "attached_workspaces",
                                     "active_workspace_entry",
                                     "worktree_session",
                                     "pending_wake_hint"};

// contract: STATE-02
TEST(Views, AnAgentsStateHasTheKeysOfAgentState) {
    const json::object state = agent_state({.agent = {.agent_id = {"main"}}});
    EXPECT_THAT(keys(state), UnorderedElementsAreArray(kKeys));
    auto all = kKeys;
    all.insert(all.end(), {"last_turn_terminal", "last_runtime_failure", "last_turn_token_usage",
                           "active_workspace_id", "cwd", "model_override", "current_work_item_id"});
    EXPECT_THAT(keys(agent_state(full())), UnorderedElementsAreArray(all));
    for (const auto* absent : {"sleeping_until", "current_run_id", "last_wake_reason",
                               "last_brief_at", "last_continuation", "context_summary",
                               "active_workspace_entry", "worktree_session", "pending_wake_hint"})
        EXPECT_TRUE(state.at(absent).is_null()) << absent;
}

TEST(Views, AFullAgentsStateShowsEveryFact) {
    AgentFacts facts = full();
    json::object state = agent_state(facts);
    EXPECT_EQ(state.at("id"), "main");
    EXPECT_EQ(state.at("status"), "asleep");
    EXPECT_EQ(state.at("sleeping_until"), "2031-01-01T02:13:20.000000Z");
    EXPECT_EQ(state.at("pending"), 5);
    EXPECT_EQ(state.at("active_task_ids"), (json::value(json::array{"t1", "t2"})));
    EXPECT_EQ(state.at("last_wake_reason"), "operator_prompt");
    EXPECT_EQ(state.at("last_brief_at"), "2031-01-01T02:13:20.000000Z");
    EXPECT_EQ(state.at("turn_index"), 2);
    EXPECT_EQ(state.at("last_turn_terminal"), base::to_json(*facts.statistics.last_turn_terminal));
    EXPECT_EQ(state.at("last_runtime_failure"),
              base::to_json(*facts.statistics.last_runtime_failure));
    EXPECT_EQ(state.at("last_continuation"), base::to_json(*facts.statistics.last_continuation));
    EXPECT_EQ(state.at("compacted_message_count"), 4);
    EXPECT_EQ(state.at("total_message_count"), 9);
    EXPECT_EQ(state.at("total_input_tokens"), 17);
    EXPECT_EQ(state.at("total_output_tokens"), 8);
    EXPECT_EQ(state.at("total_model_rounds"), 3);
    EXPECT_EQ(state.at("last_turn_token_usage"), base::to_json(domain::TokenUsage{1, 2, 3}));
    EXPECT_EQ(state.at("tool_latency"), (json::value{{{"tool_name", "ExecCommand"},
                                                      {"total_calls", 1},
                                                      {"total_duration_ms", 2},
                                                      {"max_duration_ms", 2}}}));
    EXPECT_EQ(state.at("attached_workspaces"), (json::value(json::array{"ws-1"})));
    EXPECT_EQ(state.at("active_workspace_entry"),
              base::to_json(*facts.agent.active_workspace_entry));
    EXPECT_EQ(state.at("active_workspace_id"), "ws-1");
    EXPECT_EQ(state.at("cwd"), "/p/src");
    EXPECT_EQ(state.at("model_override"), "openai/m");
    EXPECT_EQ(state.at("current_work_item_id"), "work_1");

    facts.open_attempt = domain::Attempt{.run_id = {"run"}};
    state = agent_state(facts);
    EXPECT_EQ(state.at("current_run_id"), "run");
    EXPECT_EQ(state.at("status"), "awake_running");
}

// contract: MEM-01, MEM-04, MEM-15
TEST(Views, WorkingMemoryHasTheseMembersAndNoEpisodes) {
    AgentFacts facts{.agent = {.agent_id = {"main"}}};
    facts.statistics.compression_epoch = 3;
    facts.memory = {.agent_id = {"main"},
                    .working_memory_revision = 2,
                    .pending_working_memory_delta = domain::WorkingMemoryDelta{},
                    .last_prompted_working_memory_revision = 1,
                    .active_episode_id = "ep_1",
                    .archived_episode_count = 7,
                    .active_episode_builder = domain::EpisodeBuilder{.id = "ep_1"}};
    const auto memory = agent_state(facts).at("working_memory").as_object();
    std::set<std::string> names;
    for (const auto& member : memory) names.emplace(member.key());
    EXPECT_EQ(names, (std::set<std::string>{"working_memory_revision", "current_working_memory",
                                            "pending_working_memory_delta",
                                            "last_prompted_working_memory_revision",
                                            "active_episode_id", "archived_episode_count",
                                            "active_episode_builder", "compression_epoch"}));
    EXPECT_EQ(memory.at("archived_episode_count"), 7);
    EXPECT_EQ(memory.at("compression_epoch"), 3);
}

// The contract's five, and the two that the reference adds.
// contract: MODEL-02, MODEL-09
TEST(Views, TheAgentsOwnModelComesBeforeTheDefaultAndIsNamedAsSuch) {
    const ModelFacts models{
        .runtime_default_model = "anthropic/big",
        .fallbacks_of =
            [](const std::string& model) { return std::vector<std::string>{model + "-next"}; },
        .policy_of = [](const std::string& model) { return json::value{{"model_ref", model}}; }};
    EXPECT_EQ(model_state({.agent = {.agent_id = {"main"}}}, models),
              (json::object{{"source", "runtime_default"},
                            {"runtime_default_model", "anthropic/big"},
                            {"effective_model", "anthropic/big"},
                            {"effective_fallback_models", json::array{"anthropic/big-next"}},
                            {"fallback_active", false},
                            {"resolved_policy", {{"model_ref", "anthropic/big"}}}}));
    EXPECT_EQ(model_state({.agent = {.agent_id = {"main"}, .model_override = "openai/m"},
                           .statistics = {.fallback_active = true}},
                          models),
              (json::object{{"source", "agent_override"},
                            {"runtime_default_model", "anthropic/big"},
                            {"effective_model", "openai/m"},
                            {"effective_fallback_models", json::array{"openai/m-next"}},
                            {"fallback_active", true},
                            {"resolved_policy", {{"model_ref", "openai/m"}}},
                            {"override_model", "openai/m"}}));
}

// contract: PROV-60
TEST(Views, TheUsageOfAFreshAgentHasNoLastTurn) {
    AgentFacts facts{.agent = {.agent_id = {"main"}}};
    json::object usage = agent_summary(facts, {"a/b"}).at("token_usage").as_object();
    EXPECT_THAT(keys(usage), testing::UnorderedElementsAre("total", "total_model_rounds"));
    EXPECT_EQ(base::from_json<domain::TokenUsage>(usage.at("total"), base::Unknown::Reject).value(),
              domain::TokenUsage{});
    EXPECT_EQ(usage.at("total_model_rounds"), 0);
    facts.statistics.last_turn_token_usage = domain::TokenUsage{1, 2, 3};
    usage = agent_summary(facts, {"a/b"}).at("token_usage").as_object();
    EXPECT_EQ(usage.at("last_turn"), base::to_json(domain::TokenUsage{1, 2, 3}));
}

// contract: CLOSE-02
TEST(Views, ASummaryHasStatusAndClosureSideBySide) {
    const json::object summary = agent_summary(full(), {"anthropic/big"});
    EXPECT_EQ(summary.at("agent").at("status"), "asleep");
    EXPECT_EQ(summary.at("closure").at("outcome"), "completed");
    EXPECT_EQ(summary.at("identity").at("is_default_agent"), true);
    EXPECT_EQ(summary.at("active_task_count"), 2);
    EXPECT_EQ(summary.at("scheduling_posture"),
              (json::value{{"posture", "has_queued_input"}, {"reason", "5 messages are waiting"}}));
    EXPECT_EQ(
        summary.at("token_usage"),
        (json::value{
            {"total", {{"input_tokens", 17}, {"output_tokens", 8}, {"total_tokens", 25}}},
            {"total_model_rounds", 3},
            {"last_turn", {{"input_tokens", 1}, {"output_tokens", 2}, {"total_tokens", 3}}}}));
    EXPECT_EQ(summary.at("execution").at("workspace_id"), "ws-1");
}

TEST(Views, ThePostureNamesTheFirstThingThatApplies) {
    AgentFacts facts{.agent = {.agent_id = {"main"}, .turn_index = 1},
                     .statistics = {.last_turn_terminal = domain::TurnTerminal{.turn_index = 1}}};
    const auto posture = [](const AgentFacts& of) {
        return base::string_at(agent_summary(of, {}).at("scheduling_posture"), "posture");
    };
    EXPECT_EQ(posture(facts), "idle");
    for (const auto& [kind, expected] : std::vector<std::pair<domain::WaitKind, std::string>>{
             {domain::WaitKind::Task, "waiting_for_task"},
             {domain::WaitKind::Operator, "waiting_for_operator"},
             {domain::WaitKind::External, "waiting_for_external"},
             {domain::WaitKind::Timer, "waiting_for_external"}}) {
        facts.open_waits = {{.kind = kind}};
        EXPECT_EQ(posture(facts), expected);
    }
    facts.pending = 1;
    EXPECT_EQ(posture(facts), "has_queued_input");
    facts.open_attempt = domain::Attempt{};
    EXPECT_EQ(posture(facts), "active_turn");
    facts.agent.stopped = true;
    EXPECT_EQ(posture(facts), "archived");
}

// contract: STATE-35, STATE-36, STATE-37
TEST(Views, OnlyAStoppedAgentSaysHowToResumeIt) {
    const auto lifecycle = [](bool stopped) {
        const AgentFacts facts{.agent = {.agent_id = {"main"}, .stopped = stopped}};
        return agent_summary(facts, {}).at("lifecycle").as_object();
    };
    EXPECT_EQ(lifecycle(false), (json::object{{"resume_required", false},
                                              {"accepts_external_messages", true},
                                              {"wake_requires_resume", false}}));
    const json::object stopped = lifecycle(true);
    EXPECT_EQ(stopped.at("resume_required"), true);
    EXPECT_EQ(stopped.at("accepts_external_messages"), false);
    EXPECT_EQ(stopped.at("wake_requires_resume"), true);
    const std::string hint(stopped.at("operator_hint").as_string());
    EXPECT_THAT(hint, HasSubstr("resume it before sending a prompt"));
    EXPECT_THAT(hint, HasSubstr("wake cannot lift a stop"));
    EXPECT_EQ(stopped.at("resume_cli_hint"), "holon agent start main");
    EXPECT_EQ(stopped.at("resume_control_path"), "/control/agents/main/control");
}

TEST(Facts, AreReadTogetherAndBelongToOneAgent) {
    const auto store = sqlite::open({.file = ":memory:", .mode = sqlite::Mode::Inline}).value();
    const auto fill = [](store::Tx& tx, const domain::AgentId& id) -> base::Status {
        TRY(tx.put_agent({.agent_id = id}));
        TRY(tx.put_statistics({.agent_id = id, .last_wake_reason = id.value}));
        TRY(tx.append_message({.id = {id.value + "-m"}, .agent_id = id}, std::nullopt));
        TRY(tx.open_attempt({.run_id = {id.value + "-r"}, .agent_id = id, .message_id = {"m"}}));
        TRY(tx.put_task({.id = {id.value + "-t"}, .agent_id = id}));
        TRY(tx.put_wait({.id = {id.value + "-w"}, .agent_id = id}));
        return tx.put_timer({.id = {id.value + "-i"}, .agent_id = id, .next_fire_at = kThen});
    };
    const auto status =
        store->write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
            TRY(fill(tx, {"main"}));
            TRY(fill(tx, {"other"}));
            const auto facts = TRY(load_facts(tx, {"main"}));
            EXPECT_EQ(facts.agent.agent_id.value, "main");
            EXPECT_EQ(facts.statistics.last_wake_reason, "main");
            EXPECT_EQ(facts.open_attempt->run_id.value, "main-r");
            EXPECT_EQ(facts.pending, 1);
            EXPECT_EQ(facts.active_tasks.size(), 1U);
            EXPECT_EQ(facts.open_waits.size(), 1U);
            EXPECT_EQ(facts.active_timers.size(), 1U);
            const auto missing = load_facts(tx, {"nobody"});
            EXPECT_FALSE(missing);
            EXPECT_EQ(missing.error().code, base::ErrorCode::NotFound);
            EXPECT_THAT(missing.error().message, HasSubstr("--create-agent"));
            return {};
        });
    EXPECT_TRUE(status) << status.error().message;
}

// contract: API-06
TEST(AgentViews, TheListLeavesOutTheDetailsOfAWorktree) {
    AgentFacts facts = full();
    facts.agent.active_workspace_entry->projection_metadata = domain::ProjectionMetadata{
        .worktree_session = domain::WorktreeSession{.worktree_branch = "holon/x"}};
    const json::object entry = agent_list_entry(facts, {});
    EXPECT_EQ(entry.at("last_brief_at"), "2031-01-01T02:13:20.000000Z");
    const auto& place = entry.at("active_workspace_entry").as_object();
    EXPECT_EQ(place.at("workspace_id"), json::value("ws-1"));
    EXPECT_FALSE(place.contains("projection_metadata"));
    EXPECT_THAT(base::json_text(entry), testing::Not(HasSubstr("holon/x")));
    EXPECT_THAT(base::json_text(agent_state(facts)), HasSubstr("holon/x"));
}

}  // namespace
}  // namespace identity
