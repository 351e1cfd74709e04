#include "surfaces/cli/plan/view.h"

#include <gmock/gmock.h>

#include "tests/support/captured_terminal.h"

namespace cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PlanPreview, PutsALoopTogetherAndBoundsLongLists) {
    json::array steps{json::object{{"stepId", "read"},
                                   {"tool", "vault.readFile"},
                                   {"riskLevel", "read-only"},
                                   {"preview", "vault.readFile a.md"}}};
    json::array creates;
    for (int i = 0; i < 50; ++i) {
        creates.emplace_back(fmt::format("n{}.md", i));
        steps.push_back(json::object{{"stepId", "notes"},
                                     {"tool", "vault.createFile"},
                                     {"riskLevel", "writes"},
                                     {"preview", "x"},
                                     {"index", i},
                                     {"changes", {{"creates", json::array{creates.back()}}}}});
    }
    const test_support::CapturedTerminal captured;
    const std::string text = preview_text(captured.terminal, {{"goal", "Tidy \x1b[2J"},
                                                              {"riskLevel", "writes"},
                                                              {"vault", "/v"},
                                                              {"steps", std::move(steps)},
                                                              {"creates", std::move(creates)},
                                                              {"commands", json::array{"make"}}});
    EXPECT_THAT(text, HasSubstr("  read  vault.readFile  a.md\n"));
    EXPECT_THAT(text, HasSubstr("  notes  vault.createFile  for 50 items\n      + n0.md\n"));
    EXPECT_THAT(text, HasSubstr("+ n19.md\n      … and 30 more\n"));
    EXPECT_THAT(text, Not(HasSubstr("n20.md")));
    EXPECT_THAT(text, HasSubstr("It creates 50, runs 1 command."));
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(PlanPreview, SaysWhenNothingIsChanged) {
    const test_support::CapturedTerminal captured;
    EXPECT_THAT(preview_text(captured.terminal, {{"goal", "Look"}}),
                HasSubstr("It changes nothing."));
}

}  // namespace
}  // namespace cli
