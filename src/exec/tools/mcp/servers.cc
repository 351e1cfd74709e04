#include "exec/tools/mcp/servers.h"

#include "base/log/log.h"
#include "base/os/spawn.h"
#include "exec/tools/mcp/tool.h"

namespace mcp {
namespace {

// What can be seen without starting it.
std::string fault_of(const config::McpServer& server) {
    if (!server.fault.empty()) return server.fault;
    const auto program = base::find_program(
        {.argv = {server.command}, .cwd = server.cwd, .environment = server.environment});
    return program ? "" : program.error().message;
}

}  // namespace

Servers::Servers(ServersParts parts) : parts_(std::move(parts)) {
    for (const auto& server : parts_.servers)
        entries_.push_back(
            {std::make_unique<Session>(SessionParts{.server = server,
                                                    .loop = parts_.loop,
                                                    .clock = parts_.clock,
                                                    .children = parts_.children,
                                                    .boundary = parts_.boundary,
                                                    .log_file = parts_.log_of(server.name)})});
}

void Servers::discover(base::Job done) {
    // The last server to finish reports.
    const std::shared_ptr<base::Job> last(new base::Job(std::move(done)), [](base::Job* task) {
        (*task)();
        delete task;
    });
    for (auto& entry : entries_) {
        const auto& server = entry.session->server();
        if (!server.enabled) continue;
        entry.session->open(
            [&entry, &server, last, log = parts_.log_of(server.name)](const base::Status& status) {
                if (!status) {
                    entry.failure = status.error().message;
                    return base::log_warn("the MCP server {} is left out: {}; its log is {}",
                                          server.name, entry.failure, log.string());
                }
                entry.is_discovered = true;
                entry.catalogue = catalogue(server, entry.session->listed());
                for (const auto& left_out : entry.catalogue.left_out)
                    base::log_info("the tool '{}' of the MCP server {} is left out: {}",
                                   left_out.tool, server.name, left_out.reason);
            });
    }
}

void Servers::add_tools(tools::Registry& registry) {
    for (const auto& entry : entries_)
        for (const auto& offer : entry.catalogue.offers)
            registry.add(tool(*entry.session, offer, parts_.refusal));
}

ServerView Servers::view_of(const Entry& entry) const {
    const auto& server = entry.session->server();
    ServerView view{.name = server.name,
                    .state = "configured",
                    .command = server.command,
                    .risk_level = std::string(base::enum_name(server.risk)),
                    .left_out = entry.catalogue.left_out,
                    .log = parts_.log_of(server.name).string()};
    if (!server.enabled) {
        view.state = "disabled";
    } else if (const std::string fault = fault_of(server); !fault.empty()) {
        view.state = "faulty";
        view.reason = fault;
    } else if (!entry.failure.empty()) {
        view.state = "failed";
        view.reason = entry.failure;
    } else if (entry.is_discovered) {
        view.state = "ready";
        view.protocol_version = entry.session->protocol_version();
        view.introduction = entry.session->introduction();
    }
    for (const auto& offer : entry.catalogue.offers) view.tools.push_back(offer.name);
    return view;
}

std::vector<ServerView> Servers::views() const {
    std::vector<ServerView> views;
    for (const auto& entry : entries_) views.push_back(view_of(entry));
    return views;
}

}  // namespace mcp
