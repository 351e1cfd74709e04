#include "exec/plan/language/check.h"

#include <gmock/gmock.h>

#include "exec/plan/language/params.h"
#include "exec/tools/fake_tool_for_test.h"

namespace plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

json::object step(std::string_view id, json::object args, std::string_view tool = "Echo") {
    return {{"id", id}, {"tool", tool}, {"args", std::move(args)}};
}

class CheckTest : public testing::Test {
protected:
    CheckTest() { registry.add(std::make_unique<tools::FakeTool>("Echo")); }

    static json::object plan_of(json::array steps, std::string_view risk = "writes") {
        return {
            {"version", "1.0"}, {"goal", "Test"}, {"riskLevel", risk}, {"steps", std::move(steps)}};
    }
    std::vector<std::string> paths(const json::object& document) const {
        std::vector<std::string> list;
        const auto checked = check(document, registry);
        if (checked) return list;
        for (const auto& fault : checked.error()) list.push_back(fault.path);
        return list;
    }

    tools::Registry registry;
};

TEST_F(CheckTest, StepsWaitForThoseTheyNameAndThoseTheyReferTo) {
    auto last = step("c", {{"text", "$steps.a.text"}});
    last["dependsOn"] = json::array{"b"};
    last["captureAs"] = "said";
    const auto checked =
        check(plan_of({step("a", {{"text", "x"}}), step("b", {{"text", "y"}}), std::move(last)}),
              registry);
    ASSERT_TRUE(checked) << faults_text(checked.error());
    const auto& plan = **checked;
    EXPECT_THAT(plan.needs, ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0U, 1U)));
    EXPECT_THAT(plan.needed_by, ElementsAre(ElementsAre(2U), ElementsAre(2U), IsEmpty()));
    EXPECT_THAT(plan.by_capture, ElementsAre(Pair("said", 2U)));
    EXPECT_EQ(plan.risk, domain::RiskLevel::Writes);
}

TEST_F(CheckTest, NamesEveryFaultAtItsPlace) {
    EXPECT_THAT(paths(plan_of({step("a", {{"text", "x"}}, "Ecco"),
                               step("b", {{"text", "$steps.nothing.text"}})})),
                ElementsAre("/steps/0/tool", "/steps/1/args/text"));
}

TEST_F(CheckTest, RefusesACircleAndARiskThatIsTooLow) {
    EXPECT_THAT(paths(plan_of({step("a", {{"text", "$steps.b.text"}}),
                               step("b", {{"text", "$steps.a.text"}})})),
                testing::Not(IsEmpty()));
    EXPECT_THAT(paths(plan_of({step("a", {{"text", "x"}})}, "read-only")),
                ElementsAre("/riskLevel"));
}

TEST_F(CheckTest, ATextThatIsNoPlanIsOneFaultAtTheTop) {
    const auto checked = check_text("{", registry);
    ASSERT_FALSE(checked);
    ASSERT_EQ(checked.error().size(), 1U);
    EXPECT_EQ(checked.error()[0].path, "");
}

TEST_F(CheckTest, FaultsAreOneALineWithTheirHints) {
    EXPECT_THAT(faults_text({{"/a", "is wrong", "Do this."}, {"/b", "is missing"}}),
                testing::AllOf(HasSubstr("/a: is wrong"), HasSubstr("Do this."), HasSubstr("\n"),
                               HasSubstr("/b: is missing")));
}

TEST_F(CheckTest, ParametersHaveTheTypesOfTheirUses) {
    auto loop = step("c", {{"text", "{item}"}});
    loop["foreach"] = json::object{{"from", "$vars.params.list"}, {"itemName", "item"}};
    const auto checked =
        check(plan_of({step("a", {{"text", "$vars.params.word"}, {"times", "$vars.params.count"}}),
                       step("b", {{"text", "so {$vars.params.part}"}}), std::move(loop)}),
              registry);
    ASSERT_TRUE(checked) << faults_text(checked.error());
    EXPECT_THAT((*checked)->params, ElementsAre("count", "list", "part", "word"));
    EXPECT_THAT(param_types(**checked, registry),
                ElementsAre(Pair("count", "integer"), Pair("list", "array"), Pair("part", "string"),
                            Pair("word", "string")));
}

TEST(FittedParameter, IsOfTheTypeOrNothing) {
    EXPECT_EQ(fitted(json::value(5), "string"), json::value("5"));
    EXPECT_EQ(fitted(json::value(true), "string"), json::value("true"));
    EXPECT_EQ(fitted(json::value(json::array{}), "string"), std::nullopt);
    EXPECT_EQ(fitted(json::value(5), "integer"), json::value(5));
    EXPECT_EQ(fitted(json::value(5.5), "integer"), std::nullopt);
    EXPECT_EQ(fitted(json::value(5.5), "number"), json::value(5.5));
    EXPECT_EQ(fitted(json::value("5"), "number"), std::nullopt);
    EXPECT_EQ(fitted(json::value(json::object{}), "array"), std::nullopt);
    EXPECT_EQ(fitted(json::value(nullptr), "unheard-of"), json::value(nullptr));
}

}  // namespace
}  // namespace plan
