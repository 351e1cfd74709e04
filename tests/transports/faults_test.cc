// Twenty faults of a provider in the second of three rounds, over each of the four transports and
// the built program: which of them a turn survives, and how it ends otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/codex_home.h"
#include "tests/support/fake_model_server.h"

namespace {

using e2e::Program;
using test_support::Contract;
using test_support::FakeModelServer;
using test_support::ServerReply;
using testing::HasSubstr;
using namespace std::chrono_literals;

enum class Wire { Chat, Responses, Messages, Codex };

Contract contract_of(Wire wire) {
    switch (wire) {
        case Wire::Chat:
            return Contract::ChatStream;
        case Wire::Messages:
            return Contract::MessagesStream;
        case Wire::Responses:
        case Wire::Codex:
            return Contract::CodexStream;
    }
    std::unreachable();
}

std::string name_of(Wire wire) {
    constexpr std::array<const char*, 4> kNames{"Chat", "Responses", "Messages", "Codex"};
    return kNames.at(static_cast<std::size_t>(wire));
}

ServerReply events(std::string_view body) {
    return {.body = std::string(body), .headers = {{"Content-Type", "text/event-stream"}}};
}

// An error within a stream, in the words of each API.
ServerReply error_event(Wire wire) {
    switch (wire) {
        case Wire::Chat:
            return events(
                "data: {\"error\":{\"message\":\"upstream\",\"type\":null,"
                "\"param\":null,\"code\":\"500\"}}\n\n");
        case Wire::Messages:
            return events(
                "event: error\ndata: {\"type\":\"error\",\"error\":"
                "{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n");
        case Wire::Responses:
        case Wire::Codex:
            return events(
                "event: error\ndata: {\"type\":\"error\",\"code\":null,"
                "\"message\":\"upstream\"}\n\n");
    }
    std::unreachable();
}

// A complete answer without text and calls.
ServerReply empty_answer(Wire wire) {
    if (wire == Wire::Chat)
        return events(
            "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
            "\"content\":\"\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
    if (wire == Wire::Messages)
        return test_support::streams(
            {{{"type", "message_start"}, {"message", {{"id", "m"}}}},
             {{"type", "message_delta"}, {"delta", {{"stop_reason", "end_turn"}}}},
             {{"type", "message_stop"}}});
    return test_support::streams(
        {{{"type", "response.completed"},
          {"response", {{"id", "r"}, {"status", "completed"}, {"output", json::array()}}}}});
}

ServerReply overflow(Wire wire) {
    constexpr std::array<std::string_view, 4> kBodies{
        R"({"error":{"message":"litellm.ContextWindowExceededError: too long","code":"400"}})",
        R"({"error":{"code":"context_length_exceeded","message":"too long"}})",
        R"({"type":"error","error":{"type":"invalid_request_error",
            "message":"prompt is too long: 210000 tokens > 200000 maximum"}})",
        R"({"error":{"message":"Your input exceeds the context window of this model."}})"};
    return {.status = 400, .body = std::string(kBodies.at(static_cast<std::size_t>(wire)))};
}

ServerReply cut(Wire wire, bool with_reset) {
    ServerReply reply = test_support::calls("ExecCommand", R"({"cmd":"echo lost"})", "call_lost",
                                            contract_of(wire));
    reply.truncate_after = reply.body.size() / 2;
    reply.reset = with_reset;
    return reply;
}

// Ends like a whole body, in the middle of the answer.
ServerReply ends_early(Wire wire) {
    ServerReply reply = test_support::says("This text is cut off in its middle", contract_of(wire));
    reply.body.resize(reply.body.find("\n\n", reply.body.size() / 4) + 2);
    return reply;
}

ServerReply hangs_in_stream(Wire wire) {
    ServerReply reply = test_support::says("This text stops here", contract_of(wire));
    reply.drip_bytes = reply.body.size() / 2;
    reply.drip_pause = 60s;
    return reply;
}

struct Fault {
    std::string name;
    std::function<std::vector<ServerReply>(Wire)> replies;
    std::string failure{};  // The kind of failure of a turn that does not survive it.
};

std::vector<Fault> faults() {
    using test_support::error_reply, test_support::rate_limited, test_support::status_reply;
    const auto once = [](ServerReply reply) {
        return [reply](Wire) { return std::vector{reply}; };
    };
    const auto times = [](ServerReply reply, std::size_t count) {
        return [reply, count](Wire) { return std::vector(count, reply); };
    };
    const auto by_wire = [](auto make) {
        return [make](Wire wire) { return std::vector{make(wire)}; };
    };
    return {
        {"Limited", once(rate_limited())},
        {"LimitedThreeTimes", times(rate_limited(), 3)},
        {"ServerError", once(status_reply(500))},
        {"ServerErrorThreeTimes", times(status_reply(500), 3)},
        {"Unavailable", once(status_reply(503))},
        {"Overloaded", once(error_reply(529, "overloaded_error", ""))},
        {"Reset", once(test_support::resets())},
        {"ResetInTheStream", by_wire([](Wire wire) { return cut(wire, true); })},
        {"Truncated", by_wire([](Wire wire) { return cut(wire, false); })},
        {"EarlyEnd", by_wire(ends_early)},
        {"MalformedEvent", once(events("data: {\"type\":\n\n"))},
        {"EmptyAnswer", by_wire(empty_answer)},
        {"WebPage", once(test_support::wrong_content_type())},
        {"ErrorEvent", by_wire(error_event)},
        {"UnparsableArguments", by_wire([](Wire wire) {
             return test_support::calls("ExecCommand", "{\"cmd\": oops", "call_bad",
                                        contract_of(wire));
         })},
        {"UnknownTool", by_wire([](Wire wire) {
             return test_support::calls("functions.Magic!", "{}", "call_odd", contract_of(wire));
         })},
        {"Overflow", by_wire(overflow), "context_length_exceeded"},
        {"Unauthorized", once(error_reply(401, "authentication_error", "invalid_api_key")),
         "auth_error"},
        {"Hang", once(test_support::hangs())},
        {"HangInTheStream", by_wire(hangs_in_stream)},
    };
}

