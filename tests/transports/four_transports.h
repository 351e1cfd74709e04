// The four transports over HTTP, each with a server of its own.
#pragma once

#include <array>

#include <gtest/gtest.h>

#include "provider/anthropic_messages/codec.h"
#include "provider/chat_completions/codec.h"
#include "provider/conformance.h"
#include "provider/http/transport.h"
#include "provider/openai_codex/codec.h"
#include "provider/openai_responses/codec.h"
#include "tests/support/codex_home.h"
#include "tests/support/fake_model_server.h"
#include "tests/support/run_until.h"

namespace test_support {

inline constexpr std::array kContracts{Contract::ChatCompletions, Contract::Responses,
                                       Contract::CodexStream, Contract::Messages};

class FourTransports {
public:
    FourTransports() { codex_home_.log_in("codex-token"); }

    FakeModelServer& server(Contract contract) {
        return servers_.at(static_cast<std::size_t>(contract));
    }
    provider::Outcome ask(Contract contract, provider::Request request) {
        provider::conformance::Asked asked;
        asked.ask(providers_.at(static_cast<std::size_t>(contract)), std::move(request));
        EXPECT_TRUE(run_until(loop_, [&] { return asked.is_done(); }));
        return asked.outcomes.at(0);
    }

private:
    std::string url(Contract contract) { return server(contract).base_url(); }

    std::array<FakeModelServer, kContracts.size()> servers_;
    CodexHome codex_home_;
    base::AsioLoop loop_;
    base::SystemClock clock_;
    provider::HttpClient http_{loop_, {.proxy = ""}};
    // In the order of Contract.
    std::array<provider::HttpTransport, kContracts.size()> providers_{
        provider::HttpTransport{
            http_, clock_,
            provider::chat_completions::make_codec({.base_url = url(Contract::ChatCompletions)})},
        provider::HttpTransport{
            http_, clock_,
            provider::openai_responses::make_codec({.base_url = url(Contract::Responses)})},
        provider::HttpTransport{
            http_,
            clock_,
            provider::openai_codex::make_codec(
                {.base_url = url(Contract::CodexStream), .codex_home = codex_home_.path}),
            {.timeouts = provider::kStreamTimeouts}},
        provider::HttpTransport{
            http_, clock_,
            provider::anthropic_messages::make_codec({.base_url = url(Contract::Messages)})}};
};

}  // namespace test_support
