#include "provider/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/scan/secrets.h"

namespace provider {
namespace {

const std::string kSecret = "sk-live-4f9a0123";
const std::string kMark(scan::kCredentialMark);

class GuardTest : public testing::Test {
protected:
    GuardTest() { scan::know({kSecret}); }
    ~GuardTest() override { scan::know_nothing(); }

    Outcome passed(Outcome outcome) {
        Outcome got;
        guard({}, [&](Outcome end) { got = std::move(end); }).done(std::move(outcome));
        return got;
    }
};

TEST_F(GuardTest, AReplyHasItInNoBlock) {
    const auto reply = passed(
        Reply{.blocks = {domain::TextBlock{"it is " + kSecret},
                         domain::ToolUseBlock{.id = "a", .name = "X", .input = {{"cmd", kSecret}}}},
              .request_diagnostics = {{"note", kSecret}}});
    EXPECT_EQ(reply->blocks[0], domain::Block(domain::TextBlock{"it is " + kMark}));
    EXPECT_EQ(std::get<domain::ToolUseBlock>(reply->blocks[1]).input,
              (json::value{{"cmd", kMark}}));
    EXPECT_EQ(reply->request_diagnostics, (json::object{{"note", kMark}}));
}

TEST_F(GuardTest, AFailureHasItNeitherInItsTextNorInItsAttempts) {
    Failure failure{.message = "wrong key " + kSecret};
    failure.diagnostics =
        domain::TransportDiagnostics{.source_chain = std::vector<std::string>{"401: " + kSecret}};
    failure.timeline.attempts.push_back({.transport_diagnostics = failure.diagnostics});
    const auto got = passed(std::unexpected(failure)).error();
    EXPECT_EQ(got.message, "wrong key " + kMark);
    EXPECT_EQ(got.diagnostics->source_chain->at(0), "401: " + kMark);
    EXPECT_EQ(got.timeline.attempts[0].transport_diagnostics, got.diagnostics);
}

TEST_F(GuardTest, WhatIsWatchedLiveHasAllOfTheTextButThat) {
    std::string shown;
    auto guarded = guard([&](std::string_view text) { shown += text; }, [](const Outcome&) {});
    for (const auto* piece : {"The key", " is sk-li", "ve-4f9a", "0123. Good"})
        guarded.progress(piece);
    guarded.done(Reply{});
    EXPECT_EQ(shown, "The key is " + kMark + ". Good");
}

}  // namespace
}  // namespace provider