class Faults : public testing::TestWithParam<std::tuple<Wire, Fault>> {
protected:
    void use(Wire wire, std::chrono::milliseconds timeout) {
        const std::string timeouts =
            fmt::format(R"("first_byte_timeout_ms":{0},"idle_timeout_ms":{0},)"
                        R"("auth":{{"source":"none","kind":"none"}})",
                        timeout.count());
        std::filesystem::create_directories(program.home());
        program.environment["no_proxy"] = "127.0.0.1";
        program.environment["HOLON_OUTAGE_PATIENCE_MS"] = "60000";
        const auto provider = [&](std::string_view id, std::string_view transport) {
            program.environment["HOLON_MODEL"] = fmt::format("{}/model-1", id);
            return fmt::format(
                R"({{"providers":{{"{}":{{"transport":"{}","base_url":"{}",{}}}}}}})", id,
                transport, server.base_url(), timeouts);
        };
        std::string config;
        switch (wire) {
            case Wire::Chat:
                config = provider("house", "openai_chat_completions");
                break;
            case Wire::Responses:
                config = provider("house", "openai_responses");
                break;
            case Wire::Messages:
                config = provider("house", "anthropic_messages");
                break;
            case Wire::Codex:
                codex_home.log_in("codex-token");
                program.environment["CODEX_HOME"] = codex_home.path;
                config = provider("openai-codex", "openai_codex_responses");
                config.replace(config.find(R"("source":"none","kind":"none")"), 29,
                               R"("source":"external_cli","kind":"session_token",)"
                               R"("external":"codex_cli")");
                break;
        }
        program.write(program.home() / "config.json", config);
    }

    FakeModelServer server;
    test_support::CodexHome codex_home;
    Program program;
};

// Ruling 27 replaces PROV-32: a malformed answer may pass, and is asked for again.
// contract: PROV-32
TEST_P(Faults, ATurnSurvivesWhatMayPass) {
    const auto& [wire, fault] = GetParam();
    const bool hangs = fault.name.starts_with("Hang");
    use(wire, hangs ? 1s : 100s);
    const auto contract = contract_of(wire);
    server.enqueue(
        test_support::calls("ExecCommand", R"({"cmd":"echo first-result"})", "call_1", contract));
    const auto replies = fault.replies(wire);
    for (const auto& reply : replies) server.enqueue(reply);
    server.enqueue(
        test_support::calls("ExecCommand", R"({"cmd":"echo second-result"})", "call_2", contract));
    server.always(test_support::says("All done.", contract));

    const bool fails = !fault.failure.empty();
    const auto result =
        program.json_of({"run", "--json", "--agent", "k", "--create-agent", "go"}, fails ? 3 : 0);
    if (fails) {
        EXPECT_EQ(base::string_at(result.at("failure_artifact"), "kind"), fault.failure);
        EXPECT_EQ(server.request_count(), 2U) << "it fails at once";
        return;
    }
    EXPECT_EQ(base::string_at(result, "final_text"), "All done.");
    // The whole conversation is in the last request, and the lost answer is not.
    const auto last = server.requests().back().body;
    EXPECT_THAT(last, HasSubstr("first-result"));
    EXPECT_THAT(last, HasSubstr("second-result"));
    EXPECT_THAT(last, testing::Not(HasSubstr("call_lost")));
    EXPECT_THAT(last, testing::Not(HasSubstr("previous_response_id")));
    if (!hangs) EXPECT_EQ(server.request_count(), 3 + replies.size());
}

INSTANTIATE_TEST_SUITE_P(OnEveryTransport, Faults,
                         testing::Combine(testing::Values(Wire::Chat, Wire::Responses,
                                                          Wire::Messages, Wire::Codex),
                                          testing::ValuesIn(faults())),
                         [](const auto& info) {
                             return name_of(std::get<0>(info.param)) + std::get<1>(info.param).name;
                         });

class Waiting : public Faults {};

// Ctrl-C ends the wait at once, before the first byte and within a stream.
TEST_P(Waiting, CanBeInterrupted) {
    const auto& [wire, fault] = GetParam();
    use(wire, 100s);
    server.always(fault.replies(wire).at(0));
    auto running = program.start({"run", "--agent", "k", "--create-agent", "go"});
    ASSERT_TRUE(server.wait_for_requests(1));
    running.send(SIGINT);
    EXPECT_EQ(running.wait().exit_code, 130);
    EXPECT_EQ(server.request_count(), 1U);
}

INSTANTIATE_TEST_SUITE_P(OnEveryTransport, Waiting,
                         testing::Combine(testing::Values(Wire::Chat, Wire::Responses,
                                                          Wire::Messages, Wire::Codex),
                                          testing::Values(faults().at(18), faults().at(19))),
                         [](const auto& info) {
                             return name_of(std::get<0>(info.param)) + std::get<1>(info.param).name;
                         });

}  // namespace
