#include "surfaces/tui/session/status.h"

#include <cstdlib>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/times.h"
#include "surfaces/show/words.h"
#include "surfaces/tui/screen/cells.h"

namespace tui {
namespace {

std::string text_at(const json::object& value, std::string_view pointer) {
    std::string text = show::pointer_text(value, pointer);
    return text == "-" ? "" : text;
}

// The parts with " · " between them, as many as fit, in order.
show::Line joined(const std::vector<show::Span>& parts, std::size_t columns) {
    constexpr std::string_view kGap = " · ";
    show::Line line;
    std::size_t used = 0;
    for (const auto& part : parts) {
        if (part.text.empty()) continue;
        const std::size_t gap = line.empty() ? 0 : show::columns_of(kGap);
        if (!line.empty() && used + gap + show::columns_of(part.text) > columns) continue;
        if (!line.empty()) line.push_back({std::string(kGap), show::Face::Dim});
        line.push_back(part);
        used += gap + show::columns_of(part.text);
    }
    return show::fitted(line, columns);
}

std::string state_word(const AgentView& view) {
    if (view.needs_operator) return "waiting for you";
    const std::string word = show::status_text(view.status);
    return view.resume_required ? word + " (start it with /agent start)" : word;
}

std::string connection_text(const Connection& connection, base::Time now) {
    if (connection.is_connected) return connection.is_loaded ? "connected" : "connecting";
    if (!connection.retry_at) return "disconnected";
    const auto left = std::max<std::int64_t>(0, base::millis_between(now, *connection.retry_at));
    return left == 0 ? "reconnecting"
                     : "reconnecting in " + show::duration_text((left + 999) / 1000 * 1000);
}

// "2 approvals, 1 question (/approvals)"
std::string asks_text(const Figures& figures) {
    std::string text;
    const auto add = [&](std::size_t count, std::string_view noun) {
        if (count == 0) return;
        text += (text.empty() ? "" : ", ") + base::counted(static_cast<std::int64_t>(count), noun);
    };
    add(figures.approvals, "approval");
    add(figures.questions, "question");
    return text.empty() ? "" : text + " (/approvals)";
}

// "canonical_root" -> "canonical root"
std::string worded(std::string name) {
    for (char& c : name)
        if (c == '_') c = ' ';
    return name;
}

}  // namespace

std::string short_path(const std::string& path, const std::string& home) {
    if (!home.empty() && path == home) return "~";
    if (!home.empty() && path.starts_with(home + "/")) return "~" + path.substr(home.size());
    return path;
}

AgentView agent_view(const json::object& summary) {
    AgentView view;
    view.agent_id = text_at(summary, "/identity/agent_id");
    view.status = text_at(summary, "/agent/status");
    view.state = show::state_text(summary);
    view.needs_operator = text_at(summary, "/closure/waiting_reason") == "awaiting_operator_input";
    const json::value whole = summary;
    if (const auto* lifecycle = base::find(whole, "lifecycle"))
        view.resume_required = base::bool_at(*lifecycle, "resume_required");
    view.model = text_at(summary, "/model/effective_model");
    view.workspace = text_at(summary, "/execution/execution_root");
    view.projection = text_at(summary, "/execution/projection_kind");
    view.access = text_at(summary, "/execution/access_mode");
    if (const auto* usage = base::find(whole, "token_usage"))
        if (const auto* total = base::find(*usage, "total"))
            view.tokens = base::int_at(*total, "total_tokens");
    view.token_budget = base::int_at(whole, "token_budget");
    view.active_tasks = base::int_at(whole, "active_task_count");
    view.current_run_id = text_at(summary, "/agent/current_run_id");
    if (const auto* children = base::find(whole, "active_children");
        children && children->is_array())
        for (const auto& child : children->get_array())
            if (child.is_object()) view.children.push_back(child.get_object());
    view.summary = summary;
    return view;
}

std::vector<show::Line> status_lines(const AgentView& view, const Connection& connection,
                                     const Figures& figures, base::Time now, std::size_t columns) {
    const char* home = std::getenv("HOME");
    const std::int64_t tokens = view.tokens + figures.more_tokens;
    std::string spent = tokens == 0 ? "" : show::count_text(tokens) + " tokens";
    if (view.token_budget > 0)
        spent = fmt::format("{} of {} tokens", show::count_text(tokens),
                            show::count_text(view.token_budget));
    const bool is_nearly_spent = view.token_budget > 0 && tokens >= view.token_budget / 10 * 9;
    const std::string asks = asks_text(figures);
    std::vector<show::Line> lines;
    lines.push_back(joined(
        {{base::printable(view.agent_id), show::Face::Accent},
         {state_word(view), view.needs_operator ? show::Face::Warning : show::Face::Plain},
         {asks, show::Face::Warning},
         {connection_text(connection, now),
          connection.is_connected ? show::Face::Dim : show::Face::Bad},
         {base::printable(view.model), show::Face::Dim},
         {view.active_tasks == 0 ? "" : base::counted(view.active_tasks, "task"), show::Face::Dim},
         {spent, is_nearly_spent ? show::Face::Warning : show::Face::Dim},
         {figures.cost_usd > 0 ? fmt::format("${:.2f}", figures.cost_usd) : "", show::Face::Dim},
         {connection.where, show::Face::Dim}},
        columns));
    const std::string how =
        worded(view.projection) + (view.access.empty() ? "" : ", ") + worded(view.access);
    // The end of a path says most.
    const std::size_t taken = show::columns_of(how) + 3;
    const std::size_t room = columns > taken + 8 ? columns - taken : columns;
    std::string path = base::printable(short_path(view.workspace, home == nullptr ? "" : home));
    if (show::columns_of(path) > room)
        path = "…" + std::string(base::last_chars(path, room > 0 ? room - 1 : 0));
    lines.push_back(joined({{path, show::Face::Dim}, {how, show::Face::Dim}}, columns));
    return lines;
}

}  // namespace tui
