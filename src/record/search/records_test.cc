#include "record/search/records.h"

#include <fstream>

#include <gmock/gmock.h>

#include "record/search/texts.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "store/sql/sqlite/temp_database.h"

namespace search {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

const base::Time kNow = base::parse_time("2031-01-02T03:04:05Z").value();

struct FixedClock final : base::Clock {
    base::Time now() override { return kNow; }
};

class RecordsTest : public testing::Test {
protected:
    RecordsTest() {
        for (const char* agent : {"ada", "bob"})
            commit([&](store::Tx& tx) { return tx.put_agent({.agent_id = {agent}}); });
    }
    void commit(std::function<base::Status(store::Tx&)> work) {
        const auto status = store_->write(store::Durability::Process,
                                          [&](store::Tx& tx) -> base::Status { return work(tx); });
        ASSERT_TRUE(status) << status.error().message;
    }
    void say(const std::string& agent, const std::string& id, const std::string& text,
             base::Time at = kNow) {
        commit([&](store::Tx& tx) -> base::Status {
            TRY(tx.append_transcript({.id = id,
                                      .agent_id = {agent},
                                      .created_at = at,
                                      .kind = domain::TranscriptKind::ToolResults,
                                      .data = json::object{{"results", {{{"content", text}}}}}}));
            return note(tx, agent, "turn_started", {}, at);
        });
    }
    static base::Status note(store::Tx& tx, const std::string& agent, const std::string& kind,
                             json::object data, base::Time at = kNow) {
        TRY(tx.append_event({agent}, {.id = {agent + kind + std::to_string(++made_)},
                                      .created_at = at,
                                      .kind = kind,
                                      .data = std::move(data)}));
        return {};
    }
    std::vector<std::string> find(const domain::RecordQuery& query) {
        const auto found = records_.search(query);
        EXPECT_TRUE(found) << found.error().message;
        std::vector<std::string> list;
        if (found)
            for (const auto& hit : found->results)
                list.push_back(hit.agent_id + "/" + hit.kind + "/" + hit.id);
        return list;
    }
    std::vector<std::string> find(const std::string& text) {
        return find(domain::RecordQuery{.query = text});
    }

