// What an operator sees of providers that refuse, fail or report little, and of how they are
// reached.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/provider.h"
#include "tests/e2e/program.h"
#include "tests/support/fake_model_server.h"
#include "tests/support/relays.h"

namespace e2e {
namespace {

using test_support::Contract;
using test_support::FakeModelServer;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kKey = "sk-very-secret-0123456789";

class Providers : public testing::Test {
protected:
    json::value run_json(int exit_code = 0) {
        return program.json_of({"run", "--json", "--agent", "k", "--create-agent", "go"},
                               exit_code);
    }
    // Asks openai/gpt-5; the server answers with one document, as gateways do that do not stream.
    void use_responses() {
        program.environment["OPENAI_API_KEY"] = kKey;
        program.environment["OPENAI_BASE_URL"] = server.base_url();
        program.environment["HOLON_MODEL"] = "openai/gpt-5";
    }
    static domain::AttemptTimeline timeline_in(const json::value& holder) {
        const auto timeline = base::from_json<domain::AttemptTimeline>(
            holder.at("provider_attempt_timeline"), base::Unknown::Reject);
        EXPECT_TRUE(timeline.has_value()) << timeline.error().message;
        return timeline.value_or(domain::AttemptTimeline{});
    }

    FakeModelServer server;
    Program program;
};

// contract: PROV-15
TEST_F(Providers, AnUnsupportedTransportContractIsCalledSoByDoctorAndByARun) {
    std::filesystem::create_directories(program.home());
    program.write(program.home() / "config.json", R"({"providers":{"openai-codex":{
        "transport":"openai_responses","base_url":"http://127.0.0.1:1",
        "auth":{"source":"none","kind":"none"}}}})");
    program.environment["HOLON_MODEL"] = "openai-codex/gpt-5";
    const auto entry = program.json_of({"doctor"}).at("providers").at(0).at("availability");
    EXPECT_EQ(base::string_at(entry, "failure_kind"), "unsupported_transport");
    EXPECT_THAT(base::string_at(entry, "error"),
                testing::AllOf(HasSubstr("transport contract"), HasSubstr("unsupported")));
    const auto run = program.run({"run", "go"});
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_THAT(run.err, testing::AllOf(HasSubstr("transport contract"), HasSubstr("unsupported")));
}

// contract: PROV-23, PROV-58
TEST_F(Providers, EverySurfaceShowsTheSameAttemptsAsTheSameType) {
    program.use_server(server.base_url(), kKey);
    program.environment["HOLON_MODEL_FALLBACKS"] = "xai/grok-4,fake/model-b,fake/model-c";
    for (int i = 0; i < 3; ++i) server.enqueue(test_support::status_reply(503));
    server.enqueue(test_support::status_reply(401));
    server.enqueue(test_support::calls("AgentGet", "{}"));
    server.always(test_support::status_reply(400));
    const auto result = run_json(3);
    const auto all = timeline_in(result);
    std::vector<std::string> reported;
    for (const auto& attempt : all.attempts)
        reported.push_back(attempt.model_ref + " " + std::string(base::enum_name(attempt.outcome)));
    EXPECT_THAT(reported, testing::ElementsAre(
                              "fake/model-a retrying", "fake/model-a retrying",
                              "fake/model-a retries_exhausted", "xai/grok-4 fail_fast_aborted",
                              "fake/model-b fail_fast_aborted", "fake/model-c succeeded",
                              "fake/model-a fail_fast_aborted", "xai/grok-4 fail_fast_aborted",
                              "fake/model-b fail_fast_aborted", "fake/model-c fail_fast_aborted"));
    EXPECT_EQ(all.attempts[3].failure_kind, "auth_error") << "no key, and so no request";
    EXPECT_EQ(server.request_count(), 8U);

    const auto transcript = program.json_of({"transcript", "--agent", "k"});
    const auto round = timeline_in(of_kind(transcript, "assistant_round").at(0).at("data"));
    const auto failure = timeline_in(of_kind(transcript, "runtime_failure").at(0).at("data"));
    EXPECT_EQ(round, timeline_in(program.events("k", "provider_round_completed").at(0).at("data")));
    EXPECT_EQ(failure, timeline_in(program.events("k", "runtime_error").at(0).at("data")));
    EXPECT_EQ(round.winning_model_ref, "fake/model-c");
    EXPECT_EQ(failure.winning_model_ref, std::nullopt);
    std::vector<domain::ProviderAttempt> joined = round.attempts;
    joined.insert(joined.end(), failure.attempts.begin(), failure.attempts.end());
    EXPECT_EQ(joined, all.attempts);
}

