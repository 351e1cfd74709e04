#include "exec/plan/record/chain.h"

#include <gtest/gtest.h>

namespace plan {
namespace {

using domain::PlanRecordKind;

struct Chain {
    std::int64_t seq{0};
    std::string hash{first_link({"run"}, "plan", "policy")};
    domain::PlanRecord add(PlanRecordKind kind, json::object body) {
        return seal(seq, hash, kind, std::move(body));
    }
};

bool holds(const domain::PlanRecord& record, const std::string& last_hash) {
    const auto link = link_of(record, last_hash);
    return link && link->written == link->computed;
}

TEST(Chain, EachRecordIsNumberedAndTiedToTheOneBefore) {
    Chain chain;
    const std::string start = chain.hash;
    const auto first = chain.add(PlanRecordKind::Call, {{"a", 1}});
    const std::string middle = chain.hash;
    const auto second = chain.add(PlanRecordKind::Result, {});
    EXPECT_EQ(first.seq, 1);
    EXPECT_EQ(second.seq, 2);
    EXPECT_EQ(first.line, fmt::format(R"({{"seq":1,"a":1,"hash":"{}"}})", middle));
    EXPECT_EQ(second.line, fmt::format(R"({{"seq":2,"hash":"{}"}})", chain.hash));
    EXPECT_TRUE(holds(first, start));
    EXPECT_TRUE(holds(second, middle));
    EXPECT_FALSE(holds(second, start)) << "a line cannot be dropped";
}

TEST(Chain, AChangeOfALineOrOfItsFileIsSeen) {
    Chain chain;
    const std::string start = chain.hash;
    auto record = chain.add(PlanRecordKind::Call, {{"path", "a.md"}});
    auto moved = record;
    moved.kind = PlanRecordKind::Event;
    EXPECT_FALSE(holds(moved, start));
    record.line.replace(record.line.find("a.md"), 4, "b.md");
    EXPECT_FALSE(holds(record, start));
}

TEST(Chain, ALineWithoutAHashHasNoLink) {
    EXPECT_FALSE(link_of({.seq = 1, .line = R"({"seq":1})"}, "x"));
    EXPECT_FALSE(link_of({.seq = 1, .line = std::string(200, 'x')}, "x"));
}

TEST(Chain, BeginsWithRunPlanAndPolicy) {
    const auto link = first_link({"run"}, "plan", "policy");
    EXPECT_NE(link, first_link({"run2"}, "plan", "policy"));
    EXPECT_NE(link, first_link({"run"}, "plan2", "policy"));
    EXPECT_NE(link, first_link({"run"}, "plan", "policy2"));
}

TEST(Chain, TheHashOfInputsIsOverVaultContextAndParameters) {
    const domain::PlanRun run{.run_id = {"a"}, .goal = "x", .vault = "/v"};
    auto other = run;
    other.run_id = {"b"};
    other.goal = "y";
    EXPECT_EQ(inputs_hash(run), inputs_hash(other));
    for (const auto& change : {+[](domain::PlanRun& one) { one.vault = "/w"; },
                               +[](domain::PlanRun& one) { one.context["cursor"] = 1; },
                               +[](domain::PlanRun& one) { one.params["n"] = 1; }}) {
        auto changed = run;
        change(changed);
        EXPECT_NE(inputs_hash(run), inputs_hash(changed));
    }
}

}  // namespace
}  // namespace plan
