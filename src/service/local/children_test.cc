// Agents that delegate, on made-up time: what a parent sees of its children and does to them.
#include "agent/identity/closure.h"
#include "base/os/files.h"
#include "exec/tasks/snapshot/snapshot.h"
#include "exec/tools/work_tools/work_tools.h"
#include "tests/service/work_fixture.h"

namespace service {
namespace {

using domain::TaskStatus;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class NoProcesses final : public base::ProcessRunner {
public:
    base::Result<std::shared_ptr<Handle>> start(
        base::ProcessSpec, std::move_only_function<void(base::ProcessExit)>) override {
        return base::fail(base::ErrorCode::Unavailable, "no processes here");
    }
};

class ChildrenTest : public WorkTest {
protected:
    void SetUp() override {
        WorkTest::SetUp();
        registry_.add(builtin::agent_get(
            loop_, [this](const domain::AgentId& agent) { return service_->status(agent.value); }));
        registry_.add(
            work_tools::notify_operator({.store = *store_, .loop = loop_, .clock = loop_}));
        registry_.add(builtin::task_status(tasks_.host));
        registry_.add(builtin::task_output(tasks_.host, loop_));
        registry_.add(builtin::task_input(tasks_.host));
        registry_.add(builtin::task_stop(tasks_.host));
        registry_.add(builtin::spawn_agent(
            {.workspace =
                 {.store = *store_, .loop = loop_, .clock = loop_, .processes = processes_},
             .limits = limits_of_test(),
             .home_of = [this](const auto& agent) { return home_ / agent.value; }}));
    }
    virtual config::Children limits_of_test() { return {}; }

    // `main` plays the first rounds; a turn whose input contains one of the texts plays those.
    // Reports of children name what they were asked, so they come first.
    static std::string scenario(json::array main, json::object others) {
        json::array scenes{
            json::object{{"when", "Background task"}, {"rounds", json::array{text("Fine.")}}}};
        for (const auto& [when, rounds] : others)
            scenes.push_back(json::object{{"when", when}, {"rounds", rounds}});
        return base::json_text(
            json::object{{"rounds", std::move(main)}, {"scenes", std::move(scenes)}});
    }
    static json::object round(std::string_view tool, json::object input) {
        return {{"tool_calls", json::array{json::object{{"name", tool}, {"input", input}}}}};
    }
    static json::object text(std::string_view words) { return {{"text", words}}; }
    static json::object delegate(std::string_view message) {
        return round("SpawnAgent", {{"initial_message", message}});
    }

