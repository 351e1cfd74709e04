// Logging in to a remote MCP server with the built program, and using it in a turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/program.h"
#include "tests/support/eventually.h"
#include "tests/support/fake_model_server.h"
#include "tests/support/script_server.h"

namespace e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

class McpLoginE2e : public testing::Test {
protected:
    McpLoginE2e() {
        std::filesystem::create_directories(program.home());
        configure();
    }
    // Adds the server to what is set.
    void configure() {
        const auto file = program.home() / "config.json";
        json::object document;
        if (std::filesystem::exists(file))
            document = base::parse_json(program.read(file)).value().as_object();
        json::object servers;
        servers["tracker"] = json::object{{"url", server.url() + "/mcp"}};
        document["mcp"] = json::object{{"servers", std::move(servers)}};
        program.write(file, base::json_text(document));
    }
    // The address that the operator is told to open.
    std::string shown_url(const Running& running) const {
        const auto begin_of = [&] {
            return running.err_so_far().find(server.url() + "/authorize");
        };
        EXPECT_TRUE(test_support::eventually([&] {
            const auto err = running.err_so_far();
            const auto begin = begin_of();
            return begin != err.npos && err.find('\n', begin) != err.npos;
        })) << running.err_so_far();
        const auto err = running.err_so_far();
        return err.substr(begin_of(), err.find('\n', begin_of()) - begin_of());
    }

    test_support::ScriptServer server{HOLON_MCP_OAUTH_SERVER, "plain"};
    Program program;
};

TEST_F(McpLoginE2e, ALoginIsUsedByTurnsAndRemovedByALogout) {
    auto running = program.start({"mcp", "login", "tracker"});
    const auto url = shown_url(running);
    // The browser: it follows the redirect to the port of the login.
    auto browser = program.start_command(
        {"/usr/bin/python3", "-c", "import sys, urllib.request as r; r.urlopen(sys.argv[1])", url});
    EXPECT_EQ(browser.wait().exit_code, 0);
    const auto login = running.wait();
    ASSERT_EQ(login.exit_code, 0) << login.err;
    EXPECT_THAT(login.out, HasSubstr("logged_in"));

    const auto stored = base::parse_json(program.read(program.home() / "credentials.json")).value();
    const auto material = base::string_at(stored.at("profiles").at("mcp:tracker"), "material");
    const auto token = base::string_at(base::parse_json(material).value(), "access_token");
    ASSERT_FALSE(token.empty());
    for (const auto& words :
         {std::vector<std::string>{"mcp", "status"}, std::vector<std::string>{"doctor", "--probe"},
          std::vector<std::string>{"config", "credentials", "list"}})
        EXPECT_THAT(program.run(words).out, Not(HasSubstr(token))) << words.front();

    test_support::FakeModelServer model;
    program.use_server(model.base_url(), "key");
    configure();
    model.enqueue(test_support::calls("mcp__tracker__echo", R"({"text":"from the tracker"})"));
    model.enqueue(test_support::says("Done."));
    EXPECT_EQ(
        base::string_at(program.json_of({"run", "--json", "--agent", "k", "--create-agent", "go"}),
                        "final_text"),
        "Done.");
    EXPECT_THAT(program.run({"transcript", "--agent", "k"}).out, HasSubstr("from the tracker"));

    EXPECT_EQ(program.run({"mcp", "logout", "tracker"}).exit_code, 0);
    EXPECT_THAT(program.run({"mcp", "status"}).out, HasSubstr("logged_out"));
    EXPECT_THAT(program.read(program.home() / "credentials.json"), Not(HasSubstr(token)));
}

TEST_F(McpLoginE2e, WithoutALoginTheCommandToUseIsNamed) {
    EXPECT_THAT(program.run({"doctor", "--probe"}).out, HasSubstr("holon mcp login tracker"));
    EXPECT_THAT(program.run({"mcp", "login", "nobody"}).err, HasSubstr("no MCP server 'nobody'"));
    EXPECT_THAT(program.run({"mcp", "logout", "tracker"}).out, HasSubstr("not_logged_in"));
}

}  // namespace
}  // namespace e2e
