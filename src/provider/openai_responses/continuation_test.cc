#include "provider/openai_responses/continuation.h"

#include <gtest/gtest.h>

namespace provider::openai_responses {
namespace {

json::value parsed(std::string_view text) {
    return base::parse_json(text).value();
}

const Snapshot kPrevious{.response_id = "resp_1", .shape = "s", .items = {"a", "b"}};

TEST(PlanRequest, AStrictExtensionSendsWhatIsNew) {
    const Plan plan = plan_request(kPrevious, {.shape = "s", .items = {"a", "b", "c", "d"}});
    EXPECT_EQ(plan.first_new, 2U);
    EXPECT_EQ(plan.previous_response_id, "resp_1");
    EXPECT_EQ(json::value(plan.incremental_continuation), parsed(R"({
        "status": "hit", "incremental_input_items": 2, "full_input_items": 4,
        "expected_prefix_items": 2, "request_shape_hash": "s"})"));
}

// contract: FRAME-25
TEST(PlanRequest, EveryDoubtIsAFullRequestWithItsReason) {
    struct Row {
        std::optional<Snapshot> previous;
        Snapshot now;
        std::string_view reason, mismatch;
    };
    const std::vector<Row> rows{
        {std::nullopt, {.shape = "s", .items = {"a"}}, "not_applicable_initial_request", ""},
        {kPrevious, {.shape = "t", .items = {"a", "b", "c"}}, "request_shape_changed", ""},
        {kPrevious,
         {.shape = "s", .items = {"a", "x", "c"}},
         "conversation_not_strict_append_only",
         "semantic_mismatch"},
        {kPrevious,
         {.shape = "s", .items = {"a", "b"}},
         "conversation_not_strict_append_only",
         "length_mismatch"},
        {kPrevious,
         {.shape = "s", .items = {"a"}},
         "conversation_not_strict_append_only",
         "length_mismatch"},
        {kPrevious,
         {.shape = "s", .items = {}},
         "conversation_not_strict_append_only",
         "length_mismatch"},
    };
    for (const auto& row : rows) {
        const Plan plan = plan_request(row.previous, row.now);
        EXPECT_EQ(plan.first_new, 0U);
        EXPECT_EQ(plan.previous_response_id, std::nullopt);
        const json::value said = plan.incremental_continuation;
        EXPECT_EQ(base::string_at(said, "status"), "fallback_full_request");
        EXPECT_EQ(base::string_at(said, "fallback_reason"), row.reason);
        EXPECT_EQ(base::string_at(said, "mismatch_kind"), row.mismatch);
    }
}

TEST(Continuations, ASnapshotIsGivenOnceAndToItsScopeOnly) {
    Continuations kept;
    kept.keep({"a", "k"}, kPrevious);
    EXPECT_EQ(kept.take({"b", "k"}), std::nullopt);
    EXPECT_EQ(kept.take({"a", "l"}), std::nullopt);
    EXPECT_EQ(kept.take({"a", "k"}), kPrevious);
    EXPECT_EQ(kept.take({"a", "k"}), std::nullopt);
}

TEST(Continuations, TheOnesUsedLongestAgoGoFirst) {
    Continuations kept;
    for (std::size_t i = 0; i <= kScopesMax; ++i) kept.keep({std::to_string(i), "k"}, kPrevious);
    EXPECT_EQ(kept.size(), kScopesMax);
    EXPECT_EQ(kept.take({"0", "k"}), std::nullopt);
    EXPECT_EQ(kept.take({"1", "k"}), kPrevious);
}

TEST(Continuations, AServerThatRefusesOneIsNotAskedForAnother) {
    Continuations kept;
    EXPECT_FALSE(kept.is_refused());
    kept.note_refused();
    EXPECT_TRUE(kept.is_refused());
}

}  // namespace
}  // namespace provider::openai_responses