    std::vector<domain::Task> tasks_of(const std::string& agent) {
        std::vector<domain::Task> list;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            list = TRY(tx.tasks({agent}, 100));
            return {};
        }));
        return list;
    }
    domain::Task task() {
        const auto list = tasks_of("main");
        EXPECT_THAT(list, SizeIs(1));
        return list.empty() ? domain::Task{} : list.front();
    }
    std::string child_of(const domain::Task& task) {
        return tasks::child_detail_of(task).child_agent_id;
    }
    identity::AgentFacts facts_of(const std::string& agent) {
        std::optional<identity::AgentFacts> facts;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            facts = TRY(identity::load_facts(tx, {agent}));
            return {};
        }));
        return facts.value();
    }
    std::vector<domain::Message> messages_of(const std::string& agent) {
        std::vector<domain::Message> list;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            for (auto& one : TRY(tx.messages({agent}, {.limit = 100})))
                list.push_back(std::move(one.record.message));
            return {};
        }));
        return list;
    }
    std::vector<domain::Message> messages_of(const std::string& agent, domain::MessageKind kind) {
        auto list = messages_of(agent);
        std::erase_if(list, [&](const auto& message) { return message.kind != kind; });
        return list;
    }
    // Runs for so long.
    void pass(std::chrono::milliseconds time) {
        const auto until = loop_.now() + time;
        loop_.after(time, [] {});
        loop_.run_until([&] { return loop_.now() >= until; });
    }
    // A child tmp_child_x under the task t, as a call of a turn with this trust makes it.
    void spawn(domain::TrustLevel trust, std::optional<tasks::ChildWorktree> worktree = {}) {
        ASSERT_TRUE(store_->write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
            events::Log log(tx, loop_.now(), ids_);
            const auto parent = TRY(tx.agent({"main"})).value();
            const domain::Message cause{.id = {"m"}, .agent_id = {"main"}, .trust = trust};
            tools::SpawnChild spawn{.task_id = {"t"},
                                    .child = {.agent_id = {"tmp_child_x"}, .booting = true},
                                    .initial_message = "Do it",
                                    .worktree = worktree,
                                    .top = {"main"},
                                    .tree_alive_max = 9};
            spawn.child.identity = {.agent_id = {"tmp_child_x"},
                                    .ownership = domain::Ownership::ParentSupervised,
                                    .parent_agent_id = domain::AgentId{"main"},
                                    .delegated_from_task_id = domain::TaskId{"t"}};
            spawn.child.active_workspace_entry = parent.active_workspace_entry;
            return supervision::spawn(
                log, {parent, domain::Attempt{.message_id = {"m"}}, cause, trust}, spawn);
        }));
    }
    json::object envelope_of(std::string_view tool) {
        json::object found;
        for (const auto& event : events_of("tool_executed")) {
            if (base::string_at(event.data, "tool_name") != tool) continue;
            EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
                const auto id = base::string_at(event.data, "tool_call_id");
                if (const auto execution = TRY(tx.tool_execution({id})); execution)
                    found = execution->envelope.value().as_object();
                return {};
            }));
        }
        return found;
    }
    json::value last_result(std::string_view tool) {
        json::value found;
        for (const auto& request : model_->requests)
            for (std::size_t i = 0; i + 1 < request.conversation.size(); ++i) {
                const auto* round = std::get_if<provider::AssistantTurn>(&request.conversation[i]);
                const auto* results =
                    std::get_if<provider::ToolResultsTurn>(&request.conversation[i + 1]);
                if (!round || !results) continue;
                std::size_t call = 0;
                for (const auto& block : round->blocks)
                    if (const auto* use = std::get_if<domain::ToolUseBlock>(&block)) {
                        if (use->name == tool)
                            if (auto parsed = base::parse_json(results->results.at(call).content))
                                found = *parsed;
                        ++call;
                    }
            }
        return found;
    }

    NoProcesses processes_;
};

// contract: TURN-08, IDENT-21, IDENT-25, IDENT-27, IDENT-28, IDENT-29, IDENT-30, IDENT-32
// contract: IDENT-33, IDENT-45, IDENT-46, CMD-30, CMD-40, CMD-41, TASK-05
TEST_F(ChildrenTest, AChildWorksUnderATaskAndItsReportComesBackOnce) {
    serve_main(scenario({delegate("Count  the\nlines"), text("I have delegated it.")},
                        {{"Count  the", json::array{text("There are 12 lines.")}}}));
    ASSERT_TRUE(service_->prompt("main", "go", operator_));
    loop_.run();
    const auto supervising = task();
    EXPECT_EQ(supervising.kind, domain::TaskKind::ChildAgentTask);
    EXPECT_EQ(supervising.status, TaskStatus::Completed);
    EXPECT_EQ(supervising.summary, "Count the lines");
    const auto child = facts_of(child_of(supervising)).agent;
    EXPECT_TRUE(child.agent_id.value.starts_with("tmp_child_"));
    EXPECT_EQ(child.identity.kind, domain::AgentKind::Child);
    EXPECT_EQ(child.identity.visibility, domain::Visibility::Private);
    EXPECT_EQ(child.identity.ownership, domain::Ownership::ParentSupervised);
    EXPECT_EQ(child.identity.profile_preset, domain::ProfilePreset::PrivateChild);
    EXPECT_EQ(child.identity.parent_agent_id, domain::AgentId{"main"});
    EXPECT_EQ(child.identity.lineage_parent_agent_id, domain::AgentId{"main"});
    EXPECT_EQ(child.identity.delegated_from_task_id, supervising.id);

    const auto made = last_result("SpawnAgent").at("result");
    EXPECT_EQ(base::string_at(made, "agent_id"), child.agent_id.value);
    EXPECT_EQ(base::string_at(made, "child_agent_id"), child.agent_id.value);
    EXPECT_EQ(base::string_at(made, "supervision_task_id"), supervising.id.value);
    EXPECT_EQ(base::string_at(made.at("task_handle"), "task_kind"), "child_agent_task");
    EXPECT_EQ(base::string_at(made.at("child_supervision"), "workspace_mode"), "inherit");

    const auto first = messages_of(child.agent_id.value).at(0);
    EXPECT_EQ(domain::readable(first.body), "Count  the\nlines");
    EXPECT_EQ(first.kind, domain::MessageKind::InternalFollowup);
    const auto reports = messages_of("main", domain::MessageKind::TaskResult);
    ASSERT_THAT(reports, SizeIs(1));
    EXPECT_THAT(domain::readable(reports[0].body), HasSubstr("There are 12 lines."));
    EXPECT_THAT(domain::readable(reports[0].body), HasSubstr("carries no authority"));
    EXPECT_EQ(reports[0].trust, domain::TrustLevel::TrustedSystem);
    EXPECT_EQ(child.identity.status, domain::IdentityStatus::Archived);
    EXPECT_EQ(facts_of(child.agent_id.value).statistics.total_model_rounds, 1);
    EXPECT_THAT(events_of("task_child_spawned"), SizeIs(1));
    EXPECT_THAT(events_of("task_result_received"), SizeIs(1));
    EXPECT_EQ(base::string_at(supervising.recovery.value(), "workspace_mode"), "inherit");
}

