#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <ranges>
#include <thread>

#include "exec/tools/plan_tools/fixture_for_test.h"
#include "exec/tools/vault/changes/intents.h"

namespace plan_tools {
namespace {

using Files = std::map<std::string, std::string>;

// The times of files are theirs: present and recent, and left out where whole values are compared.
json::value without_times(json::value value) {
    if (auto* list = value.if_array())
        for (auto& item : *list) item = without_times(item);
    auto* object = value.if_object();
    if (!object) return value;
    if (const auto* time = object->if_contains("mtime")) {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now).count() -
                         time->to_number<std::int64_t>();
        EXPECT_LT(std::abs(age), 600'000);
        object->erase("mtime");
    }
    for (auto& member : *object) member.value() = without_times(member.value());
    return value;
}

class VaultToolsTest : public PlanToolsTest {};
class NoDeleteTest : public PlanToolsTest {
protected:
    NoDeleteTest() : PlanToolsTest(false) {}
};

// contract: CALL-08
TEST_F(VaultToolsTest, AreNotReachedByArgsThatDoNotFit) {
    const std::pair<const char*, json::value> cases[] = {
        {"vault.createFile", {{"content", "no path"}}},
        {"vault.createFile", {{"path", 7}}},
        {"vault.createFile", {{"path", "a"}, {"onCollision", "overwrite"}}},
        {"vault.createFile", {{"path", "a"}, {"unknown", true}}},
        {"vault.readFile", {{"path", ""}}},
        {"vault.readFile", {{"path", "a"}, {"maxBytes", -1}}},
        {"vault.writeFile", {{"path", "a"}}},
        {"vault.searchText", {{"query", ""}}},
        {"vault.searchText", {{"query", "x"}, {"maxResults", 100'000}}},
        {"vault.listFiles", {{"limit", 0}}},
        {"vault.rename", {{"from", "a"}}},
        {"util.slugifyTitle", json::object{}},
        {"editor.insertAtCursor", {{"text", nullptr}}},
        {"commands.run", json::object{}},
    };
    for (const auto& [tool, args] : cases)
        EXPECT_EQ(code(tool, args), "VALIDATION_ERROR") << tool << base::json_text(args);
    EXPECT_TRUE(all().empty());
}

// contract: RUN-03
TEST_F(VaultToolsTest, ReportEachFailureByItsCode) {
    write("a.md", "a");
    const auto before = all();
    struct Case {
        const char* tool;
        json::value args;
        const char* code;
    };
    const Case cases[] = {
        {"vault.createFile", {{"path", "../x"}}, "POLICY_DENIED"},
        {"vault.createFile", {{"path", "/x"}}, "POLICY_DENIED"},
        {"vault.createFile", {{"path", "https://e.com/x"}}, "POLICY_DENIED"},
        {"vault.createFile", {{"path", ".git/hooks/x"}}, "POLICY_DENIED"},
        {"vault.createFile", {{"path", "a.md"}, {"onCollision", "error"}}, "CONFLICT"},
        {"vault.createFile", {{"path", "a.md/x"}}, "PRECONDITION_FAILED"},
        {"vault.readFile", {{"path", "gone.md"}}, "NOT_FOUND"},
        {"vault.readFile", {{"path", "."}}, "PRECONDITION_FAILED"},
        {"vault.writeFile", {{"path", "gone.md"}, {"content", "x"}}, "NOT_FOUND"},
        {"vault.writeFile",
         {{"path", "a.md"}, {"content", "x"}, {"expectedEtag", "sha256:0"}},
         "CONFLICT"},
        {"vault.rename", {{"from", "gone.md"}, {"to", "b.md"}}, "NOT_FOUND"},
        {"vault.delete", {{"path", "gone.md"}}, "NOT_FOUND"},
        {"vault.searchText", {{"query", "("}, {"regex", true}}, "VALIDATION_ERROR"},
        {"vault.listFiles", {{"folder", "gone"}}, "NOT_FOUND"},
        {"editor.getSelection", json::object{}, "PRECONDITION_FAILED"},
        {"editor.insertAtCursor", {{"text", "x"}}, "PRECONDITION_FAILED"},
        {"editor.getActiveFilePath", json::object{}, "PRECONDITION_FAILED"},
        {"workspace.openFile", {{"path", "gone.md"}}, "NOT_FOUND"},
        {"commands.run", {{"name", "gone"}}, "NOT_FOUND"},
        {"commands.run", {{"name", "say"}, {"args", {{"text", "x"}}}}, "VALIDATION_ERROR"},
        {"commands.run", {{"name", "fail"}, {"args", {{"x", "y"}}}}, "VALIDATION_ERROR"},
        {"commands.run", {{"name", "fail"}}, "INTERNAL_ERROR"},
        {"commands.run", {{"name", "wait"}}, "TIMEOUT"},
    };
    for (const auto& [tool, args, expected] : cases)
        EXPECT_EQ(code(tool, args), expected) << tool << base::json_text(args);
    EXPECT_EQ(all(), before);
}

// What the policy denies is neither read nor named nor changed, whatever the call names.
// contract: CALL-10
TEST_F(VaultToolsTest, TouchOnlyWhatThePolicyAllows) {
    write("In/a.md", "needle [[l]]");
    write("In/Old.md", "x");
    write("Private/l.md", "needle [[Old]]");
    std::filesystem::create_directory_symlink("../Private", folder_.at("vault/In/way"));
    const auto before = all();
    const std::string patch = "--- /dev/null\n+++ b/Private/new.md\n@@ -0,0 +1 @@\n+x\n";
    for (const bool by_pattern : {false, true}) {
        SCOPED_TRACE(by_pattern);
        const auto limited = [&](std::string tool, json::value args) {
            auto made = call(std::move(tool), std::move(args));
            made.policy.sandbox = {.enabled = true, .allowed_roots = {folder_.at("vault")}};
            if (by_pattern)
                made.policy.sandbox.deny_patterns = {"Private"};
            else
                made.policy.sandbox.allowed_roots = {folder_.at("vault/In")};
            start(made);
            return end();
        };
        const auto code = [&](std::string tool, json::value args) {
            const auto result = limited(std::move(tool), std::move(args));
            return result.error ? result.error->code : "ok";
        };
        for (const char* path : {"Private/l.md", "In/way/l.md"}) {
            EXPECT_EQ(code("vault.readFile", {{"path", path}}), "POLICY_DENIED") << path;
            EXPECT_EQ(code("vault.writeFile", {{"path", path}, {"content", "y"}}), "POLICY_DENIED");
        }
        EXPECT_EQ(code("vault.createFile", {{"path", "In/way/n.md"}}), "POLICY_DENIED");
        EXPECT_EQ(code("shell.applyPatch", {{"patch", patch}}), "POLICY_DENIED");
        const auto found = limited("vault.searchText", {{"query", "needle"}});
        EXPECT_EQ(found.data->at("matches").get_array().size(), 1u);
        EXPECT_EQ(base::json_text(*found.data).find("Private"), std::string::npos);
        const auto listed = limited("vault.listFiles", {{"includeFolders", true}});
        EXPECT_EQ(base::json_text(*listed.data).find("Private"), std::string::npos);
        const auto renamed = limited("vault.rename", {{"from", "In/Old.md"}, {"to", "In/New.md"}});
        EXPECT_TRUE(renamed.ok) << renamed.user_message;
        EXPECT_EQ(all().at("Private/l.md"), before.at("Private/l.md"));
        EXPECT_TRUE(limited("vault.rename", {{"from", "In/New.md"}, {"to", "In/Old.md"}}).ok);
        EXPECT_EQ(all(), before);
    }
    write("In/sub/id.key", "k");
    auto moving = call("vault.rename", {{"from", "In/sub"}, {"to", "In/other"}});
    moving.policy.sandbox = {
        .enabled = true, .allowed_roots = {folder_.at("vault")}, .deny_patterns = {"*.key"}};
    start(moving);
    EXPECT_EQ(end().error->code, "POLICY_DENIED") << "a folder moves with all that is in it";
    auto command = call("shell.exec", {{"cmd", "true"}});
    command.policy.sandbox = {.enabled = true, .allowed_roots = {folder_.at("vault/In")}};
    start(command);
    EXPECT_EQ(end().error->code, "POLICY_DENIED") << "its default folder is the vault";
}

TEST_F(NoDeleteTest, DeletesNothingUnlessThatIsAllowed) {
    write("a.md", "a");
    EXPECT_EQ(code("vault.delete", {{"path", "a.md"}}), "POLICY_DENIED");
    EXPECT_EQ(all(), (Files{{"a.md", "644 a"}}));
}

TEST_F(VaultToolsTest, ReturnWhatLaterStepsNeed) {
    const auto folder = run("vault.ensureFolder", {{"path", "Inbox"}});
    EXPECT_EQ(*folder.data, (json::value{{"path", "Inbox"},
                                         {"created", true},
                                         {"undo", {{{"action", "mkdir"}, {"path", "Inbox"}}}}}));
    const auto created = run("vault.createFile", {{"path", "Inbox/A?.md"}, {"content", "hi"}});
    const std::string etag = vault::etag("hi");
    EXPECT_EQ(
        without_times(*created.data),
        (json::value{
            {"path", "Inbox/A-.md"},
            {"etag", etag},
            {"undo", {{{"action", "create"}, {"path", "Inbox/A-.md"}, {"afterEtag", etag}}}}}));
    const auto read = run("vault.readFile", {{"path", "Inbox/A-.md"}});
    EXPECT_TRUE(read.data->get_object().contains("mtime"));
    EXPECT_EQ(without_times(*read.data), (json::value{{"path", "Inbox/A-.md"},
                                                      {"content", "hi"},
                                                      {"etag", etag},
                                                      {"bytes", 2},
                                                      {"truncated", false}}));
    const auto written = run(
        "vault.writeFile",
        {{"path", "Inbox/A-.md"}, {"content", "!"}, {"mode", "append"}, {"expectedEtag", etag}});
    EXPECT_EQ(base::string_at(*written.data, "etag"), vault::etag("hi!"));
    EXPECT_TRUE(base::bool_at(*written.data, "changed"));
    const auto entry = undo_of(written).at(0);
    EXPECT_EQ(base::read_file(entry.beforeArtifact.value(), 10).value(), "hi");
    EXPECT_TRUE(entry.beforeArtifact->starts_with(folder_.at("home")));
    const auto listed = run("vault.listFiles", {{"includeFolders", true}});
    EXPECT_EQ(without_times(*listed.data),
              (json::value{
                  {"files",
                   {{{"path", "Inbox"}, {"name", "Inbox"}, {"kind", "folder"}, {"bytes", 0}},
                    {{"path", "Inbox/A-.md"}, {"name", "A-.md"}, {"kind", "file"}, {"bytes", 3}}}},
                  {"truncated", false},
                  {"unnamed", 0}}));
    const auto found = run("vault.searchText", {{"query", "HI"}});
    EXPECT_EQ(
        found.data->at("matches"),
        (json::value{{{"path", "Inbox/A-.md"}, {"line", 1}, {"column", 1}, {"text", "hi!"}}}));
    const auto deleted = run("vault.delete", {{"path", "Inbox/A-.md"}});
    EXPECT_EQ(base::string_at(*deleted.data, "trashPath"), ".trash/A-.md");
    EXPECT_TRUE(deleted.effects.deleted.at(0).trashed);
}

// contract: RES-06
TEST_F(VaultToolsTest, ReportTheEffectsThatWereSeen) {
    write("a.md", "same");
    const auto same = run("vault.writeFile", {{"path", "a.md"}, {"content", "same"}});
    EXPECT_EQ(same.effects, domain::Effects{});
    EXPECT_FALSE(base::bool_at(*same.data, "changed"));
    write("n.md", "[[a]]");
    const auto renamed = run("vault.rename", {{"from", "a.md"}, {"to", "d/b.md"}});
    EXPECT_EQ(renamed.effects,
              (domain::Effects{.side_effects_observed = true,
                               .created = {{"d", domain::PathKind::Folder}},
                               .modified = {{"n.md", domain::PathKind::File, vault::etag("[[a]]"),
                                             vault::etag("[[b]]")}},
                               .renamed = {{"a.md", "d/b.md"}}}));
    EXPECT_EQ(renamed.data->at("modifiedFiles"), json::value(json::array{"n.md"}));
    const auto wrote =
        run("commands.run", {{"name", "say"}, {"args", {{"text", "{x} $y"}, {"file", "c.md"}}}});
    EXPECT_EQ(wrote.effects.created,
              (std::vector<domain::CreatedPath>{{"c.md", domain::PathKind::File}}));
    EXPECT_EQ(all().at("c.md"), "644 {x} $y") << "a value is never read again";
}

TEST_F(VaultToolsTest, PreviewExactlyWhatTheyThenDo) {
    write("a.md", "one\n");
    write("n.md", "[[a]]\n");
    const std::pair<const char*, json::value> calls[] = {
        {"vault.ensureFolder", {{"path", "x/y"}}},
        {"vault.createFile", {{"path", "z/a.md"}, {"content", "text"}}},
        {"vault.createFile", {{"path", "a.md"}}},
        {"vault.writeFile", {{"path", "a.md"}, {"content", "two\n"}}},
        {"vault.writeFile", {{"path", "a.md"}, {"content", "two\n"}}},
        {"vault.rename", {{"from", "a.md"}, {"to", "q/b.md"}}},
        {"vault.delete", {{"path", "x"}}},
    };
    for (const auto& [tool, args] : calls) {
        const auto before = folder_.all();
        const auto shown = preview(tool, args).value();
        ASSERT_EQ(folder_.all(), before) << tool << " touched something in its preview";
        const auto result = run(tool, args);
        const auto list = [&](const char* name) {
            std::vector<std::string> out;
            if (const auto* found = base::find(shown, name))
                for (const auto& entry : found->as_array())
                    out.emplace_back(entry.is_string() ? entry.as_string().c_str()
                                     : entry.as_object().contains("path")
                                         ? base::string_at(entry, "path")
                                         : base::string_at(entry, "from") + ">" +
                                               base::string_at(entry, "to"));
            return out;
        };
        std::vector<std::string> created, modified, renamed, deleted;
        for (const auto& path : result.effects.created) created.push_back(path.path);
        for (const auto& path : result.effects.modified) modified.push_back(path.path);
        for (const auto& path : result.effects.renamed)
            renamed.push_back(path.from + ">" + path.to);
        for (const auto& path : result.effects.deleted) deleted.push_back(path.path);
        EXPECT_EQ(list("creates"), created) << tool;
        EXPECT_EQ(list("modifies"), modified) << tool;
        EXPECT_EQ(list("renames"), renamed) << tool;
        EXPECT_EQ(list("deletes"), deleted) << tool;
        json::object reported = result.data->as_object();
        reported["undo"] = json::array{};
        EXPECT_EQ(without_times(shown.at("data")), without_times(reported)) << tool;
    }
    EXPECT_FALSE(preview("vault.createFile", {{"path", "../x"}}));
    EXPECT_FALSE(preview("vault.createFile", {{"path", {"a", "list"}}})) << "must not throw";
    EXPECT_EQ(preview("commands.run", {{"name", "say"}, {"args", {{"text", "a b"}, {"file", "f"}}}})
                  .value(),
              (json::object{{"commands", {"sh -c 'printf '%s' \"$1\" > \"$2\"' sh 'a b' f"}}}));
    EXPECT_EQ(preview("shell.exec", {{"cmd", "ls -l"}}).value(),
              (json::object{{"commands", {"ls -l"}}}));
}

TEST_F(VaultToolsTest, ReadWithinBounds) {
    write("big.md", std::string(2 * 1024 * 1024, 'x'));
    write("bin", std::string("a\0b", 3));
    write("u.md", "äöü");
    EXPECT_EQ(code("vault.readFile", {{"path", "big.md"}}), "PRECONDITION_FAILED");
    EXPECT_EQ(code("vault.readFile", {{"path", "bin"}}), "PRECONDITION_FAILED");
    const auto cut = run("vault.readFile", {{"path", "u.md"}, {"maxBytes", 3}});
    EXPECT_EQ(base::string_at(*cut.data, "content"), "ä");
    EXPECT_TRUE(base::bool_at(*cut.data, "truncated"));
    EXPECT_EQ(base::string_at(*cut.data, "etag"), vault::etag("äöü")) << "of the whole file";
}

TEST_F(VaultToolsTest, AreCalledOffBeforeTheyBegin) {
    const auto running = start(call("vault.createFile", {{"path", "a.md"}}));
    running->cancel();
    const auto result = end();
    // The work may have begun on its own thread already; then it is done whole.
    if (result.status == domain::ResultStatus::Cancelled) {
        EXPECT_EQ(result.error->code, "CANCELLED");
        EXPECT_TRUE(all().empty());
    } else {
        EXPECT_EQ(all().size(), 1u);
    }
}

TEST_F(VaultToolsTest, AreForPlansAndNotOfferedToModels) {
    for (const auto* spec : registry_.all()) {
        EXPECT_TRUE(spec->plans_only) << spec->name;
        EXPECT_EQ(spec->repeatable, spec->risk == domain::RiskLevel::ReadOnly) << spec->name;
        EXPECT_FALSE(spec->category.empty()) << spec->name;
        EXPECT_TRUE(spec->input_schema.contains("properties")) << spec->name;
        EXPECT_TRUE(spec->output_schema.contains("properties")) << spec->name;
    }
    EXPECT_EQ(registry_.all().size(), 21u);
    EXPECT_TRUE(registry_.exposed(domain::ProfilePreset::PublicNamed).empty());
    start(call("vault.listFiles", json::object{}, domain::CallSource::Turn));
    EXPECT_EQ(end().error->code, "POLICY_DENIED");
}

TEST_F(VaultToolsTest, UndoAPatchAsWellAsAWrite) {
    write("a.md", "one\ntwo\n");
    write("old.md", "x\n");
    write("from.md", "y\n");
    const auto before = all();
    const json::value args{{"patch",
                            "--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"
                            "--- /dev/null\n+++ b/d/new.md\n@@ -0,0 +1 @@\n+n\n"
                            "--- a/old.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
                            "diff --git a/from.md b/to.md\nrename from from.md\nrename to to.md\n"
                            "--- a/from.md\n+++ b/to.md\n@@ -1 +1 @@\n-y\n+z\n"}};
    const auto shown = preview("shell.applyPatch", args).value();
    EXPECT_EQ(shown.at("creates"), json::value(json::array{"d/new.md"}));
    EXPECT_EQ(shown.at("deletes"), json::value(json::array{"old.md"}));
    EXPECT_EQ(shown.at("renames"), (json::value{{{"from", "from.md"}, {"to", "to.md"}}}));
    EXPECT_EQ(all(), before);
    const auto result = run("shell.applyPatch", args);
    ASSERT_TRUE(result.ok) << result.error->message;
    EXPECT_EQ(all(), (Files{{"a.md", "644 1\ntwo\n"},
                            {"d", "folder"},
                            {"d/new.md", "644 n\n"},
                            {"to.md", "644 z\n"}}));
    EXPECT_EQ(result.effects.deleted.at(0).path, "old.md");
    const auto root = vault::Root::open(folder_.at("vault")).value();
    const auto undo = undo_of(result);
    for (const auto& entry : undo | std::views::reverse)
        EXPECT_TRUE(vault::take_back(root, entry)) << entry.path;
    EXPECT_EQ(all(), before);
    EXPECT_EQ(code("shell.applyPatch", {{"patch", "nonsense"}}), "VALIDATION_ERROR");
}

// The process that had started it died.
TEST_F(VaultToolsTest, ACommandThatWentOnIsEndedBeforeItsOutcomeIsCalledUnknown) {
    const auto cut_off = call("shell.exec", {{"cmd", "sleep 1000"}});
    const auto mark = place_.agent_home.filename().string() + "/" + cut_off.call_id.value;
    const auto start = [](const std::string& value) {
        const pid_t child = ::fork();
        if (child != 0) return child;
        ::setpgid(0, 0);
        ::setenv("HOLON_CALL", value.c_str(), 1);
        ::execl("/bin/sh", "sh", "-c", "sleep 1000; true", nullptr);
        ::_exit(127);
    };
    const pid_t left = start(mark), other = start(mark + "x");
    const auto is_started = [](pid_t pid) {
        std::ifstream file(fmt::format("/proc/{}/comm", pid));
        std::string name;
        return std::getline(file, name) && name == "sh";
    };
    while (!is_started(left) || !is_started(other)) std::this_thread::yield();
    std::optional<tools::Dispatcher::Recovered> found;
    dispatcher_.recover(cut_off, place_, [&](tools::Dispatcher::Recovered recovered) {
        found = std::move(recovered);
        loop_.stop();
    });
    while (!found) loop_.run();
    EXPECT_EQ(found->how, tools::Recovery::How::Unknown);
    int status = 0;
    ::waitpid(left, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it was ended";
    EXPECT_EQ(::waitpid(other, &status, WNOHANG), 0) << "that of another call goes on";
    ::kill(-other, SIGKILL);
    ::waitpid(other, &status, 0);
}

// After a crash, before its result was stored.
TEST_F(VaultToolsTest, APatchOfWhichNobodySawTheEndIsSettledByLooking) {
    using How = tools::Recovery::How;
    write("a.md", "one\n");
    const auto cut_off =
        call("shell.applyPatch", {{"patch",
                                   "--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-one\n+two\n"
                                   "--- /dev/null\n+++ b/new.md\n@@ -0,0 +1 @@\n+n\n"}});
    const auto recover = [&] {
        std::optional<tools::Dispatcher::Recovered> found;
        dispatcher_.recover(cut_off, place_, [&](tools::Dispatcher::Recovered recovered) {
            found = std::move(recovered);
            loop_.stop();
        });
        while (!found) loop_.run();
        return std::move(*found);
    };
    EXPECT_EQ(recover().how, How::Unknown) << "nothing was noted";
    vault::Intents intents(place_.agent_home, "call-1");
    ASSERT_TRUE(intents.add({.entry = {.action = vault::Action::Modify,
                                       .path = "a.md",
                                       .beforeEtag = vault::etag("one\n")}}));
    ASSERT_TRUE(intents.add({.entry = {.action = vault::Action::Create, .path = "new.md"}}));
    EXPECT_EQ(recover().how, How::NotMade);
    write("new.md", "n\n");
    EXPECT_EQ(recover().how, How::Unknown) << "it may have been half applied";
    std::filesystem::remove(folder_.at("vault/new.md"));
    start(cut_off);
    const auto result = end();
    ASSERT_TRUE(result.ok) << result.user_message;
    const auto made = recover();
    ASSERT_EQ(made.how, How::Made);
    EXPECT_EQ(made.made->result.data, result.data);
    EXPECT_EQ(made.made->result.effects, result.effects);
}

TEST_F(VaultToolsTest, RunCommandsAsTheRuntimeDoes) {
    const auto result = run("shell.exec", {{"cmd", "printf hi > out.md"}, {"login", false}});
    EXPECT_TRUE(result.ok);
    EXPECT_EQ(result.effects.created,
              (std::vector<domain::CreatedPath>{{"out.md", domain::PathKind::File}}));
    const auto failed = run("commands.run", {{"name", "fail"}});
    EXPECT_EQ(base::string_at(*failed.error->details, "stderr"), "oops\n");
    EXPECT_EQ(base::int_at(*failed.error->details, "exit_status"), 3);
    const auto lenient = run("commands.run", {{"name", "fail"}, {"allowFailure", true}});
    EXPECT_EQ(base::int_at(*lenient.data, "exit_status"), 3);
    EXPECT_EQ(run("commands.list", json::object{}).data->at("commands").at(0),
              (json::value{{"name", "say"},
                           {"description", "Write words to a file."},
                           {"parameters", {"text", "file"}}}));
}

TEST_F(VaultToolsTest, EndACommandThatIsCancelled) {
    auto slow = call("commands.run", {{"name", "wait"}});
    const auto running = start(slow);
    running->cancel();
    EXPECT_EQ(end().error->code, "CANCELLED");
}

// A plan can name any file of the runtime's folder, and what another run kept may be private.
TEST_F(PlanToolsTest, UndoRestoresWhatItsOwnRunKeptAndNothingOfAnotherRun) {
    write("a.md", "before");
    const auto entry = undo_of(run("vault.writeFile", {{"path", "a.md"},
                                                       {"content", " after"},
                                                       {"mode", "append"},
                                                       {"expectedEtag", vault::etag("before")}}))
                           .at(0);
    folder_.write("other-run/kept", "private");
    const json::value foreign{{"action", "delete"},
                              {"path", "leak.md"},
                              {"beforeArtifact", folder_.at("other-run/kept")}};
    EXPECT_EQ(code("plan.undo", foreign), "POLICY_DENIED");
    // A run that takes back another one restores from that one alone.
    const auto own = base::to_json(entry);
    place_.reverted = folder_.at("other-run");
    EXPECT_EQ(code("plan.undo", own), "POLICY_DENIED");
    EXPECT_EQ(code("plan.undo", foreign), "ok");
    place_.reverted.clear();
    EXPECT_EQ(code("plan.undo", own), "ok");
    EXPECT_THAT(all()["a.md"], testing::EndsWith("before"));
}

}  // namespace
}  // namespace plan_tools
