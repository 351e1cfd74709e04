#include "config/sections/mcp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/keys.h"
#include "config/stored.h"

namespace config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

base::Result<ConfigFile> file_of(std::string_view text) {
    return checked(base::parse_json(text).value().as_object(), "config.json");
}
McpServer server_of(std::string_view text, const Environment& environment = {}) {
    const auto servers = mcp_servers(*file_of(text).value().mcp, environment, "/project");
    EXPECT_EQ(servers.size(), 1u);
    return servers.front();
}

TEST(McpConfig, AServerNeedsOnlyACommand) {
    const auto server = server_of(R"({"mcp":{"servers":{"files":{"command":"mcp-files"}}}})");
    EXPECT_EQ(server.name, "files");
    EXPECT_TRUE(server.enabled);
    EXPECT_EQ(server.risk, domain::RiskLevel::Commands);
    EXPECT_EQ(server.timeout_ms, kMcpTimeoutDefaultMs);
    EXPECT_EQ(server.cwd, "/project/");
    EXPECT_FALSE(server.allow);
}

TEST(McpConfig, ALoginMayUseAClientThatWasRegisteredForIt) {
    const auto server = server_of(R"({"mcp":{"servers":{"t":{"url":"https://t.example/mcp","oauth":{
        "client_id":"c","client_secret":"$S","scope":"a b","callback_port":7777}}}}})",
                                  {{"S", "secret"}});
    EXPECT_EQ(server.oauth.client_id, "c");
    EXPECT_EQ(server.oauth.client_secret, "secret");
    EXPECT_EQ(server.oauth.scope, "a b");
    EXPECT_EQ(server.oauth.callback_port, 7777);
    EXPECT_THAT(mcp_secret_names(*file_of(R"({"mcp":{"servers":{"t":{"url":"https://t.example/mcp",
        "oauth":{"client_id":"c","client_secret":"$S"}}}}})")
                                      .value()
                                      .mcp),
                ElementsAre("S"));
    for (const char* bad :
         {R"("command":"x","oauth":{})", R"("url":"https://t","oauth":{"client_secret":"$S"})",
          R"("url":"https://t","oauth":{"client_id":"c","client_secret":"plain"})",
          R"("url":"https://t","oauth":{"callback_port":70000})",
          R"("url":"https://t","oauth":{"scope":"a\nb"})"})
        EXPECT_FALSE(file_of(fmt::format(R"({{"mcp":{{"servers":{{"t":{{{}}}}}}}}})", bad))) << bad;
}

TEST(McpConfig, EverythingCanBeChosen) {
    const auto server = server_of(R"({"mcp":{"servers":{"files":{
        "command":"x","args":["a"],"cwd":"/data","enabled":false,"timeout_ms":5,"risk":"read_only",
        "tools":{"allow":["a"],"deny":["b"]}}}}})");
    EXPECT_THAT(server.args, ElementsAre("a"));
    EXPECT_EQ(server.cwd, "/data");
    EXPECT_FALSE(server.enabled);
    EXPECT_EQ(server.risk, domain::RiskLevel::ReadOnly);
    EXPECT_THAT(*server.allow, ElementsAre("a"));
    EXPECT_THAT(server.deny, ElementsAre("b"));
}

TEST(McpConfig, AServerGetsLittleOfTheEnvironmentAndWhatItIsGiven) {
    const Environment environment{
        {"PATH", "/bin"}, {"OPENAI_API_KEY", "sk-1"}, {"MY_TOKEN", "secret"}};
    const std::string text = R"({"mcp":{"servers":{"s":{"command":"x",
        "env":{"TOKEN":"$MY_TOKEN","PRICE":"$$5","PLAIN":"p"}}}}})";
    const auto server = server_of(text, environment);
    EXPECT_THAT(server.environment, ElementsAre(Pair("PATH", "/bin"), Pair("PLAIN", "p"),
                                                Pair("PRICE", "$5"), Pair("TOKEN", "secret")));
    EXPECT_EQ(server.fault, "");
    EXPECT_THAT(mcp_secret_names(*file_of(text)->mcp), ElementsAre("MY_TOKEN"));
    EXPECT_THAT(server_of(text).fault, HasSubstr("MY_TOKEN is not set"));
}

