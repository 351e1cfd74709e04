#include "exec/tools/work_tools/work_tools.h"

#include <map>

#include <gmock/gmock.h>

#include "store/sql/sqlite/sqlite_store.h"
#include "tests/support/fake_loop.h"

namespace work_tools {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

std::filesystem::path temporary_home() {
    std::string pattern = testing::TempDir() + "holon-work-tools-XXXXXX";
    return mkdtemp(pattern.data());
}

class WorkToolsTest : public testing::Test {
protected:
    WorkToolsTest() { add_all(registry_, {.store = *store_, .loop = loop_, .clock = loop_}); }

    std::vector<std::string> names() {
        std::vector<std::string> list;
        for (const auto* spec : registry_.exposed(domain::ProfilePreset::PublicNamed))
            list.push_back(spec->name);
        return list;
    }
    std::vector<std::string> members(const std::string& tool) {
        std::vector<std::string> list;
        for (const auto& member :
             registry_.find(tool)->spec().input_schema.at("properties").as_object())
            list.emplace_back(member.key());
        return list;
    }
    std::vector<std::string> required(const std::string& tool) {
        std::vector<std::string> list;
        const auto& schema = registry_.find(tool)->spec().input_schema;
        if (const auto* names = schema.if_contains("required"))
            for (const auto& name : names->as_array()) list.emplace_back(name.as_string());
        return list;
    }
    tools::Outcome call(const std::string& tool, json::object args, domain::CallSource source) {
        std::optional<tools::Outcome> end;
        registry_.find(tool)->start({.call_id = {"c"}, .source = source, .args = std::move(args)},
                                    {.agent_id = {"main"}}, sink_,
                                    [&](tools::Outcome outcome) { end = std::move(outcome); });
        loop_.run();
        return std::move(end).value();
    }

    struct NoSink final : results::ArtifactSink {
        base::Result<std::string> store(std::string_view, std::string_view) override { return ""; }
        std::filesystem::path reserve(std::string_view) override { return {}; }
    };
    NoSink sink_;
    test_support::FakeLoop loop_;
    std::unique_ptr<store::Store> store_ = sqlite::open_inline({.file = ":memory:"}).value();
    tools::Registry registry_;
};

// contract: WORK-44, WORK-74
TEST_F(WorkToolsTest, AreTheseSixAndNoOther) {
    EXPECT_THAT(names(), ElementsAre("CreateWorkItem", "PickWorkItem", "GetWorkItem",
                                     "ListWorkItems", "UpdateWorkItem", "CompleteWorkItem"));
    for (const auto& name : names()) {
        const auto& spec = registry_.find(name)->spec();
        EXPECT_TRUE(spec.repeatable) << name;
        const bool writes = !name.starts_with("Get") && !name.starts_with("List");
        EXPECT_EQ(spec.changes_records, writes) << name;
        EXPECT_EQ(spec.writes_work_items, writes) << name;
        EXPECT_EQ(spec.completes_work_item, name == "CompleteWorkItem") << name;
    }
}

// contract: WORK-58, WORK-68, WORK-69, WORK-81
TEST_F(WorkToolsTest, TakeTheseFieldsAndNoReportOrCallback) {
    EXPECT_THAT(members("CreateWorkItem"),
                UnorderedElementsAre("objective", "plan_status", "plan", "todo_list"));
    EXPECT_THAT(required("CreateWorkItem"), ElementsAre("objective"));
    EXPECT_THAT(members("PickWorkItem"), UnorderedElementsAre("work_item_id", "reason"));
    EXPECT_THAT(members("GetWorkItem"), UnorderedElementsAre("work_item_id", "include_todo_list"));
    EXPECT_THAT(members("ListWorkItems"),
                UnorderedElementsAre("filter", "limit", "include_todo_list"));
    EXPECT_THAT(required("ListWorkItems"), ElementsAre());
    EXPECT_THAT(members("UpdateWorkItem"),
                UnorderedElementsAre("work_item_id", "objective", "plan_status", "todo_list",
                                     "blocked_by", "recheck_after"));
    EXPECT_THAT(required("UpdateWorkItem"), ElementsAre("work_item_id"));
    EXPECT_THAT(members("CompleteWorkItem"), ElementsAre("work_item_id"));
    EXPECT_THAT(required("CompleteWorkItem"), ElementsAre("work_item_id"));
}

// Calls in a turn, and what the model receives of each.
class WorkReceiptTest : public WorkToolsTest {
protected:
    WorkReceiptTest() {
        registry_.add(notify_operator({.store = *store_, .loop = loop_, .clock = loop_}));
        EXPECT_TRUE(store_->write(store::Durability::Process, [](store::Tx& tx) -> base::Status {
            TRY(tx.put_agent({.agent_id = {"main"}}));
            return tx.put_work_item({.id = {"w"}, .agent_id = {"main"}, .objective = "ship it"});
        }));
    }
    ~WorkReceiptTest() override { std::filesystem::remove_all(home_); }

