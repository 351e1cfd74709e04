#include "store/fts/index.h"

#include <fstream>

#include <gmock/gmock.h>

#include "base/text.h"
#include "store/fts/query.h"
#include "store/fts/ranking.h"
#include "store/fts/tokenizer.h"
#include "store/sql/sqlite/temp_database.h"

namespace fts {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const base::Time kNow = base::parse_time("2031-01-02T03:04:05Z").value();

class IndexTest : public testing::Test {
protected:
    void put(const std::string& ref, const std::string& body, const Document& rest = {}) {
        auto document = rest;
        document.source_ref = ref;
        document.body = body;
        if (document.updated_at == base::Time{}) document.updated_at = kNow;
        const auto status = index_.write([&](Index& index) { return index.put(document); });
        ASSERT_TRUE(status) << status.error().message;
    }
    std::vector<std::string> find(const std::string& text, std::int64_t limit = 10) {
        return find(Query{.text = text, .limit = limit, .now = kNow});
    }
    std::vector<std::string> find(const Query& query) {
        const auto hits = index_.search(query);
        EXPECT_TRUE(hits) << hits.error().message;
        std::vector<std::string> refs;
        if (hits)
            for (const auto& hit : *hits) refs.push_back(hit.document.source_ref);
        return refs;
    }
    std::vector<std::string> tokens(std::string_view text) {
        std::vector<std::string> list;
        const auto connection = sqlite::Connection::open({.file = ":memory:"}).value();
        for (const auto& token : tokens_of(connection->handle(), text).value())
            list.push_back((token.is_part ? "+" : "") + token.text);
        return list;
    }

