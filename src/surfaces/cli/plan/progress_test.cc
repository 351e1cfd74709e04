#include "surfaces/cli/plan/progress.h"

#include <gmock/gmock.h>

#include "surfaces/show/columns.h"
#include "tests/support/captured_terminal.h"

namespace cli {
namespace {

using domain::PlanRecordKind;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const base::Time kStart = base::parse_time("2026-01-01T00:00:00Z").value();

class ProgressTest : public testing::Test {
protected:
    void event(std::string_view type, json::object more) {
        more["type"] = type;
        more["timestamp"] = base::to_text(now);
        progress.note({.kind = PlanRecordKind::Event, .line = base::json_text(more)});
    }
    void start(std::string_view step, std::string_view doing, json::object payload = {}) {
        event("step.started", {{"stepId", step},
                               {"callId", "c"},
                               {"message", fmt::format("{}: {}", step, doing)},
                               {"payload", std::move(payload)}});
    }
    void result(std::string_view step, std::string_view status, json::object effects = {}) {
        progress.note({.kind = PlanRecordKind::Result,
                       .line = base::json_text({{"stepId", step},
                                                {"status", status},
                                                {"userMessage", "it \x1b[2J broke"},
                                                {"effects", std::move(effects)}})});
        event("step.finished", {{"stepId", step}, {"callId", "c"}});
    }
    std::vector<std::string> drawn(FrameSize size = {}) {
        std::vector<std::string> texts;
        for (const auto& line : frame(progress, size, now, 0)) texts.push_back(line.text);
        return texts;
    }

    base::Time now = kStart;
    Progress progress{base::parse_json(R"({"steps": [
        {"id": "read", "tool": "vault.readFile"},
        {"id": "notes", "tool": "vault.createFile", "foreach": {"from": "$x"}},
        {"id": "end", "tool": "util.slugifyTitle"}]})")
                          .value()};
};

TEST_F(ProgressTest, StepsAreShownFromTheStartAndLoopsHaveBars) {
    EXPECT_THAT(drawn(), ElementsAre("· read   vault.readFile", "· notes  vault.createFile",
                                     "· end    util.slugifyTitle", "0/3 steps"));
    event("run.started", {});
    start("read", "vault.readFile Ideas.md");
    now += std::chrono::milliseconds(1500);
    EXPECT_EQ(drawn()[0], "⣾ read   vault.readFile Ideas.md  1.5s");
    result("read", "ok");
    for (int i = 0; i < 3; ++i) start("notes", "x", {{"index", i}, {"total", 4}});
    result("notes", "ok");
    result("notes", "error");
    event("step.scheduled", {{"stepId", "notes"}, {"payload", {{"attempt", 2}}}});
    now += std::chrono::seconds(1);
    EXPECT_THAT(drawn(), ElementsAre("✓ read   vault.readFile Ideas.md  1.5s",
                                     "⣾ notes  █████░░░░░░░░░░░░░░░ 1/4  1 retry  1.0s",
                                     "· end    util.slugifyTitle", "1/3 steps · 2.5s"));
    result("notes", "error");
    EXPECT_THAT(drawn()[1], HasSubstr("2/4  1 failed  1 retry"));
    EXPECT_THAT(drawn()[1], HasSubstr("— it \\x1b[2J broke"));
}

TEST_F(ProgressTest, AnEmptyLoopIsDone) {
    event("run.started", {});
    event("step.finished", {{"stepId", "notes"}});
    EXPECT_EQ(drawn()[1].substr(0, 30), "✓ notes  nothing to go over");
    start("end", "x");
    result("end", "skipped");
    EXPECT_THAT(drawn()[2], testing::StartsWith("– end"));
    EXPECT_THAT(drawn()[3], HasSubstr("2/3 steps"));
    // The next pass goes over what did not succeed.
    event("run.started", {});
    EXPECT_THAT(drawn()[2], testing::StartsWith("· end"));
}

TEST_F(ProgressTest, AFrameFitsItsWindowWhateverTheNamesAre) {
    json::array steps;
    for (int i = 0; i < 100; ++i)
        steps.push_back(
            {{"id", fmt::format("step-{}", i)}, {"tool", "漢字\x1b[31m漢字漢字漢字漢字"}});
    progress = Progress(json::object{{"steps", std::move(steps)}});
    for (int i = 0; i < 40; ++i) {
        start(fmt::format("step-{}", i), "t");
        result(fmt::format("step-{}", i), "ok");
    }
    for (const auto& size :
         {FrameSize{80, 24}, FrameSize{20, 10}, FrameSize{1, 1}, FrameSize{7, 5}}) {
        const auto lines = drawn(size);
        EXPECT_LT(lines.size(), std::max<std::size_t>(size.rows, 4));
        for (const auto& line : lines) {
            EXPECT_LT(show::columns_of(line), std::max<std::size_t>(size.columns, 2)) << line;
            EXPECT_THAT(line, Not(HasSubstr("\x1b")));
        }
    }
    const auto lines = drawn({80, 10});
    EXPECT_EQ(lines.front(), "… 39 above");
    EXPECT_THAT(lines[2], testing::StartsWith("· step-40"));
    EXPECT_EQ(lines[lines.size() - 2], "… 55 below");
}

TEST_F(ProgressTest, ListsChangesWithABound) {
    start("notes", "x", {{"total", 30}});
    json::array created;
    for (int i = 0; i < 30; ++i)
        created.push_back(json::object{{"path", fmt::format("n{}\n.md", i)}});
    result("notes", "ok",
           {{"created", std::move(created)},
            {"renamed", json::array{json::object{{"from", "a"}, {"to", "b"}}}}});
    const auto lines = changes_text(progress);
    ASSERT_EQ(lines.size(), 21u);
    EXPECT_EQ(lines.front(), "+ n0\\n.md");
    EXPECT_EQ(lines.back(), "… and 11 more");
    EXPECT_EQ(progress.changes().back(), "> a -> b");
}

TEST_F(ProgressTest, DrawsInPlace) {
    const test_support::CapturedTerminal captured(true);
    base::SystemClock clock;
    PlanProgress view(captured.terminal, clock, json::object{{"steps", json::array{}}});
    view.finish();
    view.finish();
    EXPECT_THAT(captured.err(), HasSubstr("0/0 steps\n"));
}

}  // namespace
}  // namespace cli
