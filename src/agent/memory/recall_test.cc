#include "agent/memory/recall.h"

#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "agent/memory/documents.h"
#include "base/text.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "store/sql/sqlite/temp_database.h"

namespace memory {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

const base::Time kNow = base::parse_time("2031-01-02T03:04:05Z").value();

class RecallTest : public testing::Test {
protected:
    RecallTest() {
        fs::create_directories(home_ / "memory");
        fs::create_directories(home_ / kIndexFolder);
        domain::Agent agent{.agent_id = {"ada"}, .attached_workspaces = {"A", "B"}};
        agent.active_workspace_entry = workspace("A");
        commit([&](store::Tx& tx) -> base::Status {
            TRY(tx.put_agent(agent));
            TRY(tx.put_workspace(workspace("A")));
            return tx.put_workspace(workspace("B"));
        });
    }

    static domain::WorkspaceEntry workspace(const std::string& id) {
        return {.workspace_id = id, .workspace_anchor = "/projects/repo" + id};
    }
    void commit(std::function<base::Status(store::Tx&)> work) {
        const auto status = store_->write(store::Durability::Process,
                                          [&](store::Tx& tx) -> base::Status { return work(tx); });
        ASSERT_TRUE(status) << status.error().message;
    }
    void add_brief(const std::string& id, const std::string& text, const std::string& in = "A",
                   std::optional<domain::MessageId> cause = {}) {
        commit([&](store::Tx& tx) {
            return tx.append_brief({.id = {id},
                                    .agent_id = {"ada"},
                                    .workspace_id = in,
                                    .created_at = kNow,
                                    .text = text,
                                    .related_message_id = std::move(cause)});
        });
    }
    void add_message(const std::string& id, domain::AuthorityClass authority) {
        commit([&](store::Tx& tx) -> base::Status {
            TRY(tx.append_message({.id = {id},
                                   .agent_id = {"ada"},
                                   .created_at = kNow,
                                   .authority_class = authority,
                                   .body = domain::TextBody{"x"}},
                                  std::nullopt));
            return {};
        });
    }
    void put_item(const std::string& id, const std::string& objective, int second = 1) {
        commit([&](store::Tx& tx) {
            return tx.put_work_item({.id = {id},
                                     .agent_id = {"ada"},
                                     .workspace_id = "A",
                                     .objective = objective,
                                     .todo_list = {{"write it down"}},
                                     .created_at = kNow,
                                     .updated_at = kNow + std::chrono::seconds(second)});
        });
    }
    void add_episode(const std::string& id, const std::string& summary) {
        commit([&](store::Tx& tx) {
            return tx.append_episode({.id = id,
                                      .agent_id = {"ada"},
                                      .workspace_id = "A",
                                      .created_at = kNow,
                                      .finalized_at = kNow,
                                      .summary = summary,
                                      .commands = {"make test -> exit 0"}});
        });
    }
    void write_note(const std::string& name, const std::string& text) {
        std::ofstream(home_ / "memory" / (name + ".md")) << text;
    }
    Remembering whose(const std::string& workspace = "A") {
        return {.store = *store_,
                .agent = {"ada"},
                .home = home_,
                .workspace_id = workspace,
                .now = kNow};
    }
    std::vector<domain::MemoryHit> hits(const std::string& text, const std::string& workspace = "A",
                                        bool everywhere = false) {
        const auto found = search(
            whose(workspace), {.query = text, .limit = 50, .include_all_workspaces = everywhere});
        EXPECT_TRUE(found) << found.error().message;
        return found ? found->results : std::vector<domain::MemoryHit>{};
    }
    std::vector<std::string> find(const std::string& text, const std::string& workspace = "A",
                                  bool everywhere = false) {
        std::vector<std::string> refs;
        for (const auto& hit : hits(text, workspace, everywhere)) refs.push_back(hit.source_ref);
        return refs;
    }
    bool is_dirty() { return fs::exists(home_ / kDirtyFile); }

