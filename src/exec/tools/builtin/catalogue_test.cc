#include <algorithm>
#include <functional>

#include "exec/tools/builtin/fixture_for_test.h"
#include "tests/support/catalogue.h"

namespace builtin {
namespace {

using CatalogueTest = BuiltinTest;

std::vector<std::string> keys(const json::object& object) {
    std::vector<std::string> names;
    for (const auto& member : object) names.emplace_back(std::string_view(member.key()));
    return names;
}

// Calls `visit` with every object schema in `schema`, itself included.
void each_object(const json::object& schema,
                 const std::function<void(const json::object&)>& visit) {
    if (base::string_at(schema, "type") == "object") visit(schema);
    if (const auto* properties = schema.if_contains("properties"))
        for (const auto& property : properties->as_object())
            each_object(property.value().as_object(), visit);
    if (const auto* items = schema.if_contains("items")) each_object(items->as_object(), visit);
}

template <class T>
concept HasReceipt = requires(T outcome) { outcome.receipt; };

TEST_F(CatalogueTest, HoldsWhatTheProgramOffersAndNothingElse) {
    std::vector<std::string> names;
    for (const auto* spec : registry_.all()) names.push_back(spec->name);
    // Not of this folder: exec/plan, and the folders of web, work and memory tools.
    names.insert(names.end(), {"RunPlan", "WebFetch", "WebSearch"});
    names.insert(names.end(), test_support::kWorkTools.begin(), test_support::kWorkTools.end());
    names.insert(names.end(), test_support::kMemoryTools.begin(), test_support::kMemoryTools.end());
    EXPECT_THAT(names, testing::UnorderedElementsAreArray(test_support::kOfferedTools));
}

// contract: SCHEMA-02, SCHEMA-14
TEST_F(CatalogueTest, DescribesEachParameterInItsTrueShape) {
    const std::string command =
        R"("cmd":{"type":"string","description":"The command line, run by a shell."},)"
        R"("workdir":{"type":"string","description":)"
        R"("Folder to run in, relative to cwd; must lie inside the execution root."},)"
        R"("shell":{"type":"string","description":)"
        R"("Shell program to use; omit for the default one."},)"
        R"("login":{"type":"boolean","description":"Run a login shell (default true)."},)"
        R"("tty":{"type":"boolean","description":"Run it in a terminal of its own (default )"
        R"(false); stdout and stderr are then one."},)"
        R"("duplicate_policy":{"type":"string","enum":["reuse_running","start_new"],)"
        R"("description":"When the same command already runs as a task: point to that task, or )"
        R"(start another.","default":"reuse_running"},)"
        R"("accepts_input":{"type":"boolean","description":)"
        R"("Keep its standard input open for TaskInput (default: the value of tty)."},)"
        R"("yield_time_ms":{"type":"integer","description":"Wait this long for its end )"
        R"((default 10000); then it continues as a task in the background, whose result comes )"
        R"(back by itself.","minimum":0,"maximum":3600000},)"
        R"("max_output_tokens":{"type":"integer","description":)"
        R"("How much of the output to show, in estimated tokens.","minimum":0})";
    EXPECT_EQ(base::json_text(registry_.find("ExecCommand")->spec().input_schema),
              R"({"type":"object","properties":{)" + command +
                  R"(},"required":["cmd"],"additionalProperties":false})");
    const std::map<std::string, std::vector<std::string>> required{
        {"Sleep", {}},
        {"AgentGet", {}},
        {"Enqueue", {"text"}},
        {"TaskList", {}},
        {"TaskStatus", {"task_id"}},
        {"TaskInput", {"task_id", "input"}},
        {"TaskOutput", {"task_id"}},
        {"TaskStop", {"task_id"}},
        {"ApplyPatch", {"patch"}},
        {"ExecCommand", {"cmd"}},
        {"ExecCommandBatch", {"items"}},
        {"SpawnAgent", {}},
        {"UseWorkspace", {}}};
    std::map<std::string, std::vector<std::string>> found;
    for (const auto* spec : registry_.all()) {
        auto& names = found[spec->name];
        const auto* list = spec->input_schema.if_contains("required");
        if (!list) continue;
        for (const auto& name : list->as_array())
            names.emplace_back(std::string_view(name.as_string()));
    }
    EXPECT_EQ(found, required);
}

