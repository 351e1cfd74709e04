// Every route, over TCP and over the socket.
#include <gmock/gmock.h>

#include "tests/http/fixture.h"

namespace test_http {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class Routes : public ServerTest, public testing::WithParamInterface<bool> {
protected:
    void SetUp() override { start(); }
    Client client() const { return GetParam() ? tcp() : local(); }
    Received ask(const std::string& bytes) const { return client().ask(bytes); }
};
INSTANTIATE_TEST_SUITE_P(Listeners, Routes, testing::Bool(),
                         [](const auto& info) { return info.param ? "Tcp" : "Socket"; });

TEST_P(Routes, RootNamesTheDefaultAgent) {
    const auto answer = ask(get("/"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.headers.at("content-type"), "application/json");
    EXPECT_EQ(answer.json(), (json::value{{"ok", true}, {"default_agent", "main"}}));
}

TEST_P(Routes, PromptIsDeliveredAsWhatTheOperatorSays) {
    const auto answer = ask(post("/control/agents/main/prompt", R"({"text":"hello"})"));
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.json(),
              (json::value{{"ok", true}, {"agent_id", "main"}, {"message_id", "message-1"}}));
    EXPECT_THAT(service_.calls(), Contains("prompt main hello"));
}

}  // namespace
}  // namespace test_http