    static inline int made_ = 0;
    sqlite::TempDatabase folder_;
    FixedClock clock_;
    std::unique_ptr<store::Store> store_ = sqlite::open_inline({.file = ":memory:"}).value();
    Records records_{{.store = *store_, .clock = clock_, .home = folder_.folder()}};
};

TEST_F(RecordsTest, FindsTranscriptsBriefsAndEventsOfAllAgents) {
    say("ada", "t1", "the falcon landed");
    commit([&](store::Tx& tx) -> base::Status {
        TRY(tx.append_brief(
            {.id = {"b1"}, .agent_id = {"bob"}, .created_at = kNow, .text = "falcon seen"}));
        return note(tx, "bob", "runtime_error", {{"error", "no falcon"}, {"run_id", "falcon-run"}});
    });
    EXPECT_THAT(find("falcon"),
                UnorderedElementsAre("ada/transcript/t1", "bob/brief/b1", "bob/event/1"));
    const auto hit = records_.search({.query = "landed"})->results.at(0);
    EXPECT_EQ(hit.title, "tool results");
    EXPECT_EQ(hit.snippet, "the falcon landed");
    EXPECT_EQ(hit.created_at, kNow);
    EXPECT_LT(hit.score, 0);
}

TEST_F(RecordsTest, ShowsAnAnswerOnce) {
    say("ada", "t1", "the falcon landed");
    say("ada", "t2", "the falcon landed");
    commit([&](store::Tx& tx) -> base::Status {
        TRY(tx.append_brief(
            {.id = {"b1"}, .agent_id = {"ada"}, .created_at = kNow, .text = "the falcon landed"}));
        for (const char* kind : {"turn_terminal", "agent_state_changed", "working_memory_updated"})
            TRY(note(tx, "ada", kind, {{"text", "the falcon landed"}}));
        return note(tx, "bob", "runtime_error", {{"error", "the falcon landed"}});
    });
    EXPECT_THAT(find("falcon"), UnorderedElementsAre("ada/brief/b1", "bob/event/1"));
}

TEST_F(RecordsTest, IdsAndMarksAreNoText) {
    const json::value data{{"run_id", "r1"},
                           {"kind", "k"},
                           {"created_at", "now"},
                           {"blocks",
                            {{{"type", "text"}, {"text", "hello"}},
                             {{"input", {{"cmd", "make test"}}}, {"id", "x"}}}}};
    EXPECT_EQ(texts_in(data), "hello\nmake test");
    EXPECT_EQ(texts_in(json::value(std::string(200'000, 'x'))).size(), kRecordBytesMax);
}

TEST_F(RecordsTest, NarrowsByAgentAndTime) {
    say("ada", "t1", "falcon", kNow - std::chrono::hours(48));
    say("bob", "t2", "falcon");
    EXPECT_THAT(find({.query = "falcon", .agent = "ada"}), ElementsAre("ada/transcript/t1"));
    EXPECT_THAT(find({.query = "falcon", .since = kNow - std::chrono::hours(1)}),
                ElementsAre("bob/transcript/t2"));
    EXPECT_EQ(find({.query = "falcon", .limit = 1}).size(), 1U);
    EXPECT_EQ(records_.search({.query = "x", .agent = "nobody"}).error().code,
              base::ErrorCode::NotFound);
}

TEST_F(RecordsTest, AddsWhatIsNew) {
    for (int i = 0; i < 1500; ++i) say("ada", fmt::format("t{}", i), fmt::format("number{}", i));
    EXPECT_THAT(find("number0"), ElementsAre("ada/transcript/t0"));
    EXPECT_THAT(find("number1499"), ElementsAre("ada/transcript/t1499"));
    say("ada", "late", "osprey");
    EXPECT_THAT(find("osprey"), ElementsAre("ada/transcript/late"));
    EXPECT_FALSE(records_.search({.query = "x"})->is_partial);
}

TEST_F(RecordsTest, SaysWhenTimeWasTooShortAndContinuesLater) {
    say("ada", "t1", "falcon");
    say("bob", "t2", "falcon");
    Records hasty({.store = *store_,
                   .clock = clock_,
                   .home = folder_.folder(),
                   .patience = std::chrono::milliseconds(0)});
    EXPECT_TRUE(hasty.search({.query = "falcon"})->is_partial);
    EXPECT_EQ(find("falcon").size(), 2U);
}

TEST_F(RecordsTest, ForgetsAgentsThatAreGone) {
    say("ada", "t1", "falcon");
    say("bob", "t2", "falcon");
    EXPECT_EQ(find("falcon").size(), 2U);
    commit([](store::Tx& tx) { return tx.erase_agent({"ada"}); });
    EXPECT_THAT(find("falcon"), ElementsAre("bob/transcript/t2"));
    // At once, without another search.
    ASSERT_TRUE(records_.forget({"bob"}));
    auto index = fts::Index::open(folder_.folder() / kIndexFile).value();
    EXPECT_EQ(index.count().value(), 0);
}

TEST_F(RecordsTest, AnAgentOfTheSameNameStartsAnew) {
    say("ada", "t1", "falcon");
    say("ada", "t2", "falcon");
    EXPECT_EQ(find("falcon").size(), 2U);
    commit([](store::Tx& tx) -> base::Status {
        TRY(tx.erase_agent({"ada"}));
        return tx.put_agent({.agent_id = {"ada"}});
    });
    say("ada", "t9", "osprey");
    EXPECT_THAT(find("falcon"), IsEmpty());
    EXPECT_THAT(find("osprey"), ElementsAre("ada/transcript/t9"));
}

TEST_F(RecordsTest, ForgetsWhatRetentionHasRemoved) {
    say("ada", "t1", "falcon");
    say("ada", "t2", "falcon");
    EXPECT_EQ(find("falcon").size(), 2U);
    commit([](store::Tx& tx) -> base::Status {
        const auto first = TRY(tx.transcript({"ada"}, {.limit = 1})).at(0).seq;
        TRY(tx.erase_rows({"ada"}, store::Stream::Transcript, 0, first));
        auto state = TRY(tx.retention());
        state.last_pass_at = kNow;
        return tx.put_retention(state);
    });
    EXPECT_THAT(find("falcon"), ElementsAre("ada/transcript/t2"));
}

TEST_F(RecordsTest, ADamagedIndexIsMadeAgain) {
    say("ada", "t1", "falcon");
    EXPECT_EQ(find("falcon").size(), 1U);
    std::ofstream(folder_.folder() / kIndexFile, std::ios::trunc) << std::string(9000, 'x');
    fs::remove((folder_.folder() / kIndexFile).string() + "-wal");
    EXPECT_EQ(find("falcon").size(), 1U);
}

}  // namespace
}  // namespace search
