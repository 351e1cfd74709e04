#include "exec/tools/mcp/servers.h"

#include "base/log/log.h"
#include "base/os/spawn.h"
#include "exec/tools/mcp/known_lists.h"
#include "exec/tools/mcp/tool.h"
#include "provider/http/http_client.h"

namespace mcp {

std::string fault_of(const config::McpServer& server) {
    if (!server.fault.empty() || !server.url.empty()) return server.fault;
    const auto program = base::find_program(
        {.argv = {server.command}, .cwd = server.cwd, .environment = server.environment});
    return program ? "" : program.error().message;
}

Servers::Servers(ServersParts parts) : parts_(std::move(parts)) {
    for (const auto& server : parts_.servers)
        entries_.push_back(
            {std::make_unique<Session>(SessionParts{.server = server,
                                                    .loop = parts_.loop,
                                                    .clock = parts_.clock,
                                                    .children = parts_.children,
                                                    .boundary = parts_.boundary,
                                                    .questions = parts_.questions,
                                                    .log_file = parts_.log_of(server.name)})});
}

// Nobody waits for a server whose tools are offered already.
void Servers::start(base::Job done) {
    // The last server that is waited for reports.
    const std::shared_ptr<base::Job> last(new base::Job(std::move(done)), [](base::Job* task) {
        (*task)();
        delete task;
    });
    for (auto& entry : entries_) {
        if (!entry.session->server().enabled) continue;
        entry.session->on_listed([this, &entry] { on_listed(entry); });
        if (!entry.is_offered)
            open(entry, last);
        else
            parts_.loop.after(kKnownStartDelay,
                              lifetime_.guard([this, &entry] { open(entry, nullptr); }));
    }
}

// `last` is released when the server is ready or has failed.
void Servers::open(Entry& entry, std::shared_ptr<base::Job> last) {
    entry.session->open([this, &entry, last = std::move(last)](const base::Status& status) {
        if (!status) return on_failed(entry, status.error().message);
        entry.is_discovered = true;
        entry.failure.clear();
    });
}

void Servers::retry_remote() {
    for (auto& entry : entries_) {
        const auto& server = entry.session->server();
        if (!server.enabled || server.url.empty() || entry.failure.empty()) continue;
        // Until this start is over, a change counts no more: the start itself may renew a token,
        // and a server that rejects each new token would be started for ever.
        entry.failure.clear();
        open(entry, nullptr);
    }
}

void Servers::discover(base::Job done) {
    start(std::move(done));
}

void Servers::offer(tools::Registry& registry, base::Job ready) {
    registry_ = &registry;
    for (auto& entry : entries_) {
        const auto& server = entry.session->server();
        registry.replace("mcp:" + server.name, {});  // Keeps its place.
        if (!server.enabled) continue;
        if (const auto listed = known_list(list_of(entry), server)) {
            entry.catalogue = catalogue(server, *listed);
            add_tools(entry);
        }
    }
    const auto once = std::make_shared<base::Job>(std::move(ready));
    const auto report = [once] {
        if (auto job = std::exchange(*once, nullptr)) job();
    };
    const auto timer = parts_.loop.after(kListWait, lifetime_.guard(report));
    start([this, timer, report] {
        parts_.loop.cancel(timer);
        report();
    });
}

void Servers::on_listed(Entry& entry) {
    const auto& server = entry.session->server();
    auto changed = catalogue(server, entry.session->listed());
    for (const auto& left_out : changed.left_out)
        base::log_info("the tool '{}' of the MCP server {} is left out: {}", left_out.tool,
                       server.name, left_out.reason);
    const bool is_same = entry.is_offered && changed.offers == entry.catalogue.offers;
    entry.catalogue = std::move(changed);
    if (!registry_ || is_same) return;
    if (entry.is_offered)
        base::log_info("the MCP server {} has other tools now; the next turn is offered them",
                       server.name);
    add_tools(entry);
    if (parts_.lists_folder.empty()) return;
    parts_.loop.offload(
        [file = list_of(entry), server, listed = entry.session->listed()] {
            if (const auto kept = keep_list(file, server, listed); !kept)
                base::log_warn("the tools of the MCP server {} are not kept for the next start: {}",
                               server.name, kept.error().message);
        },
        [] {});
}

void Servers::on_failed(Entry& entry, const std::string& why) {
    const auto& server = entry.session->server();
    entry.failure = why;
    base::log_warn("the MCP server {} is {}: {}; its log is {}", server.name,
                   entry.is_offered ? "not ready, and the next call tries again" : "left out", why,
                   parts_.log_of(server.name).string());
}

void Servers::add_tools(Entry& entry) {
    std::vector<std::unique_ptr<tools::Tool>> offered;
    for (const auto& offer : entry.catalogue.offers)
        offered.push_back(tool(*entry.session, offer, parts_.refusal));
    registry_->replace("mcp:" + entry.session->server().name, std::move(offered));
    entry.is_offered = true;
}

std::filesystem::path Servers::list_of(const Entry& entry) const {
    if (parts_.lists_folder.empty()) return {};
    return parts_.lists_folder / (entry.session->server().name + ".json");
}

ServerView Servers::view_of(const Entry& entry) const {
    const auto& server = entry.session->server();
    ServerView view{
        .name = server.name,
        .state = "configured",
        .command = server.url.empty() ? server.command : provider::public_url(server.url),
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
