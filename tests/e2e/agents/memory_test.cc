// What an agent remembers, by its tools and for its operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/daemon/daemon_world.h"
#include "tests/e2e/program.h"

namespace e2e {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int kWaiting = 5;  // The exit code of a run that ends with a question to the operator.
constexpr const char* kIndex = ".holon/indexes/memory.sqlite3";
constexpr const char* kMark = ".holon/indexes/memory.dirty";

std::vector<std::string> refs_in(const json::value& answer) {
    std::vector<std::string> refs;
    for (const auto& hit : answer.at("results").as_array())
        refs.push_back(base::string_at(hit, "source_ref"));
    return refs;
}

class MemoryE2e : public testing::Test {
protected:
    json::value run(json::array rounds, int exit_code = 0) {
        program.script(std::move(rounds));
        return program.json_of({"run", "--json", "--agent", "k", "--create-agent", "go"},
                               exit_code);
    }
    // What the model read as the results of the calls of the newest turn.
    std::string receipts() {
        std::string all;
        for (const auto& entry :
             of_kind(program.json_of({"transcript", "--agent", "k"}), "tool_results"))
            for (const auto& result : entry.at("data").at("results").as_array())
                all += base::string_at(result, "content") + "\n";
        return all;
    }
    std::vector<std::string> remembered(const std::string& text) {
        return refs_in(program.json_of({"memory", "search", text, "--agent", "k", "--json"}));
    }

