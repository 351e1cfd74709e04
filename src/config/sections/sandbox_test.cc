#include "config/sections/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/keys.h"
#include "config/stored.h"

namespace config {
namespace {

using domain::Enforcement;
using domain::SandboxBackend;
using domain::SandboxNetwork;
using testing::HasSubstr;

base::Result<Sandboxes> loaded(std::string_view text) {
    const auto file = TRY(checked(TRY(base::parse_json(text)).as_object(), "config.json"));
    return load_sandboxes(file, "/home/u/.holon");
}

TEST(Sandbox, IsHostLocalByDefault) {
    const auto all = loaded("{}");
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(*all, Sandboxes{});
    EXPECT_EQ(execution_of(all->of("main")), domain::Execution{});
}

TEST(Sandbox, TakesWhatIsSetAndForAnAgentWhatItSetsBeyond) {
    const auto all = loaded(R"({
        "sandbox": {"backend": "bubblewrap", "network": "allowlist",
                    "allowed_hosts": ["example.com", "*.example.com:8443", "10.0.0.1", "[::1]:80"],
                    "writable_roots": ["/data"], "hidden": ["/srv/keys"], "limits": {"cpu_s": 7}},
        "execution": {"allow_background_tasks": false},
        "agents": {"open": {"sandbox": {"backend": "host_local"},
                            "execution": {"allow_background_tasks": true}},
                   "tight": {"sandbox": {"network": "none", "limits": {"processes": 9}},
                             "execution": {"allow_processes": false}},
                   "apart": {"execution": {"allow_worktrees": false,
                                           "allow_new_workspaces": true}}}})");
    ASSERT_TRUE(all) << all.error().message;
    const auto& general = all->of("anybody");
    EXPECT_EQ(general.settings.backend, SandboxBackend::Bubblewrap);
    EXPECT_EQ(general.settings.allowed_hosts.size(), 4U);
    EXPECT_EQ(general.settings.limits.cpu_s, 7);
    EXPECT_FALSE(general.allow_background_tasks);
    EXPECT_EQ(all->of("open").settings.backend, SandboxBackend::HostLocal);
    EXPECT_TRUE(all->of("open").allow_background_tasks);
    const auto& tight = all->of("tight").settings;
    EXPECT_EQ(tight.network, SandboxNetwork::None);
    EXPECT_EQ(tight.limits.cpu_s, 7);
    EXPECT_EQ(tight.limits.processes, 9);
    EXPECT_EQ(tight.hidden, std::vector<std::string>{"/srv/keys"});
    EXPECT_FALSE(execution_of(all->of("tight")).process_execution_exposed);
    EXPECT_FALSE(execution_of(all->of("tight")).allow_background_tasks);
    EXPECT_FALSE(execution_of(all->of("tight")).supports_managed_worktrees);
    EXPECT_TRUE(execution_of(general).supports_managed_worktrees);
    EXPECT_FALSE(execution_of(all->of("apart")).supports_managed_worktrees);
    // A confined agent chooses its own root only if the operator allows it.
    EXPECT_FALSE(execution_of(general).allow_new_workspaces);
    EXPECT_TRUE(execution_of(all->of("open")).allow_new_workspaces);
    EXPECT_TRUE(execution_of(all->of("apart")).allow_new_workspaces);
}

TEST(Sandbox, RefusesInvalidValuesAndNamesThePlace) {
    const std::pair<const char*, const char*> cases[] = {
        {R"({"sandbox": {"backend": "docker"}})", "/sandbox/backend"},
        {R"({"sandbox": {"network": "some"}})", "/sandbox/network"},
        {R"({"sandbox": {"writable_roots": ["data"]}})", "must be an absolute path, got 'data'"},
        {R"({"sandbox": {"writable_roots": ["~/data"]}})", "write the home folder out"},
        {R"({"sandbox": {"hidden": ["/a/../b"]}})", "/sandbox/hidden: must be a plain path"},
        {R"({"sandbox": {"writable_roots": ["/"]}})", "whole file system"},
        {R"({"sandbox": {"writable_roots": ["/home/u/.holon/agents"]}})", "own folder"},
        {R"({"sandbox": {"allowed_hosts": ["https://example.com"]}})", "must be a host like"},
        {R"({"sandbox": {"allowed_hosts": ["example.com/path"]}})", "must be a host like"},
        {R"({"sandbox": {"allowed_hosts": ["*"]}})", "must be a host like"},
        {R"({"sandbox": {"allowed_hosts": ["*.1.2.3.4"]}})", "must be a host like"},
        {R"({"sandbox": {"allowed_hosts": ["example.com:0"]}})", "must be a host like"},
        {R"({"sandbox": {"limits": {"cpu_s": 0}}})", "/sandbox/limits/cpu_s: must be above 0"},
        {R"({"sandbox": {"limits": {"open_files": -1}}})", "open_files: must be above 0"},
        {R"({"agents": {"../x": {}}})", "an agent is named with"},
        {R"({"agents": {"a": {"sandbox": {"hidden": ["x"]}}}})", "/agents/a/sandbox/hidden"},
    };
    for (const auto& [text, says] : cases) {
        const auto all = loaded(text);
        ASSERT_FALSE(all) << text;
        EXPECT_THAT(all.error().message, HasSubstr(says)) << text;
    }
}

TEST(Sandbox, CanBeSetByNameForAllAndForOneAgent) {
    for (const char* name :
         {"sandbox.backend", "sandbox.limits.cpu_s", "agents.main.sandbox.network",
          "agents.main.execution.allow_processes", "agents.main.execution.allow_worktrees",
          "agents.main.sandbox.limits.memory_bytes"})
        EXPECT_TRUE(find_key(name)) << name;
    const auto key = find_key("agents.main.sandbox.backend").value();
    EXPECT_FALSE(parse_value(key, "docker"));
    json::object document;
    set_value(document, key, parse_value(key, "bubblewrap").value());
    EXPECT_EQ(base::json_text(document),
              R"({"agents":{"main":{"sandbox":{"backend":"bubblewrap"}}}})");
}

// Every limit that the kernel can be given has a name that an operator can set.
TEST(Sandbox, HasAKeyForEachLimit) {
    for (const auto& [name, value] : base::to_json(domain::SandboxLimits{}).as_object()) {
        const std::string full = "sandbox.limits." + std::string(name);
        const auto key = find_key(full);
        ASSERT_TRUE(key) << full;
        EXPECT_EQ(key->default_value, base::json_text(value)) << full;
    }
}

TEST(Execution, ClaimsForEachBackendWhatItKeepsAndNoMore) {
    using domain::execution_of;
    EXPECT_EQ(execution_of(SandboxBackend::HostLocal, SandboxNetwork::None), domain::Execution{});
    const auto closed = execution_of(SandboxBackend::Bubblewrap, SandboxNetwork::Allowlist);
    EXPECT_EQ(closed.write_confinement, Enforcement::HardEnforced);
    EXPECT_EQ(closed.network_confinement, Enforcement::HardEnforced);
    const auto open = execution_of(SandboxBackend::Bubblewrap, SandboxNetwork::Host);
    EXPECT_EQ(open.secret_isolation, Enforcement::HardEnforced);
    EXPECT_EQ(open.network_confinement, Enforcement::NotEnforced);
}

}  // namespace
}  // namespace config