// contract: SCHEMA-03, SCHEMA-14
TEST_F(CatalogueTest, KeepsSchemasFreeOfWhatOnlyOneProviderKnows) {
    for (const auto* spec : registry_.all()) {
        EXPECT_EQ(base::string_at(spec->input_schema, "type"), "object") << spec->name;
        EXPECT_FALSE(spec->description.empty()) << spec->name;
        EXPECT_NE(spec->render, nullptr) << spec->name;
        each_object(spec->input_schema, [&](const json::object& object) {
            EXPECT_EQ(object.at("additionalProperties"), json::value(false)) << spec->name;
            for (const auto& key : keys(object))
                EXPECT_THAT((std::vector<std::string>{"type", "properties", "required",
                                                      "additionalProperties", "description"}),
                            testing::Contains(key))
                    << spec->name;
        });
    }
}

TEST_F(CatalogueTest, OffersNoToolsForReadingFilesBesideTheShell) {
    std::vector<std::string> names;
    for (const auto* spec : registry_.exposed(domain::ProfilePreset::PublicNamed))
        names.push_back(spec->name);
    EXPECT_EQ(names, (std::vector<std::string>{"Sleep", "AgentGet", "Enqueue", "TaskList",
                                               "TaskStatus", "TaskInput", "TaskOutput", "TaskStop",
                                               "ApplyPatch", "ExecCommand", "ExecCommandBatch",
                                               "UseWorkspace", "SpawnAgent"}));
}

// contract: EXEC-11
TEST_F(CatalogueTest, ShowsNobodyWhoElseUsesAWorkspace) {
    for (const auto* spec : registry_.exposed(domain::ProfilePreset::PublicNamed)) {
        EXPECT_FALSE(base::json_text(spec->input_schema).contains("occup")) << spec->name;
        EXPECT_FALSE(base::json_text(spec->output_schema).contains("occup")) << spec->name;
    }
}

TEST_F(CatalogueTest, TakesAPatchAsOneString) {
    EXPECT_EQ(base::json_text(registry_.find("ApplyPatch")->spec().input_schema),
              R"({"type":"object","properties":{"patch":{"type":"string","description":)"
              R"("A unified diff: `--- a/path`, `+++ b/path` and `@@` hunks with a few lines of )"
              R"(context.","minLength":1}},"required":["patch"],"additionalProperties":false})");
}

// contract: ENV-01, ENV-02, ENV-03, ENV-09, TERR-01, CMD-01, IDENT-43
TEST_F(CatalogueTest, GivesEverySuccessAndFailureOfEveryToolTheSameFiveFields) {
    const std::string patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
    const std::string task = long_task();
    const std::map<std::string, std::pair<json::value, json::value>> calls{
        {"Sleep", {json::object{}, {{"duration_ms", -1}}}},
        {"AgentGet", {json::object{}, {{"agent", "x"}}}},
        {"Enqueue", {{{"text", "go on"}}, {{"text", "  "}}}},
        {"TaskList", {json::object{}, {{"x", 1}}}},
        {"TaskStatus", {{{"task_id", task}}, {{"task_id", "none"}}}},
        {"TaskInput", {{{"task_id", task}, {"input", "x"}}, {{"task_id", "none"}, {"input", ""}}}},
        {"TaskOutput", {{{"task_id", task}, {"block", false}}, {{"task_id", "none"}}}},
        {"TaskStop", {{{"task_id", task}}, {{"task_id", "none"}}}},
        {"ApplyPatch", {{{"patch", patch}}, {{"patch", "nonsense"}}}},
        {"ExecCommand", {{{"cmd", "true"}}, {{"cmd", "true"}, {"workdir", "/"}}}},
        {"ExecCommandBatch", {{{"items", {{{"cmd", "true"}}}}}, {{"items", json::array{}}}}},
        {"SpawnAgent", {{{"initial_message", "go"}}, json::object{}}},
        {"UseWorkspace", {{{"path", "."}}, {{"path", "none"}}}}};
    save({.agent_id = {"default"}});
    ASSERT_EQ(calls.size(), registry_.all().size());
    for (const auto& [tool, args] : calls)
        for (const bool good : {true, false}) {
            const auto end = run(tool, good ? args.first : args.second);
            const json::object envelope = end.envelope.to_json();
            EXPECT_EQ(keys(envelope), (std::vector<std::string>{"tool_name", "status",
                                                                "summary_text", "result", "error"}))
                << tool;
            EXPECT_EQ(base::string_at(envelope, "tool_name"), tool);
            EXPECT_EQ(base::string_at(envelope, "status"), good ? "success" : "error") << tool;
            EXPECT_NE(base::string_at(envelope, "summary_text"), "") << tool;
            EXPECT_EQ(envelope.at("result").is_null(), !good) << tool;
            EXPECT_EQ(envelope.at("result").is_object(), good) << tool;
            EXPECT_EQ(envelope.at("error").is_null(), good) << tool;
            if (good) continue;
            EXPECT_EQ(base::parse_json(end.receipt).value().at("tool_name"), json::value(tool));
        }
    ASSERT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
        const auto made = TRY(tx.tasks({"default"}, 100));
        EXPECT_EQ(made.size(), 1U) << "only ExecCommand makes a command task";
        return {};
    }));
}