    results::Envelope envelope_of(const std::string& tool, json::object args) {
        std::optional<results::Envelope> envelope;
        registry_.find(tool)->start(
            {.call_id = {"c"}, .source = domain::CallSource::Turn, .args = std::move(args)},
            {.agent_id = {"main"}, .agent_home = home_}, sink_, [&](tools::Outcome outcome) {
                envelope = results::project(tool, outcome.completed, sink_, {});
            });
        loop_.run();
        return std::move(envelope).value();
    }
    std::string receipt_of(const results::Envelope& envelope) {
        return results::render(envelope, registry_.find(envelope.tool_name())->spec().render);
    }

    const std::filesystem::path home_ = temporary_home();
};

std::size_t count_of(std::string_view text, std::string_view word) {
    std::size_t count = 0;
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + word.size()))
        ++count;
    return count;
}

// contract: RCPT-05
TEST_F(WorkReceiptTest, ConfirmInAFewLinesWithWhatTheNextCallNeeds) {
    const auto receipt = [&](const std::string& tool, json::object args) {
        return receipt_of(envelope_of(tool, std::move(args)));
    };
    const auto plan = [&](const std::string& id) {
        return (home_ / "work-items" / id / "plan.md").string();
    };
    const auto made = envelope_of("CreateWorkItem", {{"objective", "ship it"}});
    const auto id = base::string_at(made.result().at("work_item"), "id");
    EXPECT_EQ(receipt_of(made), "Created work item " + id +
                                    ": ship it\nState: open\nReadiness: runnable\n"
                                    "Plan status: draft\nPlan file: " +
                                    plan(id));
    const json::object about{{"work_item_id", "w"}};
    EXPECT_EQ(receipt("PickWorkItem", about),
              "Current work item is now w: ship it\nState: open\nPlan status: draft");
    EXPECT_EQ(receipt("UpdateWorkItem", {{"work_item_id", "w"}, {"blocked_by", "the review"}}),
              "Work item w updated\nState: open\nReadiness: blocked\nPlan status: draft\n"
              "Plan file: " +
                  plan("w") + "\nRecheck at: 2031-01-02T01:00:00.000000Z");
    EXPECT_EQ(receipt("CompleteWorkItem", about),
              "Work item w completed\nState: completed\nReadiness: completed\n"
              "Plan status: draft\nPlan file: " +
                  plan("w") +
                  "\nWarning: This message has no text besides its calls, so the completion has no "
                  "report.");
}

// contract: RCPT-05
TEST_F(WorkReceiptTest, ANotificationIsConfirmedByItsFirstLine) {
    EXPECT_EQ(receipt_of(envelope_of("NotifyOperator", {{"message", "Which branch?\nmain, next"}})),
              "Notified the operator: Which branch?");
}

// contract: PROJ-09
TEST_F(WorkReceiptTest, ToolsHaveNoFieldsForOutputThatWasCutOrKeptElsewhere) {
    const std::map<std::string, json::object> calls{
        {"CreateWorkItem", {{"objective", "ship it"}, {"plan", "step one"}}},
        {"PickWorkItem", {{"work_item_id", "w"}}},
        {"GetWorkItem", {{"work_item_id", "w"}, {"include_todo_list", true}}},
        {"ListWorkItems", json::object{}},
        {"UpdateWorkItem", {{"work_item_id", "w"}, {"objective", "ship it today"}}},
        {"CompleteWorkItem", {{"work_item_id", "w"}}},
        {"NotifyOperator", {{"message", "It is shipped."}}}};
    ASSERT_EQ(calls.size(), registry_.all().size());
    for (const auto& [tool, args] : calls) {
        const auto envelope = envelope_of(tool, args);
        ASSERT_TRUE(envelope.ok()) << tool << ": " << envelope.error().message;
        for (const auto& text : {base::json_text(envelope.result()), receipt_of(envelope)}) {
            EXPECT_EQ(count_of(text, "truncat"), 0U) << tool << ": " << text;
            // The plan's file is what the item has, not output that was moved out of the way.
            EXPECT_EQ(count_of(text, "artifact"), count_of(text, "\"plan_artifact\""))
                << tool << ": " << text;
            EXPECT_EQ(count_of(text, "\"plan_artifact\":null"), 0U) << tool << ": " << text;
        }
    }
}

TEST_F(WorkToolsTest, AreChangedInATurnOnly) {
    const auto end =
        call("CompleteWorkItem", {{"work_item_id", "w"}}, domain::CallSource::PlanStep);
    ASSERT_FALSE(end.completed);
    EXPECT_EQ(end.completed.error().kind, "unsupported_runtime_capability");
}