    sqlite::TempDatabase folder_;
    std::filesystem::path file_ = folder_.folder() / "index.sqlite3";
    Index index_ = Index::open(file_).value();
};

TEST_F(IndexTest, TextBecomesTokens) {
    EXPECT_THAT(tokens("Running tests"), ElementsAre("run", "test"));
    EXPECT_THAT(tokens("getUserName"), ElementsAre("getusernam", "+get", "+user", "+name"));
    EXPECT_THAT(tokens("火车站A"), ElementsAre("火车", "车站", "站", "a"));
    EXPECT_THAT(tokens("Café"), ElementsAre("cafe"));
}

TEST_F(IndexTest, ALongWordIsCutOff) {
    const std::string word(1000, 'x');
    EXPECT_EQ(tokens(word), std::vector<std::string>{word.substr(0, kTokenBytesMax)});
    put("long", word);
    EXPECT_THAT(find(word), ElementsAre("long"));
}

// contract: MEM-42
TEST_F(IndexTest, FindsTwoCharactersInTheMiddleOfASentence) {
    put("zh", "我们昨天在火车站修复了数据库的索引");
    put("ja", "昨日、東京タワーで検索の不具合を直した。");
    put("ko", "어제 데이터베이스 색인을 고쳤다");
    for (const char* word : {"昨天", "火车", "车站", "数据", "据库", "索引", "的索"})
        EXPECT_THAT(find(word), Contains("zh")) << word;
    EXPECT_THAT(find("タワー"), ElementsAre("ja"));
    EXPECT_THAT(find("検索"), ElementsAre("ja"));
    EXPECT_THAT(find("데이터"), ElementsAre("ko"));
    EXPECT_THAT(find("火"), ElementsAre("zh"));
    EXPECT_THAT(find("引"), ElementsAre("zh"));  // The last character of its run.
    EXPECT_THAT(find("数据库"), ElementsAre("zh"));
    EXPECT_THAT(find("库数"), IsEmpty());
    // Words that are apart in the text.
    EXPECT_THAT(find("数据库火车站"), ElementsAre("zh"));
}

// contract: MEM-43
TEST_F(IndexTest, FindsLatinAndHanTogether) {
    put("both", "把 SQLite 的索引重建");
    put("one", "SQLite only");
    EXPECT_EQ(find("SQLite索引").front(), "both");
}

TEST_F(IndexTest, FindsIdentifiersByTheirWords) {
    put("camel", "call getUserName()");
    put("snake", "call get_user_name()");
    EXPECT_THAT(find("user name"), UnorderedElementsAre("camel", "snake"));
    EXPECT_THAT(find("getUserName"), UnorderedElementsAre("camel", "snake"));
    EXPECT_EQ(find("get_user_name").front(), "snake");
    EXPECT_EQ(find("getUserName").front(), "camel");
}

TEST_F(IndexTest, TextIsNeverSyntax) {
    put("a", "alpha NEAR beta \"quoted\" title:x AND (paren)");
    for (const char* text : {"\"", "\"\"\"", "alpha AND", "NOT beta", "title:alpha", "alpha*", "(",
                             "NEAR(alpha", "^alpha", "alpha OR", "{title}: beta", "-beta", "'",
                             "alpha\" OR \"beta", "+", "\\", "a:b:c \" AND NOT"})
        EXPECT_TRUE(index_.search({.text = text, .now = kNow})) << text;
    EXPECT_THAT(find("NOT beta"), ElementsAre("a"));
    EXPECT_THAT(find("\"quoted"), ElementsAre("a"));
    EXPECT_THAT(find("  \" () "), IsEmpty());
    EXPECT_THAT(find(""), IsEmpty());
    EXPECT_THAT(find(std::string("alpha\0beta", 10)), ElementsAre("a"));
    EXPECT_TRUE(index_.search({.text = std::string(100'000, '"'), .now = kNow}));
    EXPECT_TRUE(index_.search({.text = "\xff\xfe alpha \xe4\xb8", .now = kNow}));
}

TEST_F(IndexTest, DocumentsWithAllTermsComeFirst) {
    put("some", "gamma gamma gamma gamma gamma gamma");
    put("all", "alpha and much later, behind many other words, gamma");
    EXPECT_THAT(find("alpha gamma"), ElementsAre("all", "some"));
    EXPECT_THAT(find("alpha gamma nowhere"), ElementsAre("all", "some"));
}

TEST_F(IndexTest, NewerDocumentsAndBetterSourcesComeFirst) {
    put("old", "same words", {.updated_at = kNow - std::chrono::hours(24 * 365)});
    put("new", "same words");
    put("curated", "same words",
        {.updated_at = kNow - std::chrono::hours(24 * 365), .weight = 300});
    EXPECT_THAT(find("same words"), ElementsAre("curated", "new", "old"));
    EXPECT_DOUBLE_EQ(recency(0), 1);
    EXPECT_DOUBLE_EQ(recency(-5), 1);  // Clocks of machines differ.
    EXPECT_DOUBLE_EQ(recency(24 * 30), 0.75);
    EXPECT_GT(inverse_frequency(100, 1), inverse_frequency(100, 50));
    EXPECT_GE(inverse_frequency(1, 5), 0);
}

TEST_F(IndexTest, SearchesWithinAScopeAndATime) {
    put("everywhere", "word", {.scope = ""});
    put("a", "word", {.scope = "A"});
    put("b", "word", {.scope = "B", .updated_at = kNow - std::chrono::hours(10)});
    EXPECT_THAT(find({.text = "word", .scope = "A", .now = kNow}),
                UnorderedElementsAre("everywhere", "a"));
    EXPECT_THAT(find({.text = "word", .scope = "unknown", .now = kNow}), ElementsAre("everywhere"));
    EXPECT_THAT(find({.text = "word", .since = kNow - std::chrono::hours(1), .now = kNow}),
                UnorderedElementsAre("everywhere", "a"));
    EXPECT_EQ(find("word").size(), 3);
}

// contract: MEM-41, MEM-44
TEST_F(IndexTest, ReturnsTheExactTextThatWasPut) {
    const std::string body = "数据库的索引\r\n\tand \xff bytes\n";
    put("exact", body, {.kind = "k", .scope = "s", .title = "T", .details = "{}", .weight = 70});
    EXPECT_EQ(index_.get("exact").value(), (Document{.source_ref = "exact",
                                                     .kind = "k",
                                                     .scope = "s",
                                                     .title = "T",
                                                     .body = body,
                                                     .details = "{}",
                                                     .updated_at = kNow,
                                                     .weight = 70}));
    EXPECT_EQ(index_.search({.text = "索引", .now = kNow})->front().document.body, body);
    EXPECT_FALSE(index_.get("other").value().has_value());
}

TEST_F(IndexTest, PuttingAgainReplacesAndErasingForgets) {
    put("a", "first 火车");
    put("a", "second");
    EXPECT_THAT(find("first"), IsEmpty());
    EXPECT_THAT(find("火车"), IsEmpty());
    EXPECT_THAT(find("second"), ElementsAre("a"));
    EXPECT_EQ(index_.count().value(), 1);
    ASSERT_TRUE(index_.write([](Index& index) { return index.erase("a"); }));
    EXPECT_THAT(find("second"), IsEmpty());
    EXPECT_EQ(index_.count().value(), 0);
}

TEST_F(IndexTest, ErasesWhatIsBelowASequence) {
    put("b1", "x", {.kind = "brief", .scope = "S", .sequence = 1});
    put("b2", "x", {.kind = "brief", .scope = "S", .sequence = 2});
    put("b3", "x", {.kind = "brief", .scope = "T", .sequence = 1});
    put("e1", "x", {.kind = "event", .scope = "S", .sequence = 1});
    ASSERT_TRUE(index_.write([](Index& index) { return index.erase_below("brief", "S", 2); }));
    EXPECT_THAT(find("x"), UnorderedElementsAre("b2", "b3", "e1"));
    ASSERT_TRUE(index_.write([](Index& index) { return index.erase_below("brief", {}, 9); }));
    EXPECT_THAT(find("x"), ElementsAre("e1"));
}

TEST_F(IndexTest, AChangeIsCommittedWholeOrNotAtAll) {
    const auto status = index_.write([](Index& index) -> Status {
        TRY(index.put({.source_ref = "a", .body = "word"}));
        TRY(index.set_cursor("c", "7"));
        return base::fail(base::ErrorCode::Io, "stop");
    });
    EXPECT_EQ(status.error().message, "stop");
    EXPECT_EQ(index_.count().value(), 0);
    EXPECT_EQ(index_.cursor("c").value(), "");
    ASSERT_TRUE(index_.write([](Index& index) { return index.set_cursor("c", "8"); }));
    EXPECT_EQ(index_.cursor("c").value(), "8");
}

TEST_F(IndexTest, ACommonWordDoesNotHideARareOne) {
    ASSERT_TRUE(index_.write([](Index& index) -> Status {
        for (int i = 0; i < 12'000; ++i)
            TRY(index.put({.source_ref = fmt::format("c{:05}", i),
                           .body = i == 5 ? "deploy of the zebra" : "deploy of the day",
                           .updated_at = kNow}));
        return {};
    }));
    EXPECT_EQ(find("deploy zebra").front(), "c00005");
    EXPECT_EQ(find("zebra in the deploy of nothing").front(), "c00005");
    EXPECT_EQ(find("deploy").size(), 10U);
    EXPECT_EQ(find("the of deploy").size(), 10U);
    EXPECT_EQ(find("deploy", 1'000'000).size(), static_cast<std::size_t>(kHitsMax));
}

TEST_F(IndexTest, TheSnippetShowsWhereTheWordsAre) {
    std::string body(3000, 'x');
    body.replace(100, 1, " ");
    put("s", body + "\n the needle\tis 在火车站 here " + body);
    const auto hits = index_.search({.text = "needle", .now = kNow}).value();
    EXPECT_THAT(hits.front().snippet, HasSubstr("the needle is 在火车站 here"));
    EXPECT_TRUE(hits.front().snippet.starts_with("…"));
    EXPECT_TRUE(hits.front().snippet.ends_with("…"));
    EXPECT_THAT(index_.search({.text = "站", .now = kNow})->front().snippet, HasSubstr("needle"));
    EXPECT_TRUE(base::is_utf8(hits.front().snippet));
}

TEST_F(IndexTest, AWordOfTheTitleCountsMoreThanOneOfTheBody) {
    put("body", "zebra crossing", {.title = "street"});
    put("title", "street crossing", {.title = "zebra"});
    put("later", "zebra crossing", {.title = "street"});
    EXPECT_EQ(find("zebra").front(), "title");
}

// What FTS5 writes for a word depends on its column; see kSchema.
TEST_F(IndexTest, AnIndexOfPairsIsHardlyLargerThanItsText) {
    std::size_t bytes = 0;
    std::uint32_t random = 1;
    const auto character = [&]() -> std::string {
        random = random * 1664525 + 1013904223;
        const auto code = 0x4E00U + (random >> 16U) % 60;
        return {static_cast<char>(0xE0U | (code >> 12U)),
                static_cast<char>(0x80U | ((code >> 6U) & 0x3FU)),
                static_cast<char>(0x80U | (code & 0x3FU))};
    };
    const auto status = index_.write([&](Index& index) -> Status {
        for (int n = 0; n < 2'000; ++n) {
            std::string body;
            for (int i = 0; i < 200; ++i) body += character();
            bytes += body.size();
            TRY(index.put({.source_ref = std::to_string(n), .body = body}));
        }
        return {};
    });
    ASSERT_TRUE(status);
    ASSERT_TRUE(index_.compact());
    const auto used = static_cast<std::size_t>(index_.size()->used_bytes) - bytes;
    EXPECT_LT(static_cast<double>(used) / static_cast<double>(bytes), 2.0);
}

TEST_F(IndexTest, ADamagedFileIsReplaced) {
    put("a", "word");
    index_ = Index::open(folder_.folder() / "other.sqlite3").value();
    std::ofstream(file_, std::ios::trunc) << std::string(10'000, 'z');
    std::filesystem::remove(file_.string() + "-wal");
    index_ = Index::open(file_).value();
    EXPECT_THAT(find("word"), IsEmpty());
    put("a", "word");
    EXPECT_THAT(find("word"), ElementsAre("a"));
}

TEST_F(IndexTest, DamageThatShowsLateReplacesTheFileOnce) {
    put("a", "word");
    int calls = 0;
    const auto status = with_index(folder_.folder() / "late.sqlite3", [&](Index& index) -> Status {
        ++calls;
        TRY(index.write([](Index& in) { return in.put({.source_ref = "x", .body = "word"}); }));
        if (calls == 1) return base::fail(base::ErrorCode::Corrupt, "damaged");
        EXPECT_EQ(index.count().value(), 1);
        return {};
    });
    EXPECT_TRUE(status);
    EXPECT_EQ(calls, 2);
}

TEST_F(IndexTest, AFileOfAnotherVersionIsReplaced) {
    const auto file = folder_.folder() / "v.sqlite3";
    {
        auto connection = sqlite::Connection::open({.file = file}).value();
        ASSERT_TRUE(connection->run_script("CREATE TABLE t (x); PRAGMA user_version = 99"));
    }
    EXPECT_EQ(Index::open(file)->count().value(), 0);
}

TEST_F(IndexTest, ALinkIsReplacedNotFollowed) {
    const auto target = folder_.folder() / "target";
    std::ofstream(target) << "precious";
    const auto link = folder_.folder() / "link.sqlite3";
    std::filesystem::create_symlink(target, link);
    EXPECT_TRUE(Index::open(link));
    EXPECT_FALSE(std::filesystem::is_symlink(link));
    EXPECT_EQ(std::filesystem::file_size(target), 8U);
}

}  // namespace
}  // namespace fts