// contract: PROV-36, PROV-37
TEST_F(Providers, APromptThatIsTooLongEndsTheTurnAndIsReportedToTheOperator) {
    program.use_server(server.base_url(), kKey);
    program.environment["HOLON_MODEL_FALLBACKS"] = "fake/model-b";
    server.enqueue(test_support::calls("AgentGet", "{}"));
    server.always(
        test_support::error_reply(400, "invalid_request_error", "context_length_exceeded"));
    const auto result = run_json(3);
    const auto& artifact = result.at("failure_artifact");
    EXPECT_EQ(base::string_at(artifact, "category"), "protocol");
    EXPECT_EQ(base::string_at(artifact, "kind"), "context_length_exceeded");
    const std::size_t asked = server.request_count();
    EXPECT_EQ(program.events("k", "turn_context_length_exceeded").size(), 1U);
    const auto terminal = program.events("k", "turn_terminal").at(0).at("data");
    EXPECT_EQ(base::string_at(terminal, "kind"), "aborted");
    EXPECT_EQ(base::string_at(terminal, "reason"), "context_length_exceeded");
    EXPECT_EQ(program.events("k", "provider_round_completed").size(), 1U);
    const auto failures = of_kind(program.json_of({"tail", "--agent", "k"}), "failure");
    ASSERT_EQ(failures.size(), 1U);
    EXPECT_THAT(base::string_at(failures[0], "text"), HasSubstr("context_length_exceeded"));
    EXPECT_EQ(server.request_count(), asked) << "reading sends no request";
}

TEST_F(Providers, ARunThatIsOutOfRoundsBetweenTwoTurnsSaysSoInItsArtifact) {
    program.use_server(server.base_url(), kKey);
    server.enqueue(test_support::calls("Enqueue", R"({"text":"more"})"));
    server.always(test_support::says("Done."));
    const auto result = program.json_of(
        {"run", "--json", "--agent", "k", "--create-agent", "--max-turns", "2", "go"}, 4);
    EXPECT_EQ(server.request_count(), 2U);
    EXPECT_EQ(base::string_at(result.at("failure_artifact"), "category"), "runtime");
    EXPECT_EQ(base::string_at(result.at("failure_artifact"), "kind"), "max_turns_exceeded");
    EXPECT_THAT(base::string_at(result.at("failure_artifact"), "summary"),
                HasSubstr("round budget"));
}

// contract: PROV-52
TEST_F(Providers, TheFullTransportErrorIsNotInTheSummary) {
    program.use_server("http://127.0.0.1:1", kKey);
    const auto result = run_json(3);
    const auto timeline = timeline_in(result);
    ASSERT_TRUE(timeline.attempts.at(0).transport_diagnostics->source_chain);
    const auto& chain = *timeline.attempts[0].transport_diagnostics->source_chain;
    ASSERT_FALSE(chain.empty());
    const std::string summary = base::string_at(result.at("failure_artifact"), "summary");
    const std::string brief = base::string_at(
        of_kind(program.json_of({"tail", "--agent", "k"}), "failure").at(0), "text");
    for (const auto& text : {summary, brief}) {
        EXPECT_THAT(text, Not(HasSubstr("\n")));
        EXPECT_LT(text.size(), 300U);
        for (const auto& cause : chain) EXPECT_THAT(text, Not(HasSubstr(cause)));
    }
}

// contract: PROV-64
TEST_F(Providers, TheLatencyOfATurnIsReadFromTheRecord) {
    program.use_server(server.base_url(), kKey);
    EXPECT_EQ(program.run({"debug", "latency", "--agent", "k"}).exit_code, 1) << "no such agent";
    server.enqueue(test_support::calls("AgentGet", "{}"));
    server.enqueue(test_support::says("Done."));
    run_json();
    const auto shown = program.run({"debug", "latency", "--agent", "k"});
    EXPECT_EQ(shown.exit_code, 0);
    const auto rounds = program.events("k", "provider_round_completed");
    ASSERT_EQ(rounds.size(), 2U);
    EXPECT_THAT(shown.out, testing::StartsWith("turn 1 run="));
    for (const auto* line : {"kind=completed runtime_total=", "\n  queue_wait ",
                             "\n  context_build ", "\n  tool AgentGet ", "\n  turn_cleanup "})
        EXPECT_THAT(shown.out, HasSubstr(line));
    for (const auto& round : rounds)
        EXPECT_THAT(shown.out,
                    HasSubstr(fmt::format("\n  provider round {} {}ms  fake/model-a input=10",
                                          base::int_at(round.at("data"), "round"),
                                          base::int_at(round.at("data"), "provider_round_ms"))));
}

