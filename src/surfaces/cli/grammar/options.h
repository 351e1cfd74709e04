// How each family of commands is spelled. Included by the parsers only: CLI11 is slow to compile.
#pragma once

#include <memory>

#include <CLI/CLI.hpp>

#include "surfaces/cli/grammar/command.h"

namespace cli {

inline constexpr std::int64_t kListMax = 100'000;
inline constexpr const char* kAgentHelp = "The agent (default: HOLON_AGENT_ID, else main)";
inline constexpr const char* kJsonHelp = "Print JSON, also on a terminal";
inline constexpr const char* kPlainHelp = "Print text for people, also into a pipe";
inline constexpr const char* kSandboxHelp = "What confines commands (default: as set)";
inline constexpr const char* kBeforeHelp = "Older ones than those shown before (as it said)";
inline constexpr const char* kHomeHelp = "Use this folder instead of HOLON_HOME";

// A command and what its options fill. The options that many commands share are there already:
// those of --agent, --limit, --before and --json that T has a member for.
template <class T>
struct Added {
    CLI::App* sub;
    std::shared_ptr<T> action;
};
enum class NamesAgent { ByOption, ByPlace };

template <class T>
Added<T> add_command(CLI::App& group, Invocation& invocation, const char* name, const char* help,
                     NamesAgent names_agent = NamesAgent::ByOption) {
    auto action = std::make_shared<T>();
    auto* sub = group.add_subcommand(name, help);
    if constexpr (requires { action->agent.has_value(); })
        if (names_agent == NamesAgent::ByOption)
            sub->add_option("--agent", action->agent, kAgentHelp);
    if constexpr (requires { action->limit.has_value(); })
        sub->add_option("--limit", action->limit, "How many at most (default: all)")
            ->check(CLI::Range(std::int64_t{1}, kListMax));
    else if constexpr (requires { action->limit; })
        sub->add_option("--limit", action->limit, "How many at most")
            ->check(CLI::Range(std::int64_t{1}, kListMax))
            ->capture_default_str();
    if constexpr (requires { action->before; })
        sub->add_option("--before", action->before, kBeforeHelp);
    if constexpr (requires { action->json; }) {
        auto* json = sub->add_flag("--json", action->json, kJsonHelp);
        sub->add_flag("--plain", invocation.plain, kPlainHelp)->excludes(json);
    }
    sub->add_option("--home", invocation.home, kHomeHelp);
    sub->callback([&invocation, action] { invocation.command = Command(*action); });
    return {sub, action};
}

// A command of a family that has its own list of actions: `Family{.json, .action}`.
template <class Family, class T>
Added<T> add_to(CLI::App& group, Invocation& invocation, const char* name, const char* help) {
    auto action = std::make_shared<T>();
    auto json = std::make_shared<bool>(false);
    auto* sub = group.add_subcommand(name, help);
    auto* as_json = sub->add_flag("--json", *json, kJsonHelp);
    sub->add_flag("--plain", invocation.plain, kPlainHelp)->excludes(as_json);
    sub->add_option("--home", invocation.home, kHomeHelp);
    sub->callback([&invocation, action, json] {
        invocation.command = Family{.json = *json, .action = *action};
    });
    return {sub, action};
}

// For commands that make a runtime.
inline void add_sandbox(CLI::App& sub, Invocation& invocation) {
    sub.add_option("--sandbox", invocation.sandbox, kSandboxHelp)
        ->check(CLI::IsMember({"none", "bubblewrap"}));
}

void add_trust(CLI::App& sub, domain::TrustLevel& trust);

// `invocation` must live as long as `app` parses.
void add_readers(CLI::App& app, Invocation& invocation);
void add_agents(CLI::App& app, Invocation& invocation);
void add_control(CLI::App& app, Invocation& invocation);
void add_work(CLI::App& app, Invocation& invocation);
void add_skills(CLI::App& app, Invocation& invocation);
void add_searches(CLI::App& app, Invocation& invocation);
void add_daemon(CLI::App& app, Invocation& invocation);
void add_tui(CLI::App& app, Invocation& invocation);
void add_settings(CLI::App& app, Invocation& invocation);
void add_plans(CLI::App& app, Invocation& invocation);
void add_gate(CLI::App& app, Invocation& invocation);
void add_store(CLI::App& app, Invocation& invocation);
void add_mcp(CLI::App& app, Invocation& invocation);

}  // namespace cli