// contract: PROJ-09
TEST_F(CatalogueTest, ToolsWithLittleToShowCarryNoFieldsForWhatWasCut) {
    constexpr std::string_view kPatch =
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
    for (const auto& [tool, args] :
         std::map<std::string, json::value>{{"Sleep", json::object{}},
                                            {"Enqueue", {{"text", "go on"}}},
                                            {"AgentGet", json::object{}},
                                            {"UseWorkspace", {{"path", "."}}},
                                            {"ApplyPatch", {{"patch", kPatch}}}}) {
        const auto end = run(tool, args);
        ASSERT_TRUE(end.envelope.ok()) << tool << ": " << end.receipt;
        // What an undo needs is no payload that was cut.
        auto result = end.envelope.result();
        result.erase("undo");
        // At any depth of the result, and in what the model reads.
        for (const std::string& text : {base::json_text(result), end.receipt})
            EXPECT_FALSE(text.contains("artifact") || text.contains("truncat"))
                << tool << ": " << text;
    }
}

// contract: PROJ-01
TEST_F(CatalogueTest, AReceiptFollowsFromTheEnvelopeAloneAndNoToolMakesIt) {
    static_assert(!HasReceipt<tools::Outcome>);
    for (const auto& [tool, args] :
         std::map<std::string, json::value>{{"Sleep", json::object{}},
                                            {"Enqueue", {{"text", "go on"}}},
                                            {"AgentGet", json::object{}},
                                            {"ExecCommand", {{"cmd", "echo one; echo two >&2"}}},
                                            {"TaskList", json::object{}},
                                            {"UseWorkspace", {{"path", "."}}},
                                            {"ApplyPatch", {{"patch", "no patch"}}}}) {
        const auto end = run(tool, args);
        EXPECT_EQ(end.receipt, results::render(end.envelope, registry_.find(tool)->spec().render))
            << tool;
    }
}

// contract: TERR-04, TERR-05
TEST_F(CatalogueTest, ErrorsAreOneSentenceAndHoldNothingOfTheEnvironment) {
    for (const auto& [tool, args] : std::map<std::string, json::value>{
             {"ExecCommand", {{"cmd", "true"}, {"shell", "/no/such/shell"}}},
             {"ApplyPatch", {{"patch", "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n"}}},
             {"Enqueue", {{"text", " "}}}}) {
        const auto end = run(tool, args);
        ASSERT_FALSE(end.envelope.ok()) << tool;
        const auto& error = end.envelope.error();
        EXPECT_FALSE(error.message.contains('\n')) << error.message;
        EXPECT_LE(error.message.size(), 300U) << error.message;
        EXPECT_FALSE(end.receipt.contains("hello"))
            << end.receipt;  // GREETING, in the environment.
    }
}

// Numbers no parameter can hold must be refused by the schema: tools decode without a second look.
TEST_F(CatalogueTest, RefusesNumbersThatNoParameterCanHold) {
    const std::uint64_t large = 18'446'744'073'709'551'615U;
    EXPECT_EQ(run("Sleep", {{"duration_ms", large}}).envelope.error().kind, "invalid_tool_input");
    EXPECT_EQ(
        run("ExecCommand", {{"cmd", "true"}, {"max_output_tokens", large}}).envelope.error().kind,
        "invalid_tool_input");
}

}  // namespace
}  // namespace builtin
