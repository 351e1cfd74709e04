#include "base/calendar/calendar.h"
#include "base/text.h"
#include "surfaces/cli/actions/actions.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/times.h"

namespace cli {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kColumnsMin = 20;
constexpr std::size_t kColumnsMax = 100;

std::string one_line(std::string_view text) {
    return base::printable(base::collapse_whitespace(text));
}

// A line that says what was found, and its text below it.
void print_hit(const Context& context, const std::string& heading, const std::string& snippet) {
    const auto columns =
        std::clamp(out_columns(context.terminal), kColumnsMin + kIndent, kColumnsMax);
    std::string shown = show::fitted(heading, columns);
    for (const auto& line : show::wrapped(one_line(snippet), columns - kIndent))
        shown += "\n" + std::string(kIndent, ' ') + line;
    context.terminal.print_line(shown);
}

bool is_external(const json::object& metadata) {
    return base::bool_at(metadata, "external");
}

// "2d" before now, or the time itself.
base::Result<base::Time> since_of(const std::string& text, base::Time now) {
    if (const auto ms = calendar::parse_duration_ms(text); ms)
        return now - std::chrono::milliseconds(*ms);
    if (const auto at = base::parse_time(text)) return *at;
    return base::fail(base::ErrorCode::InvalidInput,
                      "--since {} is neither a length of time nor a time. Write 2d, 90m or "
                      "2031-01-02T03:04:05Z",
                      base::printable(base::to_utf8(text)));
}

}  // namespace

Exit on(const MemorySearchCommand& command, const Context& context) {
    const auto agent = agent_of(command.agent, context);
    const auto found =
        context.service.search_memory(agent, {.query = command.text,
                                              .limit = command.limit,
                                              .include_all_workspaces = command.all_workspaces});
    if (!found) return report(context.terminal, found.error());
    if (wants_json(context, command.json))
        return answer(context, command.json, base::to_json(*found), "");
    for (const auto& warning : found->warnings.value_or(std::vector<std::string>{}))
        context.terminal.note(base::printable(warning));
    for (const auto& hit : found->results)
        print_hit(context,
                  fmt::format("{}  {}{}  {}", base::printable(hit.source_ref),
                              age_of(hit.updated_at, context),
                              is_external(hit.metadata) ? "  (from untrusted input)" : "",
                              one_line(hit.title)),
                  hit.snippet);
    if (found->results.empty())
        context.terminal.note(fmt::format(
            "Agent {} remembers nothing with these words{}.", base::printable(agent),
            command.all_workspaces ? "" : " in this workspace; --all-workspaces searches all"));
    return Exit::Success;
}

Exit on(const MemoryShowCommand& command, const Context& context) {
    const auto found = context.service.memory_document(agent_of(command.agent, context),
                                                       command.source_ref, command.max_chars);
    if (!found) return report(context.terminal, found.error());
    if (!wants_json(context, command.json)) {
        context.terminal.note(
            fmt::format("{}  {}{}", one_line(found->title), show::local_time(found->updated_at),
                        is_external(found->metadata) ? "  (from untrusted input)" : ""));
        context.terminal.print_line(base::printable(found->content, true));
        if (found->truncated)
            context.terminal.note(
                fmt::format("Only the first {} characters are shown.", command.max_chars));
        return Exit::Success;
    }
    return answer(context, command.json, base::to_json(*found), "");
}

Exit on(const SearchCommand& command, const Context& context) {
    domain::RecordQuery query{.query = command.text, .limit = command.limit};
    if (!command.only_agent.empty()) query.agent = command.only_agent;
    if (!command.since.empty()) {
        const auto since = since_of(command.since, context.clock.now());
        if (!since) return report(context.terminal, since.error());
        query.since = *since;
    }
    const auto found = context.service.search_records(query);
    if (!found) return report(context.terminal, found.error());
    if (wants_json(context, command.json))
        return answer(context, command.json, base::to_json(*found), "");
    for (const auto& hit : found->results)
        print_hit(context,
                  fmt::format("{}  {}  {}", base::printable(hit.agent_id),
                              show::local_time(hit.created_at), one_line(hit.title)),
                  hit.snippet);
    if (found->results.empty()) context.terminal.note("Nothing was found.");
    if (found->is_partial)
        context.terminal.note(
            "Not all records are searched yet. The same search again continues where this one "
            "stopped.");
    return Exit::Success;
}

}  // namespace cli
