// All MCP servers of a runtime, and the tools they bring.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/os/lifetime.h"
#include "exec/tools/mcp/ask/prompts.h"
#include "exec/tools/mcp/catalogue.h"
#include "exec/tools/mcp/session.h"
#include "exec/tools/mcp/tool.h"
#include "exec/tools/registry.h"

namespace mcp {

struct ServersParts {
    const std::vector<config::McpServer>& servers;
    base::Loop& loop;
    base::Clock& clock;
    ChildRunner& children;
    const sandbox::Boundary& boundary;
    std::function<std::filesystem::path(const std::string& server)> log_of;
    Refusal refusal{};              // None: every agent may use them.
    Questions* questions{nullptr};  // Where servers ask the operator; none: they cannot.
    // Where lists of tools are kept between processes; empty: nowhere.
    std::filesystem::path lists_folder{};
};

// How long a process that offers tools waits for the lists of servers that it knows none of.
inline constexpr std::chrono::milliseconds kListWait{10'000};

// When a server whose list is known is started, unless a call needs it earlier. A run that is over
// by then, or still prepares its first request, does not share the machine with it.
inline constexpr std::chrono::milliseconds kKnownStartDelay{300};

// How long a server may take to list or expand prompts.
inline constexpr std::chrono::milliseconds kPromptWait{30'000};

// What can be seen of a server without starting it: why it cannot be, or nothing.
std::string fault_of(const config::McpServer& server);

// What operators are shown of one server. No value of its environment is in it.
struct ServerView {
    std::string name;
    std::string state;    // disabled, faulty, configured (not started), ready, failed.
    std::string command;  // Or its URL.
    std::string risk_level;
    std::optional<std::string> reason{};  // Why it is faulty or failed.
    std::optional<std::string> protocol_version{};
    std::optional<std::string> introduction{};
    std::vector<std::string> tools{};
    std::vector<LeftOut> left_out{};
    std::string log;
};
BOOST_DESCRIBE_STRUCT(ServerView, (),
                      (name, state, command, risk_level, reason, protocol_version, introduction,
                       tools, left_out, log))

// Used on the loop only. Nothing is started before discover() or offer().
class Servers {
public:
    explicit Servers(ServersParts parts);

    // Starts all enabled servers at once; `done` comes when each has listed its tools or failed,
    // and maybe before this returns.
    void discover(base::Job done);

    // Starts all enabled servers in the background, those with a known list after kKnownStartDelay,
    // and offers their tools in `registry`, by server and name: at once where an earlier process
    // has kept the list, otherwise when the server has listed them; and anew whenever it says that
    // they changed. `ready` comes when no list is missing that could come soon: after kListWait at
    // the latest, and maybe before this returns. The tools call into this object; `registry` must
    // outlive it.
    void offer(tools::Registry& registry, base::Job ready);

    // Starts those remote servers again that failed: a login may be there now. What they list is
    // offered to the next turn.
    void retry_remote();

    std::vector<ServerView> views() const;

    // The prompts of all servers that have some, by server; a server that does not answer in time
    // is left out. `done` comes once, maybe before this returns.
    void prompts(std::move_only_function<void(std::vector<Prompt>)> done);
    // One of them with `params` as prompts/get has them. `done` comes once, maybe before this
    // returns.
    void expand(const std::string& server, json::object params,
                std::move_only_function<void(base::Result<Expanded>)> done);

private:
    struct Entry {
        std::unique_ptr<Session> session;
        std::string failure{};
        Catalogue catalogue{};
        bool is_discovered{false};
        bool is_offered{false};  // The registry has a list of its tools.
    };
    ServerView view_of(const Entry& entry) const;
    void start(base::Job done);
    void open(Entry& entry, std::shared_ptr<base::Job> last);
    void on_listed(Entry& entry);
    void on_failed(Entry& entry, const std::string& why);
    void add_tools(Entry& entry);
    std::filesystem::path list_of(const Entry& entry) const;

    ServersParts parts_;
    std::vector<Entry> entries_;
    tools::Registry* registry_{nullptr};
    base::Lifetime lifetime_;
};

}  // namespace mcp