// contract: IDENT-47, IDENT-49
TEST_F(ChildrenTest, ATaskIsOpenAndItsChildIsThereWhileTheChildWaitsForATimer) {
    serve_main(scenario({delegate("Nap"), text("Delegated.")},
                        {{"Nap", json::array{round("Sleep", {{"reason", "a-short-rest"},
                                                             {"duration_ms", 60'000}})}},
                         {"a-short-rest", json::array{text("Slept well.")}}}));
    ASSERT_TRUE(service_->prompt("main", "go", operator_));
    pass(std::chrono::seconds(30));
    EXPECT_EQ(task().status, TaskStatus::Running);
    const auto child = child_of(task());
    EXPECT_EQ(facts_of(child).agent.identity.status, domain::IdentityStatus::Active);
    EXPECT_EQ(base::string_at(service_->status("main").value().at("agent"), "status"),
              "awake_idle");
    loop_.run();
    EXPECT_EQ(task().status, TaskStatus::Completed);
    EXPECT_EQ(facts_of(child).agent.identity.status, domain::IdentityStatus::Archived);
}

// contract: IDENT-31, CMD-42, CMD-46, CMD-53
TEST_F(ChildrenTest, AQuestionGoesToTheParentAndItsAnswerToTheChild) {
    const auto ask =
        round("UpdateWorkItem", {{"work_item_id", "$work_item"}, {"plan_status", "needs_input"}});
    serve_main(
        scenario({delegate("Paint it"), text("Delegated.")},
                 {{"waits for your answer",
                   json::array{round("TaskInput", {{"task_id", "$task"}, {"input", "Blue"}}),
                               text("Told it.")}},
                  {"Paint it", json::array{round("CreateWorkItem", {{"objective", "paint"}}),
                                           round("PickWorkItem", {{"work_item_id", "$work_item"}}),
                                           ask, text("Which colour?")}},
                  {"Blue", json::array{round("ListWorkItems", {}),
                                       round("CompleteWorkItem", {{"work_item_id", "$work_item"}}),
                                       text("Painted it blue.")}}}));
    ASSERT_TRUE(service_->prompt("main", "go", operator_));
    loop_.run();
    const auto asked = messages_of("main", domain::MessageKind::InternalFollowup);
    ASSERT_THAT(asked, SizeIs(1));
    EXPECT_THAT(domain::readable(asked[0].body), HasSubstr("Which colour?"));
    EXPECT_THAT(domain::readable(asked[0].body), HasSubstr(task().id.value));
    const auto told = last_result("TaskInput").at("result");
    EXPECT_TRUE(told.at("accepted_input").as_bool());
    EXPECT_EQ(base::string_at(told, "input_target"), "child_followup");
    const auto inputs = messages_of(child_of(task()), domain::MessageKind::InternalFollowup);
    ASSERT_THAT(inputs, SizeIs(2));
    EXPECT_EQ(domain::readable(inputs[1].body), "Blue");
    EXPECT_EQ(base::string_at(*inputs[1].metadata, "followup_via"), "task_input");
    EXPECT_EQ(task().status, TaskStatus::Completed);
    EXPECT_THAT(events_of("task_input_delivered"), SizeIs(1));
}

// contract: CMD-46
TEST_F(ChildrenTest, ANotificationOfAChildReachesItsParentAndNoOperator) {
    serve_main(scenario({delegate("Watch"), text("Delegated.")},
                        {{"notifies you", json::array{text("I see.")}},
                         {"Watch", json::array{round("NotifyOperator", {{"message", "It burns"}}),
                                               text("Watched.")}}}));
    ASSERT_TRUE(service_->prompt("main", "go", operator_));
    loop_.run();
    const auto told = messages_of("main", domain::MessageKind::InternalFollowup);
    ASSERT_THAT(told, SizeIs(1));
    EXPECT_THAT(domain::readable(told[0].body), HasSubstr("It burns"));
    const domain::AgentId child{child_of(task())};
    ASSERT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
        const auto sent = TRY(tx.notifications(child, 9));
        EXPECT_THAT(sent, SizeIs(1));
        EXPECT_EQ(sent.at(0).target_operator_boundary, domain::OperatorBoundary::ParentSupervisor);
        EXPECT_EQ(sent.at(0).target_parent_agent_id, domain::AgentId{"main"});
        EXPECT_THAT(TRY(tx.deliveries(child, 9)), IsEmpty());
        return {};
    }));
}

// contract: IDENT-17, IDENT-19, IDENT-52, IDENT-53, IDENT-58, IDENT-59, IDENT-60, CMD-32, CMD-39
// contract: CMD-47, CMD-65, CMD-66, IDENT-57
TEST_F(ChildrenTest, OneProjectionIsShownWhereverAParentLooks) {
    serve_main(scenario(
        {delegate("Nap"), text("Delegated.")},
        {{"Nap", json::array{round("Sleep", {{"reason", "a-rest"}, {"duration_ms", 600'000}})}},
         {"take a look", json::array{round("AgentGet", {}), text("Looked.")}},
         {"a-rest", json::array{text("Slept well.")}}}));
    ASSERT_TRUE(service_->prompt("main", "go", operator_));
    pass(std::chrono::seconds(30));
    ASSERT_TRUE(service_->prompt("main", "take a look", operator_));
    pass(std::chrono::seconds(30));
    const auto spawned = last_result("SpawnAgent").at("result").at("child_supervision");
    std::optional<domain::Task> shown;
    tasks_.host.find({"main"}, task().id, [&](const auto& found) { shown = found.value(); });
    loop_.run_until([&] { return shown.has_value(); });
    const auto status = tasks::status_snapshot(*shown);
    const auto output = tasks::output_snapshot(*shown);
    EXPECT_EQ(status.at("child_supervision"), spawned);
    EXPECT_EQ(output.at("child_supervision"), spawned);
    EXPECT_EQ(base::string_at(spawned, "cleanup_owner"), "supervision_task");
    EXPECT_EQ(base::string_at(spawned, "followup_target"), "parent_supervisor");
    EXPECT_EQ(base::string_at(spawned, "parent_agent_id"), "main");
    EXPECT_EQ(base::string_at(status.at("child_observability"), "phase"), "waiting");
    EXPECT_EQ(base::string_at(status, "child_agent_id"), child_of(task()));

    const auto summary = service_->status("main").value();
    const auto& children = summary.at("active_children").as_array();
    ASSERT_THAT(children, SizeIs(1));
    EXPECT_EQ(children[0].at("observability"), status.at("child_observability"));
    EXPECT_EQ(base::string_at(children[0].at("identity"), "visibility"), "private");
    EXPECT_EQ(base::string_at(children[0].at("identity"), "ownership"), "parent_supervised");
    EXPECT_EQ(base::string_at(children[0].at("identity"), "profile_preset"), "private_child");
    const auto got = envelope_of("AgentGet").at("result").at("agent");
    EXPECT_EQ(got.at("active_children").at(0).at("observability"),
              status.at("child_observability"));
    for (const auto* key : {"visibility", "ownership", "profile_preset"})
        EXPECT_TRUE(got.at("identity").as_object().contains(key)) << key;
    // Focus, posture and lineage are the agent's own; the handle of a task does not stand for it.
    for (const auto* key : {"agent", "closure", "scheduling_posture", "identity"}) {
        EXPECT_TRUE(got.as_object().contains(key)) << key;
        EXPECT_FALSE(status.contains(key)) << key;
    }
    EXPECT_THAT(base::json_text(status), Not(HasSubstr("current_work_item_id")));
    EXPECT_THAT(base::json_text(status), Not(HasSubstr("lineage")));
    const auto whole = base::json_text(got);
    for (const auto* inside :
         {"\"transcript\"", "\"system_prompt\"", "Take one task", "\"blocks\""})
        EXPECT_THAT(whole, Not(HasSubstr(inside)));
    for (const auto& entry : service_->agent_list({}).value())
        EXPECT_EQ(base::string_at(entry.at("identity"), "agent_id"), "main");
    loop_.run();
    const auto over = tasks::output_snapshot(task());
    for (const auto* key : {"task_id", "kind", "status", "summary", "output_preview",
                            "output_truncated", "result_summary", "child_supervision"})
        EXPECT_TRUE(over.contains(key)) << key;
    EXPECT_FALSE(over.contains("artifacts"));
}

// contract: IDENT-49, CMD-70, CMD-71, CMD-44
TEST_F(ChildrenTest, StoppingATaskStopsEverythingBelowItAlsoAfterARestart) {
    const auto script = scenario(
        {delegate("First level"), text("Delegated.")},
        {{"First level", json::array{delegate("Second one"),
                                     round("Sleep", {{"reason", "w"}, {"duration_ms", 900'000}})}},
         {"Second one", json::array{round("Sleep", {{"reason", "w"}, {"duration_ms", 900'000}})}}});
    serve_main(script);
    ASSERT_TRUE(service_->prompt("main", "go", operator_));
    pass(std::chrono::seconds(30));
    const auto child = child_of(task());
    ASSERT_THAT(tasks_of(child), SizeIs(1));
    const auto grandchild = child_of(tasks_of(child).front());

    serve(script);  // Another process; older programs left such tasks interrupted.
    auto interrupted = task();
    interrupted.status = TaskStatus::Interrupted;
    ASSERT_TRUE(store_->write(store::Durability::Process,
                              [&](store::Tx& tx) { return tx.put_task(interrupted); }));
    std::optional<domain::Task> shown;
    tasks_.host.find({"main"}, task().id, [&](const auto& found) { shown = found.value(); });
    loop_.run_until([&] { return shown.has_value(); });
    EXPECT_EQ(base::string_at(tasks::status_snapshot(*shown).at("child_observability"), "phase"),
              "blocked");
    tasks_.host.stop({"main"}, task().id, [](const auto& receipt) { EXPECT_TRUE(receipt); });
    pass(std::chrono::seconds(30));
    EXPECT_EQ(task().status, TaskStatus::Cancelled);
    EXPECT_EQ(tasks_of(child).front().status, TaskStatus::Cancelled);
    for (const auto& agent : {child, grandchild}) {
        EXPECT_EQ(facts_of(agent).agent.identity.status, domain::IdentityStatus::Archived);
        EXPECT_EQ(facts_of(agent).pending, 0);
        EXPECT_THAT(facts_of(agent).active_timers, IsEmpty());
        EXPECT_THAT(facts_of(agent).open_waits, IsEmpty());
    }
    EXPECT_THAT(messages_of("main", domain::MessageKind::TaskResult), SizeIs(1));
}

TEST_F(ChildrenTest, StoppingAParentStopsItsChildren) {
    serve_main(scenario(
        {delegate("Nap"), text("Delegated.")},
        {{"Nap", json::array{round("Sleep", {{"reason", "a-rest"}, {"duration_ms", 600'000}})}}}));
    ASSERT_TRUE(service_->prompt("main", "go", operator_));
    pass(std::chrono::seconds(30));
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Stop, operator_));
    pass(std::chrono::seconds(30));
    EXPECT_EQ(task().status, TaskStatus::Cancelled);
    EXPECT_EQ(facts_of(child_of(task())).agent.identity.status, domain::IdentityStatus::Archived);
}

// contract: IDENT-48
TEST_F(ChildrenTest, AChildSurvivesARestartAndGoesOn) {
    const auto script = scenario(
        {delegate("Think"), text("Delegated.")},
        {{"Think", json::array{json::object{{"text", "Thought."}, {"delay_ms", 60'000}}}}});
    serve_main(script);
    ASSERT_TRUE(service_->prompt("main", "go", operator_));
    pass(std::chrono::seconds(30));
    const auto child = child_of(task());
    serve(script);
    EXPECT_EQ(task().status, TaskStatus::Running);
    EXPECT_THAT(service_->status("main").value().at("active_children").as_array(), SizeIs(1));
    loop_.run();
    EXPECT_EQ(task().status, TaskStatus::Completed);
    EXPECT_THAT(messages_of(child), SizeIs(1));
    EXPECT_THAT(messages_of("main", domain::MessageKind::TaskResult), SizeIs(1));
}

// A turn that only external input asked for passes on no more than it has.
TEST_F(ChildrenTest, TrustFlowsDownAndComesBackNoStronger) {
    serve_main(scenario({text("-")}, {{"evidence-", json::array{text("Unused.")}}}));
    spawn(domain::TrustLevel::UntrustedExternal);
    const auto first = messages_of("tmp_child_x").at(0);
    EXPECT_EQ(first.authority_class, domain::AuthorityClass::ExternalEvidence);
    service_->wake_up({"tmp_child_x"});
    loop_.run();
    const auto reports = messages_of("main", domain::MessageKind::TaskResult);
    ASSERT_THAT(reports, SizeIs(1));
    EXPECT_EQ(domain::instructed_by(reports[0]), domain::AuthorityClass::ExternalEvidence);
}

// contract: CMD-72
TEST_F(ChildrenTest, StoppingATaskAlsoCleansUpItsWorktreeAndACrashDoesNotPreventIt) {
    int cleaned = 0;
    clean_worktree_ = [&](const domain::AgentId&, const tasks::ChildWorktree&, auto) { ++cleaned; };
    serve_main(scenario({text("-")}, {}));
    spawn(domain::TrustLevel::TrustedSystem,
          tasks::ChildWorktree{.worktree_path = "/w/task-t", .worktree_branch = "task-t"});
    tasks_.host.stop({"main"}, {"t"}, [](const auto& receipt) { EXPECT_TRUE(receipt); });
    loop_.run();
    EXPECT_EQ(cleaned, 1);
    EXPECT_EQ(task().status, TaskStatus::Cancelling) << "until its worktree is checked";
    EXPECT_THAT(messages_of("main", domain::MessageKind::TaskResult), IsEmpty());
    clean_worktree_ = [](const domain::AgentId&, tasks::ChildWorktree worktree, auto done) {
        worktree.cleanup_status = "cleaned";
        done(worktree);
    };
    serve(scenario({text("-")}, {}));  // The first process died while git ran.
    loop_.run();
    EXPECT_EQ(task().status, TaskStatus::Cancelled);
    EXPECT_EQ(tasks::child_detail_of(task()).worktree->cleanup_status, "cleaned");
    EXPECT_THAT(messages_of("main", domain::MessageKind::TaskResult), SizeIs(1));
    EXPECT_THAT(events_of("worktree_auto_cleaned_up"), SizeIs(1));
}

// contract: CMD-55
TEST_F(ChildrenTest, TheOutputOfTasksOfBothKindsTogetherHasTheTwelveMembers) {
    std::filesystem::create_directories(home_);
    const auto file = home_ / "log";
    ASSERT_TRUE(base::write_file_atomic(file, "printed\n", 0600));
    domain::Task command{.id = {"c"}, .status = TaskStatus::Failed, .summary = "make"};
    command.detail = base::to_json(
        tasks::CommandDetail{.cmd = "make", .output_path = file.string(), .exit_status = 2});
    const auto child = tasks::child_ended(
        tasks::child_task(
            {.id = {"t"}, .parent = {"main"}, .child = {"tmp_child_x"}, .initial_message = "Do it"},
            {}),
        {.report = "Done."}, {});
    std::set<std::string> keys;
    for (const auto& one : {command, child})
        for (const auto& member : tasks::output_snapshot(one))
            keys.insert(std::string(member.key()));
    EXPECT_THAT(keys, testing::UnorderedElementsAre(
                          "task_id", "kind", "status", "summary", "output_preview",
                          "output_truncated", "artifacts", "output_artifact", "result_summary",
                          "exit_status", "failure_artifact", "child_supervision"));
}

class LimitedChildrenTest : public ChildrenTest {
protected:
    config::Children limits_of_test() override {
        return {.max_depth = 1,
                .max_alive = 2,
                .max_tree_alive = 2,
                .max_tree_tokens = 100,
                .max_named = 1};
    }
};

TEST_F(LimitedChildrenTest, NoMoreChildrenAreAliveThanAllowedAndNoneDeeper) {
    const auto nap = json::array{round("Sleep", {{"reason", "n"}, {"duration_ms", 600'000}})};
    serve_main(scenario(
        {delegate("Nap one"), delegate("Nap two"), delegate("Nap three"), text("Delegated.")},
        {{"Nap one", nap},
         {"Nap two", json::array{delegate("Deeper"), text("Could not.")}},
         {"Nap three", nap}}));
    ASSERT_TRUE(service_->prompt("main", "go", operator_));
    pass(std::chrono::seconds(30));
    EXPECT_THAT(tasks_of("main"), SizeIs(2));
    std::vector<std::string> errors;
    for (const auto& request : model_->requests)
        for (const auto& turn : request.conversation)
            if (const auto* results = std::get_if<provider::ToolResultsTurn>(&turn))
                for (const auto& one : results->results) errors.push_back(one.content);
    EXPECT_THAT(errors, Contains(HasSubstr("children.max_alive")));
    EXPECT_THAT(errors, Contains(HasSubstr("children.max_depth")));
}

TEST_F(LimitedChildrenTest, AgentsMakeNoMoreNamedAgentsThanAllowed) {
    const auto named = [](std::string_view id) {
        return round("SpawnAgent", {{"preset", "public_named"}, {"agent_id", id}});
    };
    serve_main(scenario({named("one"), named("one"), named("two"), text("Made.")}, {}));
    ASSERT_TRUE(service_->prompt("main", "go", operator_));
    loop_.run();
    const auto refused = events_of("tool_execution_failed");
    ASSERT_THAT(refused, SizeIs(1)) << "the first one can be addressed again";
    EXPECT_THAT(base::json_text(refused[0].data), HasSubstr("children.max_named"));
    EXPECT_FALSE(service_->status("two"));
}

// What the parent does not accept does not keep the child from its work.
TEST_F(ChildrenTest, ANotificationToAParentThatAcceptsNothingIsKeptWithTheChild) {
    serve_main(scenario(
        {delegate("Watch"), text("Delegated.")},
        {{"Watch",
          json::array{
              json::object{{"delay_ms", 60'000},
                           {"tool_calls", json::array{json::object{
                                              {"name", "NotifyOperator"},
                                              {"input", json::object{{"message", "It burns"}}}}}}},
              text("Watched.")}}}));
    ASSERT_TRUE(service_->prompt("main", "go", operator_));
    pass(std::chrono::seconds(30));
    const domain::AgentId child{child_of(task())};
    ASSERT_TRUE(store_->write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
        auto main = TRY(tx.agent({"main"})).value();
        main.identity.status = domain::IdentityStatus::Archived;
        return tx.put_agent(main);
    }));
    loop_.run();
    ASSERT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
        EXPECT_THAT(TRY(tx.notifications(child, 9)), SizeIs(1));
        return {};
    }));
    EXPECT_EQ(task().status, TaskStatus::Completed);
}

// contract: IDENT-49
TEST_F(LimitedChildrenTest, AChildThatHasUsedUpItsBudgetFailsAndItsParentPays) {
    json::object costly = round("AgentGet", {});
    costly["usage"] = json::object{{"input_tokens", 60}, {"output_tokens", 20}};
    serve_main(scenario({delegate("Spend"), text("Delegated.")},
                        {{"Spend", json::array{costly, costly, costly, text("Never said.")}}}));
    ASSERT_TRUE(service_->prompt("main", "go", operator_));
    loop_.run();
    EXPECT_EQ(task().status, TaskStatus::Failed);
    const auto spent = facts_of("main").statistics.delegated_tokens;
    EXPECT_EQ(spent, 160) << "the round in which the limit is reached is the last";
    const auto reports = messages_of("main", domain::MessageKind::TaskResult);
    ASSERT_THAT(reports, SizeIs(1));
    EXPECT_THAT(domain::readable(reports[0].body), HasSubstr("limit of 100 tokens"));
    EXPECT_EQ(facts_of(child_of(task())).agent.identity.status, domain::IdentityStatus::Archived);
}

class HurriedChildrenTest : public ChildrenTest {
protected:
    config::Children limits_of_test() override { return {.max_tree_wall_ms = 1000}; }
};

TEST_F(HurriedChildrenTest, AChildThatHasUsedUpItsTimeFails) {
    json::object slow = round("AgentGet", {});
    slow["delay_ms"] = 600;
    serve_main(scenario({delegate("Take your time"), text("Delegated.")},
                        {{"Take your time", json::array{slow, slow, slow, text("Never said.")}}}));
    ASSERT_TRUE(service_->prompt("main", "go", operator_));
    loop_.run();
    EXPECT_EQ(task().status, TaskStatus::Failed);
    EXPECT_EQ(facts_of(child_of(task())).statistics.total_model_rounds, 1)
        << "what is under way when the time is over is not waited for";
    const auto reports = messages_of("main", domain::MessageKind::TaskResult);
    ASSERT_THAT(reports, SizeIs(1));
    EXPECT_THAT(domain::readable(reports[0].body), HasSubstr("limit of 1"));
}

// contract: IDENT-34, IDENT-35, IDENT-36, IDENT-37, IDENT-38, IDENT-39, IDENT-40, IDENT-55
// contract: IDENT-56
TEST_F(ChildrenTest, ANamedAgentIsItsOwnAndOnlyItsLineageIsKept) {
    serve_main(scenario({round("SpawnAgent", {{"preset", "public_named"},
                                              {"agent_id", "helper"},
                                              {"initial_message", "Hello helper"}}),
                         round("SpawnAgent", {{"preset", "public_named"}, {"agent_id", "quiet"}}),
                         round("SpawnAgent", {{"preset", "public_named"}}),
                         round("TaskStatus", {{"task_id", "main"}}), text("Made.")},
                        {{"Hello helper", json::array{text("Hello.")}}}));
    ASSERT_TRUE(store_->write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
        auto main = TRY(tx.agent({"main"})).value();
        main.attached_workspaces = {"ws-1"};
        main.active_workspace_entry->workspace_id = "ws-1";
        main.active_workspace_entry->workspace_anchor = home_.string();
        main.active_workspace_entry->execution_root = home_.string();
        main.active_workspace_entry->cwd = home_.string();
        return tx.put_agent(main);
    }));
    ASSERT_TRUE(service_->prompt("main", "go", operator_));
    loop_.run();
    const auto helper = facts_of("helper").agent;
    EXPECT_EQ(helper.identity.ownership, domain::Ownership::SelfOwned);
    EXPECT_EQ(helper.identity.visibility, domain::Visibility::Public);
    EXPECT_EQ(helper.identity.profile_preset, domain::ProfilePreset::PublicNamed);
    EXPECT_EQ(helper.identity.lineage_parent_agent_id, domain::AgentId{"main"});
    EXPECT_EQ(helper.identity.parent_agent_id, std::nullopt);
    EXPECT_EQ(helper.attached_workspaces, (std::vector<std::string>{"ws-1"}));
    EXPECT_EQ(helper.active_workspace_entry->workspace_id, "agent_home:helper");
    EXPECT_EQ(domain::worktree_session(helper.active_workspace_entry), std::nullopt);
    const auto first = messages_of("helper").at(0);
    EXPECT_EQ(first.task_id, std::nullopt);
    EXPECT_EQ(base::string_at(*first.metadata, "creator_agent_id"), "main");
    EXPECT_EQ(facts_of("helper").statistics.last_turn_terminal->last_assistant_message, "Hello.");
    EXPECT_THAT(messages_of("quiet"), IsEmpty());
    EXPECT_THAT(tasks_of("main"), IsEmpty());
    const auto shown = service_->status("helper").value();
    EXPECT_EQ(base::string_at(shown.at("identity"), "lineage_parent_agent_id"), "main");
    std::vector<json::value> made;
    for (const auto& request : model_->requests)
        for (const auto& turn : request.conversation)
            if (const auto* results = std::get_if<provider::ToolResultsTurn>(&turn))
                if (auto parsed = base::parse_json(results->results.at(0).content))
                    if (const auto* one = base::find(*parsed, "result")) made.push_back(*one);
    EXPECT_THAT(made, Contains(json::value(json::object{{"agent_id", "helper"}})))
        << "and nothing else";
    EXPECT_THAT(events_of("tool_execution_failed"), SizeIs(2)) << "no id; lineage is no handle";
}

}  // namespace
}  // namespace service
