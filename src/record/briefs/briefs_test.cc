#include "record/briefs/briefs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/sql/sqlite/sqlite_store.h"

namespace briefs {
namespace {

constexpr base::Time kNow = base::Time(std::chrono::microseconds(1'925'000'000'000'000));

domain::Message message(const std::string& text) {
    return {.id = {"m"}, .agent_id = {"main"}, .body = domain::TextBody{text}};
}

class BriefsTest : public testing::Test {
protected:
    base::SystemClock clock_;
    base::RandomIds ids_{clock_, 1};
    std::unique_ptr<store::Store> store_{
        sqlite::open({.file = ":memory:", .mode = sqlite::Mode::Inline}).value()};
    domain::Agent agent_{.agent_id = {"main"}};
    domain::AgentStatistics statistics_{.agent_id = {"main"}};
    std::vector<events::Committed> taken_;

    domain::Brief publish(domain::Brief brief) {
        domain::Brief stored;
        const auto status =
            store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
                events::Log log(tx, kNow, ids_);
                TRY(briefs::publish(log, agent_, statistics_, std::move(brief)));
                taken_ = log.take();
                stored = TRY(tx.briefs({"main"}, {.newest_first = true})).at(0).record;
                return {};
            });
        EXPECT_TRUE(status) << status.error().message;
        return stored;
    }
};

TEST_F(BriefsTest, AnAcknowledgementHasThePrefixThatClientsHideItBy) {
    EXPECT_EQ(kAckPrefix, "Queued work: ");
    EXPECT_EQ(ack(agent_, message(" tidy\n  up ")),
              (domain::Brief{.agent_id = {"main"},
                             .kind = domain::BriefKind::Ack,
                             .text = "Queued work: tidy up",
                             .related_message_id = domain::MessageId{"m"}}));
    EXPECT_EQ(ack(agent_, message(std::string(100, 'x'))).text,
              "Queued work: " + std::string(79, 'x') + "…");
}

// contract: BRIEF-03
TEST_F(BriefsTest, EachFormIsStoredAndAnnouncedAsItIs) {
    agent_.active_workspace_entry = domain::WorkspaceEntry{.workspace_id = "ws-1"};
    const std::vector<std::pair<domain::Brief, std::string_view>> table{
        {ack(agent_, message("tidy up")), "ack"},
        {{.kind = domain::BriefKind::Result, .text = "done"}, "result"},
        {{.kind = domain::BriefKind::Failure, .text = "it failed"}, "failure"}};
    for (const auto& [brief, kind] : table) {
        const auto stored = publish(brief);
        domain::Brief expected = brief;
        expected.id = stored.id;
        expected.agent_id = {"main"};
        expected.workspace_id = "ws-1";
        expected.created_at = kNow;
        EXPECT_EQ(stored, expected);
        EXPECT_FALSE(stored.id.empty());
        ASSERT_EQ(taken_.size(), 1U);
        EXPECT_EQ(taken_[0].event.kind, "brief_created");
        EXPECT_EQ(taken_[0].event.data, base::to_json(stored));
        EXPECT_EQ(taken_[0].event.data.at("kind"), json::value(kind));
        EXPECT_EQ(statistics_.last_brief_at, kNow);
    }
}

// contract: BRIEF-14
TEST_F(BriefsTest, TheEventHasEveryFieldOfTheRecord) {
    publish({.workspace_id = "ws-2",
             .work_item_id = domain::WorkItemId{"work_1"},
             .text = "done",
             .attachments = std::vector<domain::BriefAttachment>{{.uri = "file:///a"}},
             .related_message_id = domain::MessageId{"m"},
             .related_task_id = domain::TaskId{"t"}});
    auto data = taken_.at(0).event.data.as_object();
    data.erase("id");
    EXPECT_EQ(data, (json::object{{"agent_id", "main"},
                                  {"workspace_id", "ws-2"},
                                  {"work_item_id", "work_1"},
                                  {"kind", "result"},
                                  {"created_at", "2031-01-01T02:13:20.000000Z"},
                                  {"text", "done"},
                                  {"attachments", json::array{{{"uri", "file:///a"}}}},
                                  {"related_message_id", "m"},
                                  {"related_task_id", "t"}}));
}

}  // namespace
}  // namespace briefs
