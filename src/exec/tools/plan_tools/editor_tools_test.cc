#include "exec/tools/plan_tools/fixture_for_test.h"
#include "exec/tools/plan_tools/vault_tool.h"

namespace plan_tools {
namespace {

class EditorToolsTest : public PlanToolsTest {
protected:
    EditorToolsTest() {
        write("n.md", "äne two three\n");
        context_ = {.active_file = "n.md", .selection = Selection{4, 7, "two"}, .cursor = 4};
    }
    std::string note() { return all().at("n.md").substr(4); }
};

TEST_F(EditorToolsTest, ReadTheSelectionByCharacters) {
    EXPECT_EQ(*run("editor.getSelection", json::object{}).data,
              (json::value{{"path", "n.md"},
                           {"text", "two"},
                           {"start", 4},
                           {"end", 7},
                           {"etag", vault::etag("äne two three\n")}}));
    EXPECT_EQ(*run("editor.getActiveFilePath", json::object{}).data,
              (json::value{{"path", "n.md"}}));
    EXPECT_EQ(*run("workspace.getContext", json::object{}).data,
              (json::value{{"vaultName", "vault"},
                           {"activeFilePath", "n.md"},
                           {"selection", {{"start", 4}, {"end", 7}}},
                           {"cursor", 4}}));
    EXPECT_EQ(*run("workspace.openFile", {{"path", "n.md"}}).data,
              (json::value{
                  {"path", "n.md"}, {"etag", vault::etag("äne two three\n")}, {"opened", false}}));
}

TEST_F(EditorToolsTest, ReplaceTheSelectionAndSelectTheNewText) {
    const auto first = run("editor.replaceSelection", {{"text", "2"}});
    EXPECT_EQ(note(), "äne 2 three\n");
    EXPECT_EQ(base::int_at(*first.data, "end"), 5);
    EXPECT_EQ(undo_of(first).size(), 1u);
    run("editor.replaceSelection", {{"text", "zwei"}});
    EXPECT_EQ(note(), "äne zwei three\n") << "the new text is the selection now";
    run("editor.insertAtCursor", {{"text", "!"}});
    EXPECT_EQ(note(), "äne zwei! three\n") << "the cursor is behind it";
}

TEST_F(EditorToolsTest, InsertOneAfterTheOther) {
    run("editor.insertAtCursor", {{"text", "A"}});
    run("editor.insertAtCursor", {{"text", "B"}});
    EXPECT_EQ(note(), "äne ABtwo three\n");
    run("editor.replaceSelection", {{"text", "2"}});
    EXPECT_EQ(note(), "äne AB2 three\n") << "the selection has moved along";
}

TEST_F(EditorToolsTest, RefuseASelectionThatIsNoLongerThere) {
    write("n.md", "changed since\n");
    EXPECT_EQ(code("editor.replaceSelection", {{"text", "x"}}), "CONFLICT");
    EXPECT_EQ(code("editor.getSelection", json::object{}), "CONFLICT");
    write("n.md", "a\n");
    EXPECT_EQ(code("editor.replaceSelection", {{"text", "x"}}), "PRECONDITION_FAILED");
    EXPECT_EQ(code("editor.insertAtCursor", {{"text", "x"}}), "PRECONDITION_FAILED");
    EXPECT_EQ(note(), "a\n");
    context_.active_file = "../outside.md";
    EXPECT_EQ(code("editor.insertAtCursor", {{"text", "x"}}), "POLICY_DENIED");
    context_.active_file = "gone.md";
    EXPECT_EQ(code("editor.insertAtCursor", {{"text", "x"}}), "NOT_FOUND");
    context_ = {.active_file = "n.md"};
    EXPECT_EQ(code("editor.insertAtCursor", {{"text", "x"}}), "PRECONDITION_FAILED");
    EXPECT_EQ(code("editor.getSelection", json::object{}), "PRECONDITION_FAILED");
}

TEST_F(EditorToolsTest, PreviewTheEdit) {
    const auto shown = preview("editor.insertAtCursor", {{"text", "A"}}).value();
    EXPECT_EQ(shown.at("modifies").at(0).at("diff"),
              "--- a/n.md\n+++ b/n.md\n@@ -1,1 +1,1 @@\n-äne two three\n+äne Atwo three\n");
    EXPECT_EQ(note(), "äne two three\n");
}

TEST(ContextFrom, TakesWhatFits) {
    EXPECT_EQ(context_from({{"activeFilePath", "a.md"},
                            {"selection", {{"start", 1}, {"end", 2}, {"text", "x"}}},
                            {"cursor", 3}}),
              (RunContext{"a.md", Selection{1, 2, "x"}, 3}));
    EXPECT_EQ(
        context_from(
            {{"activeFilePath", 1}, {"selection", {{"start", -1}, {"end", 2}}}, {"cursor", "x"}}),
        RunContext{});
    EXPECT_EQ(context_from({}), RunContext{});
}

TEST(Contexts, ForgetTheOldestRun) {
    Contexts contexts(
        [](const domain::RunId&, const tools::ExecutionContext&) { return RunContext{}; });
    for (std::size_t i = 0; i <= Contexts::kRunsMax; ++i)
        contexts.moved({std::to_string(i)}, {.cursor = i});
    EXPECT_EQ(contexts.of({"0"}, {}).cursor, std::nullopt);
    EXPECT_EQ(contexts.of({"1"}, {}).cursor, 1u);
    EXPECT_EQ(contexts.of({std::to_string(Contexts::kRunsMax)}, {}).cursor, Contexts::kRunsMax);
}

class UtilToolsTest : public PlanToolsTest {};

TEST_F(UtilToolsTest, GiveBulletsThatAPlanCanLoopOver) {
    const auto result =
        run("util.parseMarkdownBullets", {{"markdown", "- a\n  1. b\n    - [x] c\n- d\n"}});
    EXPECT_EQ(
        *result.data,
        (json::value{{"items",
                      {{{"text", "a"}, {"level", 0}, {"line", 1}, {"ordered", false}},
                       {{"text", "b"}, {"level", 1}, {"line", 2}, {"ordered", true}, {"parent", 0}},
                       {{"text", "c"},
                        {"level", 2},
                        {"line", 3},
                        {"ordered", false},
                        {"checked", true},
                        {"parent", 1}},
                       {{"text", "d"}, {"level", 0}, {"line", 4}, {"ordered", false}}}},
                     {"truncated", false}}));
}

TEST_F(UtilToolsTest, GiveASlugAndAFileName) {
    EXPECT_EQ(*run("util.slugifyTitle", {{"title", "Was? Ärger: 1/2"}}).data,
              (json::value{{"slug", "was-arger-1-2"}, {"fileName", "Was- Ärger- 1-2"}}));
    EXPECT_EQ(*run("util.slugifyTitle", {{"title", "one two"}, {"maxLength", 3}}).data,
              (json::value{{"slug", "one"}, {"fileName", "one two"}}));
}

}  // namespace
}  // namespace plan_tools
