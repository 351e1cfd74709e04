#include "base/text.h"
#include "surfaces/cli/actions/actions.h"
#include "surfaces/show/times.h"
#include "surfaces/show/words.h"

namespace cli {
namespace {

using Report = base::Result<json::object>;

Report execute(const DaemonCommand& command, service::Daemon& daemon) {
    struct Visit {
        service::Daemon& daemon;
        Report operator()(const DaemonStartCommand& start) { return daemon.start(start.options); }
        Report operator()(const DaemonStopCommand&) { return daemon.stop(); }
        Report operator()(const DaemonStatusCommand&) { return daemon.status(); }
        Report operator()(const DaemonRestartCommand& restart) {
            return daemon.restart(restart.options);
        }
        Report operator()(const DaemonLogsCommand& logs) { return daemon.logs(logs.tail); }
    };
    return std::visit(Visit{daemon}, command.action);
}

std::string age_at(const json::value& object, std::string_view name, base::Clock& clock) {
    const auto time = base::parse_time(base::string_at(object, name));
    if (!time) return "";
    return show::age_text(
        std::chrono::duration_cast<std::chrono::seconds>(clock.now() - *time).count());
}

std::string failure_text(const json::value& failure, base::Clock& clock) {
    return fmt::format("{} ({}): {}", age_at(failure, "occurred_at", clock),
                       base::printable(base::string_at(failure, "phase")),
                       base::printable(base::string_at(failure, "summary")));
}

class Lines {
public:
    explicit Lines(const Terminal& terminal) : terminal_(terminal) {}
    void add(std::string_view label, const std::string& text) const {
        terminal_.print_line(fmt::format("{:<10} {}", label, text));
    }

private:
    const Terminal& terminal_;
};

void show_status(const json::value& report, const DaemonContext& context) {
    const Lines lines(context.terminal);
    std::string state = base::string_at(report, "state");
    if (state == "running")
        state += base::bool_at(report, "healthy") ? ", healthy" : ", does not answer";
    if (const auto pid = base::int_at(report, "pid"); pid > 0)
        state += fmt::format(" (pid {})", pid);
    if (const auto age = age_at(report, "started_at", context.clock); !age.empty())
        state += ", started " + age;
    lines.add("daemon", state);
    for (const auto& [label, name] :
         {std::pair{"home", "home_dir"}, {"socket", "socket_path"}, {"http", "http_addr"}})
        lines.add(label, base::printable(base::string_at(report, name)));
    if (const auto file = base::string_at(report, "control_token_file"); !file.empty())
        lines.add("token", base::printable(file) + " (for clients over TCP)");
    if (const auto* activity = base::find(report, "activity"))
        lines.add("activity",
                  fmt::format("{}: {}, {} processing, {} waiting, {}",
                              show::pointer_text(*activity, "/state"),
                              base::counted(base::int_at(*activity, "active_agent_count"), "agent"),
                              base::int_at(*activity, "processing_agent_count"),
                              base::int_at(*activity, "waiting_agent_count"),
                              base::counted(base::int_at(*activity, "active_task_count"), "task")));
    if (const auto* match = base::find(report, "config_fingerprint_match"))
        lines.add("config",
                  match->is_bool() && match->get_bool()
                      ? "unchanged since the start"
                      : "has changed since the start; apply it with: holon daemon restart");
    if (const auto* failure = base::find(report, "last_failure"))
        lines.add("failure", failure_text(*failure, context.clock));
    context.terminal.print_line(base::printable(base::string_at(report, "message")));
}

void show_logs(const json::value& report, const DaemonContext& context) {
    const Lines lines(context.terminal);
    for (const char* name : {"startup_failure", "shutdown_failure", "last_failure"})
        if (const auto* failure = base::find(report, name))
            lines.add(name, failure_text(*failure, context.clock));
    if (const auto* tail = base::find(report, "tail"); tail && tail->is_array())
        for (const auto& line : tail->get_array())
            context.terminal.print_line(base::printable(std::string_view(line.get_string())));
    lines.add("log", base::printable(base::string_at(report, "log_path")));
    context.terminal.print_line(base::printable(base::string_at(report, "message")));
}

// The end of the log, then its lines as they are written; always text.
Exit follow_logs(const DaemonLogsCommand& command, const DaemonContext& context) {
    const auto logs = context.daemon.logs(command.tail);
    if (!logs) return report(context.terminal, logs.error());
    const auto print = [&](std::string_view line) {
        context.terminal.print_line(base::printable(line));
        return context.terminal.is_written();
    };
    if (const auto* tail = logs->if_contains("tail"); tail && tail->is_array())
        for (const auto& line : tail->get_array()) print(std::string_view(line.get_string()));
    const auto followed = service::follow_log(base::string_at(*logs, "log_path"), print);
    if (!followed) return report(context.terminal, followed.error());
    return Exit::Success;
}

}  // namespace

Exit execute(const DaemonCommand& command, const DaemonContext& context) {
    if (const auto* logs = std::get_if<DaemonLogsCommand>(&command.action); logs && logs->follow)
        return follow_logs(*logs, context);
    const auto report_or = execute(command, context.daemon);
    if (!report_or) return report(context.terminal, report_or.error());
    const json::value value(*report_or);
    if (command.json || !context.terminal.is_for_people())
        context.terminal.print_line(base::pretty_json(value));
    else if (std::holds_alternative<DaemonLogsCommand>(command.action))
        show_logs(value, context);
    else
        show_status(value, context);
    return settle(context.terminal, Exit::Success);
}

}  // namespace cli
