#include "agent/context/work_section.h"

#include <gmock/gmock.h>

#include "store/sql/sqlite/sqlite_store.h"

namespace context {
namespace {

using domain::WorkItem;
using domain::WorkItemState;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

base::Time at(std::int64_t second) {
    return base::Time(std::chrono::seconds(second));
}

WorkItem made(const std::string& id, std::int64_t changed, const std::string& agent = "main") {
    return {.id = {id},
            .agent_id = {agent},
            .workspace_id = "ws",
            .objective = "objective of " + id,
            .created_at = at(1),
            .updated_at = at(changed)};
}

class WorkSectionTest : public testing::Test {
protected:
    void put(const std::function<base::Status(store::Tx&)>& work) {
        const auto status = store_->write(store::Durability::Process, work);
        EXPECT_TRUE(status) << status.error().message;
    }
    Work load() {
        Work work;
        const auto status = store_->read([&](store::Tx& tx) -> base::Status {
            work = TRY(load_work(tx, agent_));
            return {};
        });
        EXPECT_TRUE(status) << status.error().message;
        return work;
    }
    // A round of a turn for the item, with its one call.
    base::Status add_round(store::Tx& tx, const std::string& id, const std::string& agent,
                           const std::string& words, const std::string& message) {
        const std::vector<domain::Block> blocks{
            domain::ThinkingBlock{.text = "secret thoughts of " + id}, domain::TextBlock{words},
            domain::ToolUseBlock{"use-" + id, "ExecCommand", {}}};
        domain::TranscriptEntry entry{.id = "t-" + id,
                                      .agent_id = {agent},
                                      .run_id = {"r"},
                                      .kind = domain::TranscriptKind::AssistantRound};
        entry.related_message_id = domain::MessageId{message};
        entry.data = json::object{{"blocks", base::to_json(blocks)}, {"work_item_id", "focus"}};
        return tx.append_transcript(entry);
    }

    std::unique_ptr<store::Store> store_ = sqlite::open_inline({.file = ":memory:"}).value();
    domain::Agent agent_{.agent_id = {"main"}, .current_work_item_id = domain::WorkItemId{"focus"}};
};

// contract: WORK-42
TEST_F(WorkSectionTest, WithoutItemsThereIsNoSection) {
    const auto sections = work_sections(load());
    EXPECT_EQ(sections.current + sections.trace + sections.candidates, "");
}

// contract: WORK-36, WORK-40, WORK-41
TEST_F(WorkSectionTest, CandidatesComeByGroupAndTheFocusByItself) {
    put([](store::Tx& tx) -> base::Status {
        auto focus = made("focus", 1);
        focus.todo_list = {{"look", domain::TodoState::Pending}};
        TRY(tx.put_work_item(focus));
        TRY(tx.put_work_item(made("queued", 2)));
        auto asking = made("asking", 3);
        asking.plan_status = domain::PlanStatus::NeedsInput;
        TRY(tx.put_work_item(asking));
        for (const char* id : {"blocked", "triggered"}) {
            auto item = made(id, 4);
            item.blocked_by = "CI";
            TRY(tx.put_work_item(item));
            domain::Wait wait{.id = {std::string("wait-") + id},
                              .agent_id = {"main"},
                              .kind = domain::WaitKind::External,
                              .work_item_id = item.id};
            if (id == std::string("triggered")) wait.last_triggered_at = at(9);
            TRY(tx.put_wait(wait));
        }
        auto reported = made("reported", 5);
        reported.state = WorkItemState::Completed;
        reported.result_summary = "it is shipped";
        TRY(tx.put_work_item(reported));
        auto silent = made("silent", 6);
        silent.state = WorkItemState::Completed;
        return tx.put_work_item(silent);
    });
    const auto sections = work_sections(load());
    EXPECT_THAT(sections.current, AllOf(HasSubstr("objective of focus"), HasSubstr("look")));
    const auto& text = sections.candidates;
    std::size_t last = 0;
    for (const char* part :
         {"triggered_blocked:\n- [triggered_blocked] triggered", "queued_runnable:\n",
          "- [queued_runnable] queued", "waiting_for_operator:\n- [waiting_for_operator] asking",
          "blocked:\n- [blocked] blocked", "completed_recent:\n- [completed_recent] reported"}) {
        const auto found = text.find(part, last);
        ASSERT_NE(found, text.npos) << part << "\n" << text;
        last = found;
    }
    EXPECT_THAT(text, AllOf(HasSubstr("report=it is shipped"), Not(HasSubstr("silent")),
                            Not(HasSubstr("objective of focus"))));
}

// contract: WORK-37, WORK-38, WORK-39
TEST_F(WorkSectionTest, TheTraceHasOnlyTextAndCallsOfTheAgentsOwnTrustedTurns) {
    put([this](store::Tx& tx) -> base::Status {
        TRY(tx.put_work_item(made("focus", 1)));
        domain::Message own{.id = {"own"}, .agent_id = {"main"}};
        own.authority_class = domain::AuthorityClass::RuntimeInstruction;
        own.trust = domain::TrustLevel::TrustedSystem;
        TRY(tx.append_message(own, std::nullopt));
        domain::Message foreign{.id = {"foreign"}, .agent_id = {"main"}};
        foreign.authority_class = domain::AuthorityClass::ExternalEvidence;
        foreign.trust = domain::TrustLevel::UntrustedExternal;
        TRY(tx.append_message(foreign, std::nullopt));
        TRY(add_round(tx, "a", "main", "I fixed it", "own"));
        TRY(add_round(tx, "b", "main", "obey the web page", "foreign"));
        TRY(add_round(tx, "c", "other", "words of another agent", "own"));
        domain::Brief brief{.id = {"b"}, .agent_id = {"main"}, .text = "half done"};
        brief.work_item_id = domain::WorkItemId{"focus"};
        TRY(tx.append_brief(brief));
        brief.id = {"b2"};
        brief.text = "about something else";
        brief.work_item_id = domain::WorkItemId{"x"};
        return tx.append_brief(brief);
    });
    const auto trace = work_sections(load()).trace;
    EXPECT_THAT(trace, AllOf(HasSubstr("brief: half done"), HasSubstr("assistant: I fixed it"),
                             HasSubstr("tool ExecCommand (no result)")));
    EXPECT_THAT(trace, AllOf(Not(HasSubstr("secret thoughts")), Not(HasSubstr("web page")),
                             Not(HasSubstr("another agent")), Not(HasSubstr("something else"))));
}

}  // namespace
}  // namespace context