// contract: PROV-72
TEST_F(Providers, ATurnThatReportsNoUsageLeavesThatOfTheTurnBefore) {
    program.use_server(server.base_url(), kKey);
    server.enqueue(test_support::says("one"));
    server.enqueue(test_support::with_body(
        R"({"choices":[{"finish_reason":"stop","message":{"content":"two"}}]})"));
    run_json();
    run_json();
    EXPECT_EQ(
        program.json_of({"status", "--agent", "k"}).at("token_usage"),
        (json::value{
            {"total", {{"input_tokens", 10}, {"output_tokens", 5}, {"total_tokens", 15}}},
            {"total_model_rounds", 2},
            {"last_turn", {{"input_tokens", 10}, {"output_tokens", 5}, {"total_tokens", 15}}}}));
}

// contract: FRAME-30
TEST_F(Providers, WhatATransportRemembersDoesNotReachThePrompt) {
    use_responses();
    const auto prompts = [&](const std::string& home, bool with_ids) {
        program.environment["HOLON_HOME"] = program.home().string() + home;
        std::filesystem::create_directories(program.environment["HOLON_HOME"]);
        program.write(program.environment["HOLON_HOME"] + "/config.json",
                      fmt::format(R"({{"providers":{{"openai":{{"transport":"openai_responses",
                "base_url":"{}","keeps_state":true,
                "auth":{{"source":"env","kind":"api_key","env":"OPENAI_API_KEY"}}}}}}}})",
                                  server.base_url()));
        const json::array call{{{"type", "function_call"},
                                {"call_id", "call_a"},
                                {"name", "AgentGet"},
                                {"arguments", "{}"}}};
        server.enqueue(test_support::responds(call, with_ids ? "resp_1" : ""));
        server.enqueue(test_support::says("Done.", Contract::Responses));
        const auto run = program.run({"run", "--json", "--agent", "k", "--create-agent", "go"});
        EXPECT_EQ(run.exit_code, 0) << run.err;
        EXPECT_THAT(run.err, HasSubstr("stores every conversation")) << "a matter of privacy";
        const auto last = base::parse_json(server.requests().back().body).value();
        EXPECT_EQ(last.as_object().contains("previous_response_id"), with_ids);
        std::vector<std::string> reported;
        for (const auto& event : program.events("k", "provider_round_completed"))
            reported.push_back(base::string_at(event.at("data"), "context_fingerprint") + " " +
                               base::string_at(event.at("data"), "prompt_cache_key"));
        return reported;
    };
    // The second round knows an id of the first, or does not: the prompt is the same.
    for (const bool with_ids : {true, false}) {
        const auto reported = prompts(with_ids ? "1" : "2", with_ids);
        ASSERT_EQ(reported.size(), 2U);
        EXPECT_EQ(reported[0], reported[1]) << with_ids;
    }
}

TEST_F(Providers, AnEndpointWithACertificateOfItsOwnIsReachedOnceItsFileIsNamed) {
    const test_support::SelfMadeCertificate certificate;
    const test_support::TlsFront front(certificate, server.port());
    server.always(test_support::says("Done.", Contract::Responses));
    use_responses();
    program.environment["OPENAI_BASE_URL"] = front.base_url();
    EXPECT_THAT(base::string_at(run_json(3).at("failure_artifact"), "summary"),
                HasSubstr("no trusted TLS connection"));
    program.environment["SSL_CERT_FILE"] = certificate.certificate();
    EXPECT_EQ(base::string_at(run_json(), "final_text"), "Done.");
    program.environment.erase("SSL_CERT_FILE");
    EXPECT_EQ(
        program.run({"config", "set", "runtime.tls_ca_file", certificate.certificate().string()})
            .exit_code,
        0);
    EXPECT_EQ(base::string_at(run_json(), "final_text"), "Done.");
    program.environment["HOLON_TLS_CA_FILE"] = "/nowhere.pem";
    const auto refused = program.run({"run", "go"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("/nowhere.pem"));
}

}  // namespace
}  // namespace e2e
