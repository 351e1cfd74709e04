// What a client of the reference reads of an agent: every field that it needs is served.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/daemon/daemon_world.h"

namespace e2e {
namespace {

namespace fs = std::filesystem;
using testing::IsSupersetOf;

// The fields that a record always has; those that may be null are in it, too.
struct Record {
    const char* pointer;
    std::vector<std::string> fields;
};
const std::vector<Record>& records() {
    static const std::vector<Record> all{
        {"",
         {"identity", "agent", "scheduling_posture", "active_task_count", "lifecycle", "model",
          "token_usage", "closure", "execution", "loaded_agents_md", "skills",
          "active_waiting_intents", "active_external_triggers", "recent_operator_notifications",
          "recent_brief_count", "recent_event_count"}},
        {"/identity",
         {"agent_id", "kind", "visibility", "ownership", "profile_preset", "status",
          "is_default_agent"}},
        {"/agent",
         {"id",
          "status",
          "sleeping_until",
          "current_run_id",
          "pending",
          "last_wake_reason",
          "last_brief_at",
          "turn_index",
          "last_continuation",
          "working_memory",
          "context_summary",
          "compacted_message_count",
          "total_message_count",
          "total_input_tokens",
          "total_output_tokens",
          "total_model_rounds",
          "execution_profile",
          "attached_workspaces",
          "active_workspace_entry",
          "worktree_session",
          "pending_wake_hint",
          "active_skills",
          "tool_latency"}},
        {"/agent/working_memory",
         {"working_memory_revision", "compression_epoch", "current_working_memory",
          "archived_episode_count"}},
        {"/agent/execution_profile",
         {"backend", "process_execution_exposed", "allow_background_tasks",
          "supports_managed_worktrees"}},
        {"/agent/active_workspace_entry",
         {"workspace_id", "workspace_anchor", "execution_root_id", "execution_root",
          "projection_kind", "access_mode", "cwd"}},
        {"/agent/last_turn_terminal", {"turn_index", "kind", "completed_at", "duration_ms"}},
        {"/agent/last_continuation",
         {"trigger_kind", "class", "prior_closure_outcome", "matched_waiting_reason"}},
        {"/agent/tool_latency/0", {"tool_name", "total_calls", "total_duration_ms"}},
        {"/agent/active_skills/0",
         {"skill_id", "name", "path", "scope", "agent_id", "activation_source", "activation_state",
          "activated_at_turn"}},
        {"/scheduling_posture", {"posture", "reason"}},
        {"/lifecycle", {"resume_required", "accepts_external_messages", "wake_requires_resume"}},
        {"/model",
         {"source", "runtime_default_model", "effective_model", "fallback_active",
          "resolved_policy"}},
        {"/model/resolved_policy",
         {"model_ref", "display_name", "description", "effective_context_window_percent",
          "prompt_budget_estimated_tokens", "compaction_trigger_estimated_tokens",
          "compaction_keep_recent_estimated_tokens", "runtime_max_output_tokens",
          "tool_output_truncation_estimated_tokens", "capabilities", "source"}},
        {"/token_usage", {"total", "total_model_rounds"}},
        {"/closure", {"outcome", "runtime_posture"}},
        {"/execution", {"profile", "policy", "workspace_anchor", "execution_root", "cwd"}},
        {"/execution/policy",
         {"backend", "process_execution_exposed", "managed_worktree_supported",
          "resource_authority", "process_execution"}},
        {"/skills",
         {"agent_templates_catalog", "discovered_roots", "discoverable_skills", "attached_skills",
          "active_skills"}},
        {"/skills/agent_templates_catalog/0", {"catalog_id", "template", "template_id", "source"}},
        {"/skills/discovered_roots/0", {"scope", "path"}},
        {"/skills/discoverable_skills/0", {"skill_id", "name", "path", "scope"}},
        {"/loaded_agents_md/agent_source", {"scope", "kind", "path"}},
        {"/active_external_triggers/0",
         {"external_trigger_id", "target_agent_id", "scope", "delivery_mode", "status",
          "created_at", "revoked_at", "last_delivered_at", "delivery_count"}}};
    return all;
}

void expect_fields(const json::value& summary) {
    for (const auto& [pointer, fields] : records()) {
        boost::system::error_code missing;
        const auto* record = summary.find_pointer(pointer, missing);
        ASSERT_TRUE(record && record->is_object()) << pointer;
        EXPECT_THAT(keys_of(*record), IsSupersetOf(fields)) << pointer;
    }
}

// contract: IDENT-02, IDENT-03, IDENT-04, IDENT-05, IDENT-06, IDENT-54
TEST(ServedState, HasEveryFieldThatClientsNeed) {
    DaemonWorld world;
    const auto skill = world.agent_home("main") / "skills/pdf";
    world.script({runs("cat " + (skill / "SKILL.md").string()), says("Done.")});
    world.daemon({"start"});
    fs::create_directories(skill);
    world.write(skill / "SKILL.md", "---\nname: pdf\ndescription: d\n---\n");
    world.json_of({"prompt", "go on", "--json"});
    ASSERT_TRUE(test_support::eventually([&] {
        const auto status = world.by_socket().get("/status");
        return status && status->at("agent").as_object().contains("last_turn_terminal");
    }));
    const auto status = world.by_socket().get("/status").value();
    expect_fields(status);
    expect_fields(world.by_socket().get("/state").value().at("agent"));
    EXPECT_EQ(base::string_at(status.at("identity"), "kind"), "default");
    EXPECT_EQ(base::string_at(status.at("identity"), "visibility"), "public");
    EXPECT_EQ(base::string_at(status.at("identity"), "ownership"), "self_owned");
    EXPECT_EQ(base::string_at(status.at("identity"), "profile_preset"), "public_named");
    EXPECT_FALSE(status.at("identity").as_object().contains("durability"));
    const auto surface =
        world.by_socket().get("/control/runtime/status").value().at("runtime_surface");
    EXPECT_TRUE(surface.at("runtime_max_output_tokens").is_number());
}

// The other records of the state, each with its required fields; of `detail`, which is free, those
// that both kinds of task always have.
const std::vector<Record>& state_records() {
    static const std::vector<Record> all{
        {"",
         {"agent", "session", "tasks", "timers", "work_items", "waiting_intents",
          "external_triggers", "operator_notifications", "workspace", "execution"}},
        {"/session", {"current_run_id", "pending_count", "last_turn"}},
        {"/tasks/0",
         {"id", "agent_id", "kind", "status", "created_at", "updated_at", "parent_message_id",
          "summary", "detail", "recovery"}},
        {"/tasks/0/detail",
         {"child_agent_id", "child_turn_baseline", "child_kind", "child_visibility",
          "child_ownership", "child_profile_preset", "wait_policy", "workspace_mode"}},
        {"/tasks/0/recovery", {"kind", "summary", "prompt", "trust", "workspace_mode"}},
        {"/tasks/1/detail",
         {"cmd", "cmd_digest", "wait_policy", "workdir", "login", "tty", "yield_time_ms",
          "terminal_reentry", "promoted_from_exec_command", "accepts_input", "output_path"}},
        {"/tasks/1/recovery", {"kind", "summary", "spec", "trust", "promoted_from_exec_command"}},
        {"/tasks/1/recovery/spec",
         {"cmd", "workdir", "shell", "login", "tty", "yield_time_ms", "max_output_tokens",
          "accepts_input", "terminal_reentry"}},
        {"/timers/0",
         {"id", "agent_id", "created_at", "duration_ms", "interval_ms", "repeat", "status",
          "summary", "next_fire_at", "last_fired_at", "fire_count"}},
        {"/work_items/0",
         {"id", "agent_id", "workspace_id", "revision", "objective", "state", "plan_status",
          "created_at", "updated_at"}},
        {"/external_triggers/0",
         {"external_trigger_id", "target_agent_id", "scope", "delivery_mode", "status",
          "created_at", "revoked_at", "last_delivered_at", "delivery_count"}},
        {"/operator_notifications/0",
         {"notification_id", "agent_id", "requested_by_agent_id", "target_operator_boundary",
          "message", "summary", "created_at"}},
        {"/workspace",
         {"attached_workspaces", "active_workspace_entry", "active_workspace_occupancy",
          "worktree_session"}},
        {"/execution", {"profile", "policy", "workspace_anchor", "execution_root", "cwd"}},
        {"/execution/policy/resource_authority",
         {"message_ingress", "agent_state", "control_plane", "workspace_projection",
          "process_execution"}},
        {"/execution/policy/process_execution",
         {"cwd_rooting", "projection_rooting", "path_confinement", "write_confinement",
          "network_confinement", "secret_isolation", "child_process_containment"}},
        {"/agent/model/resolved_policy/capabilities",
         {"parallel_tool_calls", "reasoning_summaries", "image_input", "interactive_exec"}},
        {"/agent/active_children/0", {"identity", "observability"}},
        {"/agent/active_children/0/observability", {"phase"}},
        {"/agent/recent_operator_notifications/0",
         {"notification_id", "agent_id", "requested_by_agent_id", "target_operator_boundary",
          "message", "summary", "created_at"}}};
    return all;
}

void expect_fields(const json::value& value, const std::vector<Record>& wanted) {
    for (const auto& [pointer, fields] : wanted) {
        boost::system::error_code missing;
        const auto* record = value.find_pointer(pointer, missing);
        if (!record || !record->is_object()) {
            ADD_FAILURE() << pointer << " is not there";
            continue;
        }
        EXPECT_THAT(keys_of(*record), IsSupersetOf(fields)) << pointer;
    }
}

// The state with its child task first.
json::value state_of(const DaemonWorld& world) {
    auto state = world.by_socket().get("/state").value();
    auto& tasks = state.at("tasks").as_array();
    std::ranges::partition(tasks, [](const json::value& task) {
        return base::string_at(task, "kind") == "child_agent_task";
    });
    return state;
}

// contract: IDENT-02, IDENT-03
TEST(ServedState, HasEveryFieldOfEveryRecordThatItLists) {
    DaemonWorld world;
    world.script(
        {calls("CreateWorkItem", {{"objective", "look around"}}),
         calls("NotifyOperator", {{"message", "It begins"}}),
         calls("SpawnAgent", {{"initial_message", "Wait here"}}),
         calls("ExecCommand", {{"cmd", "sleep 3000"}, {"yield_time_ms", 0}}),
         calls("Sleep", {{"reason", "a while"}, {"duration_ms", 3'000'000}})},
        {{"Wait here",
          json::array{calls("Sleep", {{"reason", "a while"}, {"duration_ms", 3'000'000}})}}});
    world.daemon({"start"});
    world.json_of({"prompt", "go on", "--json"});
    ASSERT_TRUE(test_support::eventually([&] {
        const auto state = world.by_socket().get("/state");
        return state && state->at("tasks").as_array().size() == 2 &&
               state->at("agent").at("agent").as_object().contains("last_turn_terminal") &&
               !state->at("work_items").as_array().empty();
    }));
    expect_fields(state_of(world), state_records());
    const auto listed = world.by_socket().get("/agents/list").value();
    const auto* agents = base::find(listed, "agents");
    expect_fields(
        agents ? *agents : listed,
        {{"/0", {"identity", "status", "scheduling_posture", "lifecycle", "pending", "model"}},
         {"/0/lifecycle", {"resume_required", "accepts_external_messages", "wake_requires_resume"}},
         {"/0/model", {"source", "runtime_default_model", "effective_model"}}});
    world.daemon({"stop"});
}

// contract: IDENT-07, IDENT-08, IDENT-09, INIT-01, INIT-21, INIT-25
TEST(ServedState, IsThatOfTheDefaultAgentUnlessAnotherIsNamed) {
    for (const char* named : {"", "alpha"}) {
        DaemonWorld world;
        world.script({says("Done.")});
        if (*named != '\0') world.environment["HOLON_AGENT_ID"] = named;
        const std::string agent = *named == '\0' ? "main" : named;
        world.daemon({"start"});
        EXPECT_EQ(base::string_at(world.by_socket().get("/status").value().at("agent"), "id"),
                  agent);
        const auto seeded = world.folder() / ".agents/templates/holon-default/AGENTS.md";
        EXPECT_TRUE(fs::exists(world.folder() / ".agents/templates/holon-developer"));
        EXPECT_TRUE(fs::exists(seeded));
        EXPECT_EQ(world.read(world.agent_home(agent) / "AGENTS.md"), world.read(seeded));
        world.json_of({"prompt", "hello", "--json"});
        ASSERT_TRUE(test_support::eventually([&] {
            const auto list = world.by_socket().get("/agents/" + agent + "/transcript");
            return list && !of_kind(*list, "incoming_message").empty();
        }));
    }
}

// contract: SKILL-28
TEST(ServedState, ShowsSkillsThatNoRouteActivates) {
    DaemonWorld world;
    world.script({says("Done.")});
    world.daemon({"start"});
    const auto paths = world.by_socket().get("/openapi.json").value().at("paths").as_object();
    for (const auto& path : paths)
        EXPECT_EQ(std::string_view(path.key()).find("activat"), std::string_view::npos);
    for (const auto& tool : {"install", "uninstall"})
        EXPECT_TRUE(paths.contains(std::string("/control/agents/{agent_id}/skills/") + tool));
    const auto installed =
        world.by_tcp().post("/control/agents/main/skills/install",
                            json::object{{"kind", {{"kind", "builtin"}, {"name", "ghx"}}}});
    ASSERT_TRUE(installed) << installed.error().message;
    EXPECT_EQ(base::string_at(*installed, "skill_name"), "ghx");
    const auto view = world.by_socket().get("/status").value().at("skills");
    EXPECT_EQ(base::string_at(view.at("discoverable_skills").at(0), "skill_id"), "agent:ghx");
    EXPECT_TRUE(view.at("active_skills").as_array().empty());
}

}  // namespace
}  // namespace e2e
