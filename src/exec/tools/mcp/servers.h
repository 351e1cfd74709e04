// All MCP servers of a runtime, and the tools they bring.
#pragma once

#include <memory>
#include <string>
#include <vector>

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
    Refusal refusal{};  // None: every agent may use them.
};

// What operators are shown of one server. No value of its environment is in it.
struct ServerView {
    std::string name;
    std::string state;  // disabled, faulty, configured (not started), ready, failed.
    std::string command;
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

// Used on the loop only. Nothing is started before discover().
class Servers {
public:
    explicit Servers(ServersParts parts);

    // Starts all enabled servers at once; `done` comes when each has listed its tools or failed,
    // after kStartWait at the latest, and maybe before this returns. Those that fail are logged and
    // left out.
    void discover(base::Job done);

    // Adds what was discovered, by server and name, so that the same lists give the same registry.
    // The tools call into this object.
    void add_tools(tools::Registry& registry);

    std::vector<ServerView> views() const;

private:
    struct Entry {
        std::unique_ptr<Session> session;
        std::string failure{};
        Catalogue catalogue{};
        bool is_discovered{false};
    };
    ServerView view_of(const Entry& entry) const;

    ServersParts parts_;
    std::vector<Entry> entries_;
};

}  // namespace mcp
