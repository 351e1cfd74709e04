#include "service/daemon/access/surface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace service {
namespace {

config::Config some_config() {
    config::Config config{.home = "/h", .workspace_dir = "/w", .cwd = "/w"};
    config.model = config::ModelRef{"vllm", "m"};
    config.server = config::load_server("/h", {}).value();
    config.providers["vllm"] = {.id = "vllm", .base_url = "http://127.0.0.1:8000/v1"};
    config.providers["other"] = {.id = "other", .base_url = "http://other"};
    return config;
}

std::string print_of(const config::Config& config, const ServeOptions& options = {}) {
    return fingerprint(config, resolve(options, config.server).value());
}

TEST(Fingerprint, IsTheSameForTheSameConfiguration) {
    EXPECT_EQ(print_of(some_config()), print_of(some_config()));
    EXPECT_EQ(print_of(some_config()).size(), 64U);
}

TEST(Fingerprint, ChangesWithWhatTheRuntimeWouldDoDifferently) {
    const auto before = print_of(some_config());
    auto model = some_config();
    model.model = config::ModelRef{"vllm", "other"};
    EXPECT_NE(print_of(model), before);
    auto url = some_config();
    url.providers["vllm"].base_url = "http://127.0.0.1:9000/v1";
    EXPECT_NE(print_of(url), before);
    EXPECT_NE(print_of(some_config(), {.port = 9000}), before);
    EXPECT_NE(print_of(some_config(), {.advertise = "https://h.example"}), before);
    auto limit = some_config();
    limit.max_tool_output_tokens = 1;
    EXPECT_NE(print_of(limit), before);
    auto workspace = some_config();
    workspace.workspace_dir = "/elsewhere";
    EXPECT_NE(print_of(workspace), before);
    auto server = some_config();
    server.mcp_servers = {{.name = "files", .command = "x"}};
    EXPECT_NE(print_of(server), before);
}

TEST(Fingerprint, DoesNotChangeWithTheFolderTheTokenOrAnUnusedKey) {
    const auto before = print_of(some_config());
    auto folder = some_config();
    folder.workspace_dir = folder.cwd = "/elsewhere";
    EXPECT_EQ(print_of(folder), before);
    auto token = some_config();
    token.server.control_token = "secret";
    EXPECT_EQ(print_of(token), before);
    auto key = some_config();
    key.providers["other"].needs_credential = true;
    EXPECT_EQ(print_of(key), before);
    auto server = some_config(), elsewhere = some_config();
    server.mcp_servers = {{.name = "files", .command = "x", .cwd = "/w"}};
    elsewhere.mcp_servers = {{.name = "files", .command = "x", .cwd = "/elsewhere"}};
    EXPECT_EQ(print_of(elsewhere), print_of(server));
}

TEST(Surface, ShowsThatThereIsATokenButNotTheToken) {
    auto config = some_config();
    config.server.control_token = "secret";
    const auto plan = resolve({}, config.server).value();
    const auto text = base::json_text(startup_surface(config, plan));
    EXPECT_THAT(text, testing::HasSubstr("\"control_token_configured\":true"));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("secret")));
}

}  // namespace
}  // namespace service
