#include "surfaces/cli/cli.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cli {
namespace {

// Knows agents by name; those in `gone` were removed after they were listed.
class FakeService final : public service::Service {
public:
    std::vector<std::string> known{};
    std::string gone{};

    base::Result<service::RunResponse> run(const service::RunRequest&,
                                           service::Observer&) override {
        return base::fail(base::ErrorCode::Unavailable, "not here");
    }
    base::Result<json::object> status(const std::string& agent) override {
        if (agent == gone) return base::fail(base::ErrorCode::NotFound, "no agent '{}'", agent);
        return json::object{{"identity", {{"agent_id", agent}}},
                            {"agent", {{"status", "awake_idle"}, {"pending", 0}}},
                            {"scheduling_posture", {{"posture", "idle"}}},
                            {"lifecycle", json::object{}},
                            {"model", json::object{}},
                            {"closure", {{"outcome", "completed"}}}};
    }
    base::Result<std::vector<std::string>> agents() override { return known; }
    base::Result<std::vector<domain::TranscriptEntry>> transcript(const std::string&,
                                                                  std::int64_t) override {
        return {};
    }
    base::Result<std::vector<domain::Brief>> briefs(const std::string&, std::int64_t) override {
        return {};
    }
    base::Result<std::vector<domain::Event>> events(const std::string&, std::int64_t,
                                                    std::int64_t) override {
        return {};
    }
};

std::string content_of(std::FILE* file) {
    std::string text;
    std::rewind(file);
    std::array<char, 4096> buffer;
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file))
        text.append(buffer.data(), got);
    return text;
}

TEST(AgentList, LeavesOutAnAgentThatIsRemovedMeanwhile) {
    FakeService service;
    service.known = {"tmp_run_1", "k"};
    service.gone = "tmp_run_1";
    base::SystemClock clock;
    const Terminal terminal{.out = std::tmpfile(), .err = std::tmpfile()};
    const Context context{service, terminal, clock, "main"};
    EXPECT_EQ(execute({.action = AgentListCommand{}}, context), Exit::Success);
    const auto list = base::parse_json(content_of(terminal.out)).value().as_array();
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(base::string_at(list[0].at("identity"), "agent_id"), "k");
    EXPECT_EQ(content_of(terminal.err), "");
    std::fclose(terminal.out);
    std::fclose(terminal.err);
}

TEST(RunText, SaysWhatThereIsToSayInOrder) {
    service::RunResponse response{.final_status = service::FinalStatus::Completed};
    EXPECT_EQ(run_text(response), "The run ended without a result.");
    response.final_text = "Text.";
    EXPECT_EQ(run_text(response), "Text.");
    response.final_status = service::FinalStatus::Waiting;
    response.waiting_reason = domain::WaitingReason::AwaitingTimer;
    response.sleep_reason = "tired";
    response.token_usage = {.input_tokens = 3, .output_tokens = 4, .total_tokens = 7};
    response.provider_cache_usage = service::CacheSummary{
        .read_input_tokens = 1, .creation_input_tokens = 2, .hit_rate = 0.333};
    EXPECT_EQ(run_text(response),
              "Text.\n\nRun status: waiting\n\nWaiting reason: awaiting_timer\n\nSleep reason: "
              "tired\n\nToken usage: input 3, output 4, total 7\n\nProvider cache: read 1, created "
              "2, hit rate 33.3%");
    response.provider_cache_usage->hit_rate.reset();
    EXPECT_THAT(run_text(response), testing::EndsWith("hit rate n/a"));
}

}  // namespace
}  // namespace cli