TEST(McpConfig, AServerOverHttpGetsHeadersThatNameVariables) {
    const std::string text = R"({"mcp":{"servers":{"s":{"url":"https://mcp.example/x",
        "start_timeout_ms":5,"headers":{"Authorization":"Bearer $MY_TOKEN","X-Plain":"$$5"}}}}})";
    const auto server = server_of(text, {{"MY_TOKEN", "secret"}});
    EXPECT_EQ(server.url, "https://mcp.example/x");
    EXPECT_EQ(server.start_timeout_ms, 5);
    EXPECT_THAT(server.headers,
                ElementsAre(Pair("Authorization", "Bearer secret"), Pair("X-Plain", "$5")));
    EXPECT_THAT(mcp_secret_names(*file_of(text)->mcp), ElementsAre("MY_TOKEN"));
    EXPECT_THAT(server_of(text).fault, HasSubstr("MY_TOKEN"));
}

TEST(McpConfig, FaultsNameThePlace) {
    for (const auto& [text, fault] : std::map<std::string, std::string>{
             {R"({"mcp":{"servers":{"a__b":{"command":"x"}}}})", "/mcp/servers/a__b"},
             {R"({"mcp":{"servers":{"_a":{"command":"x"}}}})", "/mcp/servers/_a"},
             {R"({"mcp":{"servers":{"A":{"command":"x"}}}})", "/mcp/servers/A"},
             {R"({"mcp":{"servers":{"a":{"command":" "}}}})", "needs either command"},
             {R"({"mcp":{"servers":{"a":{}}}})", "needs either command"},
             {R"({"mcp":{"servers":{"a":{"url":"ftp://x"}}}})", "/url"},
             {R"({"mcp":{"servers":{"a":{"url":"http://x","args":["b"]}}}})", "for a command only"},
             {R"({"mcp":{"servers":{"a":{"command":"x","headers":{"A":"b"}}}}})", "for a url only"},
             {R"({"mcp":{"servers":{"a":{"url":"http://x","headers":{"A":"b\r\nC: d"}}}}})",
              "cannot be sent"},
             {R"({"mcp":{"servers":{"a":{"command":"x","start_timeout_ms":0}}}})",
              "start_timeout_ms"},
             {R"({"mcp":{"servers":{"a":{"command":"x","timeout_ms":0}}}})", "timeout_ms"},
             {R"({"mcp":{"servers":{"a":{"command":"x","risk":"none"}}}})", "risk"},
             {R"({"mcp":{"servers":{"a":{"command":"x","env":{"A=B":""}}}}})", "env"},
             {R"({"mcp":{"servers":{"a":{"command":"x","url":"http://x"}}}})", "url"}}) {
        const auto file = file_of(text);
        ASSERT_FALSE(file) << text;
        EXPECT_THAT(file.error().message, HasSubstr(fault));
    }
}

TEST(McpConfig, ServersAreSetByName) {
    json::object document;
    for (const auto& [name, value] :
         std::map<std::string, std::string>{{"mcp.servers.files.command", "mcp-files"},
                                            {"mcp.servers.files.args", "--root,/data"},
                                            {"mcp.servers.files.risk", "read_only"},
                                            {"mcp.servers.files.enabled", "no"}}) {
        const auto key = find_key(name);
        ASSERT_TRUE(key) << name;
        set_value(document, *key, parse_value(*key, value).value());
    }
    EXPECT_EQ(base::json_text(document.at("mcp").at("servers").at("files").at("args")),
              R"(["--root","/data"])");
    EXPECT_TRUE(checked(document, "config.json"));
    EXPECT_FALSE(parse_value(*find_key("mcp.servers.files.risk"), "harmless"));
}

}  // namespace
}  // namespace config