    Program program;
};

// contract: MEM-24, MEM-25, MEM-48
TEST_F(MemoryE2e, AnAgentFindsItsNotesAndNoProjectFiles) {
    run({says("Hello.")});
    program.write(program.agent_home("k") / "memory/self.md", "# Self\nI keep herons.\n");
    program.write(program.repo() / "README.md", "osprey in ordinary Markdown");
    fs::create_directories(program.repo() / "docs/research");
    program.write(program.repo() / "docs/guide.md", "osprey in project docs");
    program.write(program.repo() / "docs/research/notes.md", "osprey in research notes");
    program.write(program.agent_home("k") / "notes/draft.md", "osprey in a draft");
    run({calls("MemorySearch", {{"query", "herons"}}),
         calls("MemorySearch", {{"query", "osprey"}, {"include_all_workspaces", true}}),
         calls("MemoryGet", {{"source_ref", "agent_memory:self"}}), says("Done.")});
    EXPECT_THAT(receipts(), AllOf(HasSubstr("1 result"), HasSubstr("0 results"),
                                  HasSubstr("# Self\\nI keep herons.")));
    EXPECT_TRUE(fs::is_regular_file(program.agent_home("k") / kIndex));
}

// contract: MEM-46
TEST_F(MemoryE2e, APatchOfTheNotesIsFoundByTheNextCall) {
    program.json_of({"agent", "create", "k"});
    program.script({calls("ApplyPatch", {{"patch",
                                          "--- a/memory/self.md\n+++ b/memory/self.md\n"
                                          "@@ -1 +1,2 @@\n # Self\n+kestrel\n"}}),
                    calls("MemorySearch", {{"query", "kestrel"}}), says("Done.")});
    program.json_of({"run", "--json", "--agent", "k", "go"});
    EXPECT_THAT(receipts(), AllOf(HasSubstr("agent_memory:self"), HasSubstr("kestrel")));
}

// contract: MEM-45, MEM-49
TEST_F(MemoryE2e, BriefsEpisodesAndWorkItemsMarkTheIndexAndAreFound) {
    run({calls("CreateWorkItem", {{"objective", "tame a goshawk"}, {"plan_status", "needs_input"}}),
         says("A merlin was seen.")},
        kWaiting);
    EXPECT_EQ(program.read(program.agent_home("k") / kMark), "dirty");
    const auto hits = program.json_of({"memory", "search", "goshawk", "--agent", "k", "--json"});
    EXPECT_THAT(refs_in(hits), testing::Contains(HasSubstr("work_item:")));
    EXPECT_FALSE(fs::exists(program.agent_home("k") / kMark));
    EXPECT_THAT(remembered("merlin"), testing::Contains(HasSubstr("brief:")));
    // An episode ends where the agent completes its work item.
    const auto item = base::string_at(
        program.json_of({"work", "list", "--agent", "k", "--json"}).at("work_items").at(0), "id");
    run({calls("PickWorkItem", {{"work_item_id", item}}), runs("echo bittern"),
         calls("CompleteWorkItem", {{"work_item_id", item}}), says("Done.")});
    EXPECT_EQ(program.read(program.agent_home("k") / kMark), "dirty");
    EXPECT_THAT(remembered("bittern"), testing::Contains(HasSubstr("episode:")));
    // Each kept where it was written.
    const auto state = program.json_of({"status", "--agent", "k", "--json"});
    const auto workspace = base::string_at(state.at("execution"), "workspace_id");
    ASSERT_NE(workspace, "");
    for (const char* word : {"merlin", "goshawk"})
        for (const auto& hit :
             program
                 .json_of({"memory", "search", word, "--agent", "k", "--all-workspaces", "--json"})
                 .at("results")
                 .as_array())
            EXPECT_EQ(base::string_at(hit, "workspace_id"), workspace) << word;
}

TEST_F(MemoryE2e, TheOperatorSearchesAllRecordsAndForgetsDeletedAgents) {
    run({runs("echo the kingfisher dives"), says("Seen.")});
    const auto found = program.json_of({"search", "kingfisher dives", "--json"});
    ASSERT_FALSE(found.at("results").as_array().empty());
    const auto& first = found.at("results").as_array().at(0);
    EXPECT_EQ(base::string_at(first, "agent_id"), "k");
    EXPECT_EQ(base::string_at(first, "kind"), "transcript");
    const auto shown = program.run({"search", "kingfisher", "--plain", "--limit", "1"});
    EXPECT_THAT(shown.out, AllOf(HasSubstr("k  20"), HasSubstr("kingfisher")));
    EXPECT_THAT(program.json_of({"search", "kingfisher", "--agent", "k", "--since", "1h", "--json"})
                    .at("results")
                    .as_array(),
                Not(IsEmpty()));
    EXPECT_EQ(program.run({"search", "x", "--since", "soon"}).exit_code, 1);
    EXPECT_EQ(program.run({"search", "x", "--agent", "nobody"}).exit_code, 1);
    EXPECT_EQ(program.run({"search", " "}).exit_code, 1);
    EXPECT_EQ(program.run({"memory", "show", "/etc/passwd", "--agent", "k"}).exit_code, 1);
    EXPECT_EQ(program.run({"agent", "delete", "k", "--yes"}).exit_code, 0);
    EXPECT_FALSE(fs::exists(program.agent_home("k")));
    // Gone from the file itself, before any other search.
    EXPECT_THAT(program.read(program.home() / "indexes/search.sqlite3"),
                Not(HasSubstr("kingfisher")));
    EXPECT_THAT(program.json_of({"search", "kingfisher", "--json"}).at("results").as_array(),
                IsEmpty());
}

TEST_F(MemoryE2e, TheDaemonAnswersTheSameSearches) {
    DaemonWorld world;
    world.script({says("A plover calls.")});
    world.daemon({"start"});
    world.json_of({"run", "--json", "--agent", "k", "--create-agent", "go"});
    EXPECT_THAT(refs_in(world.json_of({"memory", "search", "plover", "--agent", "k", "--json"})),
                ElementsAre(HasSubstr("brief:")));
    const auto hit = world.json_of({"search", "plover", "--json"}).at("results").as_array().at(0);
    EXPECT_EQ(base::string_at(hit, "agent_id"), "k");
    const auto ref =
        refs_in(world.json_of({"memory", "search", "plover", "--agent", "k", "--json"})).at(0);
    EXPECT_EQ(base::string_at(world.json_of({"memory", "show", ref, "--agent", "k", "--json"}),
                              "content"),
              "A plover calls.");
    world.daemon({"stop"});
    EXPECT_EQ(base::string_at(world.json_of({"memory", "show", ref, "--agent", "k", "--json"}),
                              "content"),
              "A plover calls.");
}

}  // namespace
}  // namespace e2e
