#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/files.h"
#include "base/os/fs/open_path.h"
#include "base/text.h"
#include "surfaces/cli/actions/actions.h"
#include "surfaces/show/words.h"

namespace cli {
namespace {

constexpr std::size_t kEditedBytesMax = std::size_t{4} << 20;
constexpr std::size_t kLineChars = 60;  // With its margin, a line of 80 columns.

std::string one_line(const std::string& text) {
    return base::printable(base::ellipsize(base::collapse_whitespace(text), kLineChars));
}

std::string readiness_text(const json::object& item) {
    const std::string readiness = base::string_at(item, "readiness");
    return readiness == "waiting_for_operator" ? "needs you" : base::printable(readiness);
}

// What it is about, what blocks it, and the id that other commands take.
std::string item_text(const json::object& item) {
    const char* marker = base::bool_at(item, "is_current") ? "*" : " ";
    std::string text = fmt::format("{} {:<15}{}\n", marker, readiness_text(item),
                                   one_line(base::string_at(item, "objective")));
    if (const std::string blocker = base::string_at(item, "blocked_by"); !blocker.empty())
        text += fmt::format("{:17}by: {}\n", "", one_line(blocker));
    return text + fmt::format("{:17}{}", "", base::printable(base::string_at(item, "id")));
}

// "2031-01-02T03:04:05.000000Z" -> "2031-01-02 03:04 UTC"
std::string minute_text(std::string time) {
    constexpr std::size_t kMinuteChars = 16;
    if (time.size() <= kMinuteChars || time[10] != 'T') return base::printable(time);
    time.resize(kMinuteChars);
    time[10] = ' ';
    return base::printable(time) + " UTC";
}

void print_item(const json::object& item, const Context& context) {
    const json::value value(item);
    const auto line = [&](std::string_view label, const std::string& text) {
        context.terminal.print_line(fmt::format("{:<10} {}", label, text));
    };
    line("id", show::pointer_text(value, "/id"));
    line("objective", show::pointer_text(value, "/objective"));
    line("state", show::pointer_text(value, "/readiness") +
                      (base::bool_at(item, "is_current") ? ", current" : ""));
    line("plan", show::pointer_text(value, "/plan_status") + ", " +
                     show::pointer_text(value, "/plan_artifact/path"));
    if (item.contains("blocked_by")) line("blocked by", show::pointer_text(value, "/blocked_by"));
    if (item.contains("recheck_at"))
        line("reminder", minute_text(base::string_at(item, "recheck_at")));
    if (const auto* todos = item.if_contains("todo_list"); todos && todos->is_array())
        for (const auto& todo : todos->get_array())
            line("todo", fmt::format("[{}] {}", base::string_at(todo, "state"),
                                     base::printable(base::string_at(todo, "text"))));
    if (item.contains("completion_report"))
        line("report", show::pointer_text(value, "/completion_report/text"));
    line("changed", minute_text(base::string_at(item, "updated_at")));
}

Exit list(const WorkCommand& command, const Context& context) {
    const auto page = context.service.work_items(
        agent_of(command.agent, context),
        {.filter = command.filter, .after = command.after, .limit = command.limit});
    if (!page) return report(context.terminal, page.error());
    if (wants_json(context, command.json))
        return answer(context, command.json, base::to_json(*page), "");
    for (const auto& item : page->work_items) context.terminal.print_line(item_text(item));
    if (page->work_items.empty()) context.terminal.note("There are no such work items.");
    if (page->next) context.terminal.note("More: holon work list --after " + *page->next);
    return Exit::Success;
}

Exit show(const WorkCommand& command, const Context& context) {
    const auto item = context.service.work_item(agent_of(command.agent, context), command.id);
    if (!item) return report(context.terminal, item.error());
    if (wants_json(context, command.json)) return answer(context, command.json, *item, "");
    print_item(*item, context);
    return Exit::Success;
}

// When the agent starts on it.
std::string start_text(const std::string& agent, const Context& context) {
    const auto summary = context.service.status(agent);
    const auto status = summary ? show::pointer_text(json::value(*summary), "/agent/status") : "";
    const auto name = base::printable(agent);
    if (status == "stopped")
        return fmt::format("Agent {0} is stopped. Start it with: holon agent start {0}", name);
    if (status == "paused")
        return fmt::format("Agent {0} is paused. Resume it with: holon agent resume {0}", name);
    return "It starts when the agent is free and the daemon runs (holon daemon start).";
}

Exit add(const WorkCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const auto item =
        context.service.create_work_item(agent, {.objective = command.text}, context.caller);
    if (!item) return report(context.terminal, item.error());
    return answer(context, command.json, base::to_json(*item),
                  fmt::format("Given to agent {}: {}\n{}", base::printable(agent), item->id,
                              start_text(agent, context)));
}

Exit change(const WorkCommand& command, service::WorkAction action, std::string_view said,
            const Context& context) {
    const auto item = context.service.change_work_item(
        agent_of(command.agent, context), command.id,
        {.action = action, .text = command.text, .recheck_after_ms = command.recheck_after_ms},
        context.caller);
    if (!item) return report(context.terminal, item.error());
    return answer(context, command.json, *item,
                  fmt::format("work item {} {}", base::printable(command.id), said));
}

// The agent can write there: a link in the place of the plan, or of a folder above it, would make
// the operator's editor change another file.
base::Status check_plan_file(const std::filesystem::path& path, const std::string& relative) {
    const std::string whole = path.string();
    if (relative.empty() || !whole.ends_with("/" + relative))
        return base::fail(base::ErrorCode::InvalidInput, "the plan is at an unknown place: {}",
                          base::printable(whole));
    const auto home = whole.substr(0, whole.size() - relative.size());
    const auto text = base::read_file_beneath(home, relative, kEditedBytesMax);
    if (text) return {};
    return base::fail(text.error().code, "{} is not a plan file that can be edited: {}",
                      base::printable(whole), text.error().message);
}

// Runs the operator's editor on `path` and waits for it.
base::Status edit(const std::string& path) {
    const std::string script = "${VISUAL:-${EDITOR:-vi}} \"$1\"";
    const std::string words[] = {"sh", "-c", script, "sh", path};
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_t child = 0;
    if (const int failed = ::posix_spawn(&child, "/bin/sh", nullptr, nullptr, argv.data(), environ))
        return base::fail(base::ErrorCode::Io, "the editor could not be started: {}",
                          std::generic_category().message(failed));
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return base::fail_errno("wait for the editor");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    return base::fail(base::ErrorCode::Io, "the editor ended with an error; set EDITOR");
}

Exit plan(const WorkCommand& command, const Context& context) {
    const auto item = context.service.work_item(agent_of(command.agent, context), command.id);
    if (!item) return report(context.terminal, item.error());
    const json::value value(*item);
    const auto* artifact = base::find(value, "plan_artifact");
    const std::string path = artifact ? base::string_at(*artifact, "path") : "";
    if (path.empty())
        return report(context.terminal, {.code = base::ErrorCode::NotFound,
                                         .message = "the plan of this work item cannot be read"});
    if (wants_json(context, command.json)) return answer(context, command.json, *artifact, "");
    if (const auto checked = check_plan_file(path, base::string_at(*artifact, "relative_path"));
        !checked)
        return report(context.terminal, checked.error());
    if (const auto edited = edit(path); !edited) return report(context.terminal, edited.error());
    return Exit::Success;
}

}  // namespace

Exit on(const WorkCommand& command, const Context& context) {
    switch (command.verb) {
        case WorkVerb::Add:
            return add(command, context);
        case WorkVerb::List:
            return list(command, context);
        case WorkVerb::Show:
            return show(command, context);
        case WorkVerb::Pick:
            return change(command, service::WorkAction::Pick, "is the current one", context);
        case WorkVerb::Block:
            return change(command, service::WorkAction::Block, "is blocked", context);
        case WorkVerb::Unblock:
            return change(command, service::WorkAction::Unblock, "can continue", context);
        case WorkVerb::Done:
            return change(command, service::WorkAction::Done, "is completed", context);
        case WorkVerb::Plan:
            return plan(command, context);
    }
    return Exit::Success;
}

Exit on(const WaitListCommand& command, const Context& context) {
    const auto summary = context.service.status(agent_of(command.agent, context));
    if (!summary) return report(context.terminal, summary.error());
    const json::value value(*summary);
    const auto* found = base::find(value, "active_wait_conditions");
    const json::array waits = found && found->is_array() ? found->get_array() : json::array{};
    if (wants_json(context, command.json)) return answer(context, command.json, waits, "");
    for (const auto& wait : waits)
        context.terminal.print_line(fmt::format(
            "{:<9} {:<9} {}\n{:20}{}", base::string_at(wait, "kind"),
            base::string_at(wait, "status"), one_line(base::string_at(wait, "waiting_for")), "",
            base::printable(base::string_at(wait, "id"))));
    if (waits.empty()) context.terminal.note("The agent waits for nothing.");
    return Exit::Success;
}

}  // namespace cli
