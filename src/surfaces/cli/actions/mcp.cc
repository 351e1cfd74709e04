// `holon mcp …`.
#include "base/text.h"
#include "surfaces/cli/cli.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/table.h"

namespace cli {
namespace {

std::string state_text(const service::McpAccess& access) {
    if (access.state == "local") return "a program of this machine";
    if (access.state == "headers") return "a header of the settings";
    if (access.state == "expired") return "the login has ended: holon mcp login " + access.server;
    if (access.state == "logged_out") return "no login";
    if (access.renews.value_or(false)) return "logged in";
    if (!access.expires_at) return "logged in";
    return "logged in until " + base::to_text(*access.expires_at);
}

Answered on(const McpStatusCommand&, const McpContext& context) {
    show::Rows rows{{"SERVER", "LOGIN", "SCOPE", "ADDRESS"}};
    json::array list;
    for (const auto& access : TRY(context.mcp.status())) {
        rows.push_back({access.server, state_text(access),
                        base::printable(access.scope.value_or("-")),
                        base::printable(access.address)});
        list.push_back(base::to_json(access));
    }
    std::string text = list.empty() ? "No MCP server is configured: holon config set "
                                      "mcp.servers.<name>.url adds one."
                                    : show::table(rows, out_columns(context.terminal));
    return Answer{std::move(list), std::move(text)};
}

Answered on(const McpLoginCommand& command, const McpContext& context) {
    const auto& terminal = context.terminal;
    const auto access = TRY(context.mcp.login(
        {.server = command.server,
         .scope = command.scope,
         .show =
             [&](const std::string& url, const std::string& redirect_uri) {
                 // Not folded: an address is copied whole.
                 terminal.note("Open this address in a browser, and allow the access:\n");
                 terminal.note(base::printable(url));
                 terminal.note(
                     "\n" +
                     show::folded(fmt::format("Waiting for the browser to come back to {}. If it "
                                              "runs on another machine, it ends at an address "
                                              "there that it cannot load: paste that address here, "
                                              "and press Enter.",
                                              base::printable(redirect_uri)),
                                  err_columns(terminal)));
             },
         .on_refused =
             [&] { terminal.note("This address does not belong to this login; paste another."); },
         .in = terminal.in}));
    const auto text = fmt::format(
        "Logged in to {}. A daemon that runs already offers its tools after: holon daemon restart",
        access.server);
    return Answer{base::to_json(access), show::folded(text, out_columns(terminal))};
}

Answered on(const McpLogoutCommand& command, const McpContext& context) {
    const bool was_there = TRY(context.mcp.logout(command.server));
    return Answer{json::object{{"server", command.server},
                               {"status", was_there ? "logged_out" : "not_logged_in"}},
                  was_there ? fmt::format("Logged out of {}.", command.server)
                            : fmt::format("There was no login to {}.", command.server)};
}

}  // namespace

Exit execute(const McpCommand& command, const McpContext& context) {
    return give(
        context.terminal, command.json,
        std::visit([&](const auto& action) { return on(action, context); }, command.action));
}

}  // namespace cli
