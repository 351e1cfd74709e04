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
    auto guarded = guard([&](const News& news) { shown += std::get<std::string_view>(news); },
                         [](const Outcome&) {});
    for (const auto* piece : {"The key", " is sk-li", "ve-4f9a", "0123. Good"})
        guarded.progress(std::string_view(piece));
    guarded.done(Reply{});
    EXPECT_EQ(shown, "The key is " + kMark + ". Good");
}

TEST_F(GuardTest, ARetryHasItNotInItsReasonAndForgetsWhatWasHeldBack) {
    std::vector<std::string> shown;
    auto guarded = guard(
        [&](const News& news) {
            if (const auto* retry = std::get_if<Retry>(&news))
                shown.push_back("retry: " + retry->reason);
            else
                shown.emplace_back(std::get<std::string_view>(news));
        },
        [](const Outcome&) {});
    guarded.progress(std::string_view("It wor"));
    guarded.progress(Retry{.reason = "401 for " + kSecret});
    guarded.progress(std::string_view("Done. "));
    guarded.done(Reply{});
    EXPECT_EQ(shown, (std::vector<std::string>{"It ", "retry: 401 for " + kMark, "Done. "}));
}

}  // namespace
}  // namespace provider