class NotifyOperatorTest : public WorkToolsTest {
protected:
    NotifyOperatorTest() {
        registry_.add(notify_operator({.store = *store_, .loop = loop_, .clock = loop_}));
        EXPECT_TRUE(store_->write(store::Durability::Process, [](store::Tx& tx) {
            return tx.put_agent({.agent_id = {"main"}});
        }));
    }
    tools::Outcome notify(const std::string& message) {
        return call("NotifyOperator", {{"message", message}}, domain::CallSource::Turn);
    }
};

TEST_F(NotifyOperatorTest, AsksForOneRecordWithTheFirstLineAsItsSummary) {
    const auto end = notify("\n  Which branch?  \nmain or next\n");
    ASSERT_TRUE(end.completed) << end.completed.error().message;
    ASSERT_EQ(end.mutations.size(), 1U);
    const auto* made = end.mutations[0].as<domain::OperatorNotification>();
    ASSERT_TRUE(made);
    EXPECT_EQ(made->message, "Which branch?  \nmain or next");
    EXPECT_EQ(made->summary, "Which branch?");
    EXPECT_EQ(made->agent_id, domain::AgentId{"main"});
    EXPECT_EQ(made->target_operator_boundary, domain::OperatorBoundary::PrimaryOperator);
    // The same call again, after a crash, is the same notification.
    EXPECT_EQ(notify("again").mutations[0].as<domain::OperatorNotification>()->notification_id,
              made->notification_id);
}

TEST_F(NotifyOperatorTest, IsAboutTheCurrentItemElseTheOneBlockedLast) {
    const auto put = [&](domain::WorkItem item) {
        item.agent_id = {"main"};
        EXPECT_TRUE(store_->write(store::Durability::Process,
                                  [&](store::Tx& tx) { return tx.put_work_item(item); }));
    };
    put({.id = {"w1"}, .objective = "o", .blocked_by = "x"});
    EXPECT_EQ(notify("m").mutations[0].as<domain::OperatorNotification>()->work_item_id,
              domain::WorkItemId{"w1"});
    put({.id = {"w2"}, .objective = "o"});
    EXPECT_TRUE(store_->write(store::Durability::Process, [](store::Tx& tx) {
        return tx.put_agent(
            {.agent_id = {"main"}, .current_work_item_id = domain::WorkItemId{"w2"}});
    }));
    EXPECT_EQ(notify("m").mutations[0].as<domain::OperatorNotification>()->work_item_id,
              domain::WorkItemId{"w2"});
}

TEST_F(NotifyOperatorTest, BlankAndOversizeMessagesAreInputErrors) {
    const auto* tool = registry_.find("NotifyOperator");
    EXPECT_TRUE(tool->check(json::object{{"message", " \n"}}));
    EXPECT_TRUE(
        tool->check(json::object{{"message", std::string(kNotificationCharsMax + 1, 'x')}}));
    EXPECT_FALSE(tool->check(json::object{{"message", std::string(kNotificationCharsMax, 'x')}}));
}

TEST_F(NotifyOperatorTest, AnAgentThatCallsTooOftenIsRefusedUntilAnHourLater) {
    EXPECT_TRUE(store_->write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
        for (std::int64_t i = 0; i < kNotificationsPerHourMax; ++i)
            TRY(tx.append_notification({.notification_id = std::to_string(i),
                                        .agent_id = {"main"},
                                        .created_at = loop_.now()}));
        return {};
    }));
    const auto refused = notify("once more");
    ASSERT_FALSE(refused.completed);
    EXPECT_EQ(refused.completed.error().kind, "notification_refused");
    EXPECT_TRUE(refused.mutations.empty());
    loop_.set_clock(loop_.now() + std::chrono::minutes(61));
    EXPECT_TRUE(notify("once more").completed);
}

TEST_F(WorkToolsTest, APlanFileThatIsALinkIsATypedErrorAndNothingChanges) {
    const auto home = temporary_home();
    ASSERT_TRUE(store_->write(store::Durability::Process, [](store::Tx& tx) -> base::Status {
        TRY(tx.put_agent({.agent_id = {"main"}}));
        return tx.put_work_item({.id = {"w"}, .agent_id = {"main"}, .objective = "o"});
    }));
    std::filesystem::create_directories(home / "work-items/w");
    std::filesystem::create_symlink("/etc/passwd", home / "work-items/w/plan.md");
    for (const char* tool : {"GetWorkItem", "UpdateWorkItem", "CompleteWorkItem"}) {
        std::optional<tools::Outcome> end;
        registry_.find(tool)->start({.call_id = {"c"}, .args = json::object{{"work_item_id", "w"}}},
                                    {.agent_id = {"main"}, .agent_home = home}, sink_,
                                    [&](tools::Outcome outcome) { end = std::move(outcome); });
        loop_.run();
        ASSERT_TRUE(end);
        ASSERT_FALSE(end->completed) << tool;
        EXPECT_EQ(end->completed.error().kind, "plan_artifact_unreadable");
        EXPECT_TRUE(end->mutations.empty());
    }
    std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace work_tools