    sqlite::TempDatabase folder_;
    fs::path home_ = folder_.folder() / "home";
    std::unique_ptr<store::Store> store_ = sqlite::open_inline({.file = ":memory:"}).value();
};

// contract: MEM-25, MEM-29, MEM-32, MEM-33
TEST_F(RecallTest, FindsEachSourceUnderItsOwnName) {
    write_note("self", "# Self\nthe word heron\n");
    write_note("operator", "# Operator\nthe word falcon\n");
    add_brief("b1", "the word ibis");
    add_episode("ep_1", "the word stork");
    put_item("w1", "the word crane");
    const std::map<std::string, std::pair<std::string, std::string>> wanted{
        {"heron", {"agent_memory_markdown", "agent_memory:self"}},
        {"falcon", {"agent_memory_markdown", "agent_memory:operator"}},
        {"repoA", {"workspace_profile", "workspace_profile:A"}},
        {"ibis", {"brief", "brief:b1"}},
        {"stork", {"context_episode", "episode:ep_1"}},
        {"crane", {"work_item", "work_item:w1"}}};
    for (const auto& [word, source] : wanted) {
        const auto found = hits(word);
        ASSERT_FALSE(found.empty()) << word;
        EXPECT_EQ(found.front().kind, source.first) << word;
        EXPECT_EQ(found.front().source_ref, source.second) << word;
        const auto keys = base::to_json(found.front()).as_object();
        std::vector<std::string> names;
        for (const auto& member : keys) names.emplace_back(member.key());
        EXPECT_THAT(names, ElementsAre("kind", "source_ref", "scope_kind", "workspace_id",
                                       "agent_id", "source_path", "title", "snippet", "score",
                                       "updated_at", "metadata"));
        EXPECT_EQ(found.front().agent_id.value, "ada");
        EXPECT_LT(found.front().score, 0) << word;
    }
    EXPECT_EQ(hits("heron").front().source_path, (home_ / "memory/self.md").string());
    EXPECT_TRUE(fs::is_regular_file(home_ / kIndexFile));
    // Not one document of anything else.
    std::ofstream(home_ / "notes.md") << "the word osprey";
    std::ofstream(home_ / "memory" / "draft.md") << "the word osprey";
    EXPECT_THAT(find("osprey", "A", true), IsEmpty());
    EXPECT_EQ(find("the word", "A", true).size(), 5U);
}

// contract: MEM-26, MEM-27, MEM-34, MEM-35, MEM-36
TEST_F(RecallTest, ReadsTheExactTextWithinItsBound) {
    std::string text = "数据库 heron\n";
    for (int i = 0; i < 30'000; ++i) text += "界a";
    write_note("self", text);
    const auto ref = find("heron").at(0);
    const auto usual = recall(whose(), ref, domain::kMemoryCharsDefault).value();
    EXPECT_EQ(usual.content, base::first_chars(text, 12'000));
    EXPECT_TRUE(usual.truncated);
    const auto most = recall(whose(), ref, 1'000'000).value();
    EXPECT_EQ(base::char_count(most.content), 50'000U);
    EXPECT_TRUE(most.truncated);
    write_note("self", "short 数据库 heron\n");
    const auto whole = recall(whose(), ref, 12'000).value();
    EXPECT_EQ(whole.content, "short 数据库 heron\n");
    EXPECT_FALSE(whole.truncated);
    std::vector<std::string> names;
    for (const auto& member : base::to_json(whole).as_object()) names.emplace_back(member.key());
    EXPECT_THAT(names, ElementsAre("kind", "source_ref", "scope_kind", "workspace_id", "agent_id",
                                   "source_path", "title", "content", "truncated", "updated_at",
                                   "metadata"));
}

// contract: MEM-28
TEST_F(RecallTest, AHandleIsNoPathAndCannotBeInvented) {
    for (const char* ref : {"/etc/passwd", "memory/self.md", "https://example.com/x", "",
                            "brief:", "brief:../x", "skill:a", "brief:a b", "brief:a/b"})
        EXPECT_TRUE(ref_fault(ref)) << ref;
    EXPECT_TRUE(ref_fault("brief:" + std::string(1000, 'a')));
    for (const char* ref : {"brief:b1", "workspace_profile:agent_home:ada", "agent_memory:self"})
        EXPECT_FALSE(ref_fault(ref)) << ref;
    EXPECT_EQ(recall(whose(), "brief:invented", 100).error().code, base::ErrorCode::NotFound);
}

TEST_F(RecallTest, TheHandleOfAShortenedResultReadsItAsItWas) {
    const auto execution = [](const std::string& id, const std::string& agent,
                              domain::AuthorityClass authority) {
        return domain::ToolExecution{.call = {.call_id = {id},
                                              .run_id = {"run"},
                                              .agent_id = {agent},
                                              .tool = "ExecCommand",
                                              .args = json::object(),
                                              .created_at = kNow,
                                              .authority_class = authority},
                                     .receipt = "Process exited with code 0\n\nstdout:\nfalcon"};
    };
    commit([&](store::Tx& tx) -> base::Status {
        TRY(tx.put_tool_execution(
            execution("c1", "ada", domain::AuthorityClass::OperatorInstruction)));
        TRY(tx.put_tool_execution(
            execution("c2", "ada", domain::AuthorityClass::ExternalEvidence)));
        return tx.put_tool_execution(
            execution("c3", "bob", domain::AuthorityClass::OperatorInstruction));
    });
    const auto own = recall(whose(), "tool_result:c1", 12'000).value();
    EXPECT_EQ(own.content, "Process exited with code 0\n\nstdout:\nfalcon");
    EXPECT_EQ(own.kind, "tool_result");
    EXPECT_FALSE(own.metadata.contains("external"));
    EXPECT_TRUE(recall(whose(), "tool_result:c1", 7).value().truncated);
    EXPECT_TRUE(recall(whose(), "tool_result:c2", 100).value().metadata.contains("external"))
        << "untrusted input asked for the call";
    for (const char* ref : {"tool_result:c3", "tool_result:invented"})
        EXPECT_EQ(recall(whose(), ref, 100).error().code, base::ErrorCode::NotFound) << ref;
    EXPECT_THAT(find("falcon"), IsEmpty()) << "results are read by their handle alone";
}

// contract: MEM-38, MEM-39, MEM-40
TEST_F(RecallTest, SearchesTheActiveWorkspaceAndTheAgentsOwn) {
    write_note("self", "falcon of the agent");
    add_brief("a", "falcon in one", "A");
    add_brief("b", "falcon in two", "B");
    EXPECT_THAT(find("falcon", "A"), UnorderedElementsAre("agent_memory:self", "brief:a"));
    EXPECT_THAT(find("falcon", "B"), UnorderedElementsAre("agent_memory:self", "brief:b"));
    EXPECT_THAT(find("falcon", ""), ElementsAre("agent_memory:self"));
    EXPECT_THAT(find("falcon", "A", true),
                UnorderedElementsAre("agent_memory:self", "brief:a", "brief:b"));
    // What was found there can be read.
    EXPECT_EQ(recall(whose("A"), "brief:b", 100)->content, "falcon in two");
}

// contract: MEM-50
TEST_F(RecallTest, AttributesARecordToTheWorkspaceItWasWrittenIn) {
    add_brief("a", "falcon", "A");
    EXPECT_THAT(find("falcon", "A"), ElementsAre("brief:a"));
    fs::remove(home_ / kIndexFile);
    domain::Agent agent{.agent_id = {"ada"}, .attached_workspaces = {"A", "B"}};
    agent.active_workspace_entry = workspace("B");
    commit([&](store::Tx& tx) { return tx.put_agent(agent); });
    EXPECT_THAT(find("falcon", "B"), IsEmpty());
    EXPECT_EQ(hits("falcon", "A").at(0).workspace_id, "A");
}

// contract: MEM-31
TEST_F(RecallTest, TheIndexIsMadeAgainFromTheRecords) {
    write_note("self", "falcon of the agent");
    add_brief("a", "falcon in one");
    put_item("w", "train a falcon");
    add_episode("e", "falcon seen");
    const auto before = hits("falcon");
    EXPECT_EQ(before.size(), 4U);
    fs::remove_all(home_ / ".holon");
    EXPECT_EQ(hits("falcon"), before);
    std::ofstream(home_ / kIndexFile, std::ios::trunc) << std::string(20'000, 'x');
    fs::remove((home_ / kIndexFile).string() + "-wal");
    EXPECT_EQ(hits("falcon"), before);
    // Damage behind an intact header.
    {
        std::fstream file(home_ / kIndexFile, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(4096);
        file << std::string(40'000, 'x');
    }
    EXPECT_EQ(hits("falcon"), before);
}

TEST_F(RecallTest, AddsWhatIsNewAndReplacesWhatChanged) {
    for (int i = 0; i < 600; ++i) add_brief(fmt::format("b{}", i), fmt::format("falcon {}", i));
    EXPECT_EQ(find("falcon").size(), 50U);
    EXPECT_THAT(find("599"), ElementsAre("brief:b599"));
    add_brief("new", "osprey");
    EXPECT_THAT(find("osprey"), ElementsAre("brief:new"));
    put_item("w", "catch an eagle", 1);
    EXPECT_THAT(find("eagle"), ElementsAre("work_item:w"));
    put_item("w", "catch a hawk", 2);
    put_item("w2", "catch a kite", 2);
    EXPECT_THAT(find("eagle"), IsEmpty());
    EXPECT_THAT(find("hawk"), ElementsAre("work_item:w"));
    EXPECT_THAT(find("kite"), ElementsAre("work_item:w2"));
}

TEST_F(RecallTest, ForgetsWhatRetentionHasRemoved) {
    add_brief("b1", "falcon one");
    add_brief("b2", "falcon two");
    EXPECT_EQ(find("falcon").size(), 2U);
    commit([&](store::Tx& tx) -> base::Status {
        const auto first = TRY(tx.briefs({"ada"}, {.limit = 1})).at(0).seq;
        TRY(tx.erase_rows({"ada"}, store::Stream::Briefs, 0, first));
        return {};
    });
    EXPECT_THAT(find("falcon"), ElementsAre("brief:b2"));
    commit([&](store::Tx& tx) -> base::Status {
        TRY(tx.erase_rows({"ada"}, store::Stream::Briefs, 0, 1'000'000));
        return {};
    });
    EXPECT_THAT(find("falcon"), IsEmpty());
}

TEST_F(RecallTest, ADetachedWorkspaceIsForgotten) {
    EXPECT_THAT(find("repoB", "B"), ElementsAre("workspace_profile:B"));
    domain::Agent agent{.agent_id = {"ada"}, .attached_workspaces = {"A"}};
    commit([&](store::Tx& tx) { return tx.put_agent(agent); });
    EXPECT_THAT(find("repoB", "B"), IsEmpty());
}

// contract: MEM-30
TEST_F(RecallTest, TheMarkIsSmallAndUsedUpByTheNextSearch) {
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(mark_dirty(home_));
    EXPECT_EQ(fs::file_size(home_ / kDirtyFile), 5U);
    add_brief("b", "falcon");
    EXPECT_THAT(find("falcon"), ElementsAre("brief:b"));
    EXPECT_FALSE(is_dirty());
    // Without a folder there is nothing to mark.
    ASSERT_TRUE(mark_dirty(folder_.folder() / "nobody"));
    EXPECT_FALSE(fs::exists(folder_.folder() / "nobody"));
}

TEST_F(RecallTest, AMarkOutlivesASearchThatFailed) {
    ASSERT_TRUE(mark_dirty(home_));
    auto unknown = whose();
    unknown.agent = {"nobody"};
    EXPECT_EQ(search(unknown, {.query = "x"}).error().code, base::ErrorCode::NotFound);
    EXPECT_TRUE(is_dirty());
}

// contract: MEM-47
TEST_F(RecallTest, SeesWhatAnEditorDidToTheNotes) {
    write_note("operator", "prefers tabs");
    EXPECT_THAT(find("spaces"), IsEmpty());
    std::ofstream(home_ / "memory/operator.md", std::ios::app) << "\nno, spaces\n";
    EXPECT_THAT(find("spaces"), ElementsAre("agent_memory:operator"));
    fs::remove(home_ / "memory/operator.md");
    EXPECT_THAT(find("spaces"), IsEmpty());
}

TEST_F(RecallTest, AFileOfNotesThatCannotBeReadIsReportedAndLeftAlone) {
    const auto secret = folder_.folder() / "secret";
    std::ofstream(secret) << "falcon";
    fs::create_symlink(secret, home_ / "memory/self.md");
    std::ofstream(home_ / "memory/operator.md") << std::string(kNoteBytesMax + 1, 'x');
    const auto found = search(whose(), {.query = "falcon"}).value();
    EXPECT_THAT(found.results, IsEmpty());
    ASSERT_TRUE(found.warnings);
    EXPECT_THAT(*found.warnings, ElementsAre(HasSubstr("memory/self.md is not searched"),
                                             HasSubstr("memory/operator.md is not searched")));
    EXPECT_TRUE(fs::is_symlink(home_ / "memory/self.md"));
    EXPECT_EQ(fs::file_size(home_ / "memory/operator.md"), kNoteBytesMax + 1);
}

TEST_F(RecallTest, NotesThatAreAPipeOrAFolderDoNotHoldUpASearch) {
    ASSERT_EQ(::mkfifo((home_ / "memory/self.md").c_str(), 0600), 0);
    fs::create_directory(home_ / "memory/operator.md");
    add_brief("b", "falcon");
    const auto found = search(whose(), {.query = "falcon"}).value();
    EXPECT_EQ(found.results.size(), 1U);
    ASSERT_TRUE(found.warnings);
    EXPECT_THAT(*found.warnings, ElementsAre(HasSubstr("memory/self.md is not searched"),
                                             HasSubstr("memory/operator.md is not searched")));
    EXPECT_TRUE(fs::is_fifo(home_ / "memory/self.md"));
}

TEST_F(RecallTest, ALinkInPlaceOfTheFolderIsNotFollowed) {
    const auto elsewhere = folder_.folder() / "elsewhere";
    fs::create_directories(elsewhere);
    fs::remove_all(home_ / kIndexFolder);
    fs::create_directory_symlink(elsewhere, home_ / kIndexFolder);
    EXPECT_FALSE(search(whose(), {.query = "x"}));
    ASSERT_TRUE(mark_dirty(home_));
    EXPECT_TRUE(fs::is_empty(elsewhere));
}

TEST_F(RecallTest, WhatUntrustedInputCausedIsLabelled) {
    add_message("op", domain::AuthorityClass::OperatorInstruction);
    add_message("hook", domain::AuthorityClass::IntegrationSignal);
    add_brief("trusted", "falcon", "A", domain::MessageId{"op"});
    add_brief("external", "falcon", "A", domain::MessageId{"hook"});
    add_brief("unknown", "falcon", "A", domain::MessageId{"gone"});
    std::map<std::string, std::string> authority;
    for (const auto& hit : hits("falcon")) {
        EXPECT_EQ(hit.metadata.contains("external"), hit.source_ref != "brief:trusted");
        authority[hit.source_ref] = base::string_at(hit.metadata, "authority_class", "none");
    }
    EXPECT_THAT(authority, UnorderedElementsAre(std::pair("brief:trusted", "none"),
                                                std::pair("brief:external", "integration_signal"),
                                                std::pair("brief:unknown", "external_evidence")));
    EXPECT_EQ(find("falcon").front(), "brief:trusted");
}

TEST_F(RecallTest, ARestoredStoreIsNotHiddenByANewerIndex) {
    add_brief("b1", "falcon one");
    add_brief("b2", "falcon two");
    EXPECT_EQ(find("falcon").size(), 2U);
    store_ = sqlite::open_inline({.file = ":memory:"}).value();
    commit([&](store::Tx& tx) { return tx.put_agent({.agent_id = {"ada"}}); });
    add_brief("b9", "falcon nine");
    EXPECT_THAT(find("falcon"), ElementsAre("brief:b9"));
}

}  // namespace
}  // namespace memory
