// `holon store …`.
#include "base/text.h"
#include "surfaces/cli/cli.h"

namespace cli {
namespace {

Answered on(const StoreBackupCommand& command, const StoreContext& context) {
    const auto backup = TRY(context.backups.make(command.file));
    return Answer{base::to_json(backup),
                  base::printable(fmt::format("Copied the database to {} ({}, schema version {}).",
                                              backup.file, base::counted(backup.bytes, "byte"),
                                              backup.schema_version))};
}

std::string check_text(const service::StoreCheck& check) {
    if (check.ok)
        return fmt::format("The database is sound: {} in {}.", base::counted(check.rows, "record"),
                           base::counted(check.tables, "table"));
    std::string text;
    for (const auto& damage : check.damage) text += fmt::format("damaged  {}\n", damage);
    for (const auto& row : check.broken)
        text += fmt::format("unreadable  {} {}: {}\n", row.table, row.key, row.error);
    return base::printable(text, true);
}

Answered on(const StoreCheckCommand&, const StoreContext& context) {
    const auto check = TRY(context.backups.check());
    std::string text = check_text(check);
    if (!check.ok)
        text +=
            "Stop the daemon (holon daemon stop), then: holon store repair. It copies the "
            "database first.";
    return Answer{base::to_json(check), std::move(text), check.ok ? Exit::Success : Exit::Failed};
}

Answered on(const StoreRepairCommand&, const StoreContext& context) {
    const auto repair = TRY(context.backups.repair());
    std::string text = fmt::format("Copied the database to {}.\n", repair.backup);
    for (const auto& row : repair.quarantined)
        text += fmt::format("taken out  {} {}: {}\n", row.table, row.key, row.error);
    for (const auto& action : repair.actions) text += fmt::format("done  {}\n", action);
    text = base::printable(text, true) + check_text(repair.after);
    if (!repair.after.ok)
        text +=
            "The file itself is damaged. Restore a copy: stop the daemon and put a file of "
            "<home>/backups in the place of holon.db.";
    return Answer{base::to_json(repair), std::move(text),
                  repair.after.ok ? Exit::Success : Exit::Failed};
}

std::string size_text(std::int64_t bytes) {
    constexpr std::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) return base::counted(bytes, "byte");
    double size = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    for (; size >= 1024 && unit + 1 < std::size(kUnits); ++unit) size /= 1024;
    return fmt::format("{:.1f} {}", size, kUnits[unit]);
}

std::string removed_text(const service::StoreRemoved& removed) {
    return fmt::format(
        "{} with their turns, {}, {}, {}, {} ({})", base::counted(removed.messages, "message"),
        base::counted(removed.events, "event"), base::counted(removed.other_rows, "other record"),
        base::counted(removed.agents, "temporary agent"), base::counted(removed.files, "file"),
        size_text(removed.file_bytes));
}

Answered on(const StoreStatusCommand&, const StoreContext& context) {
    const auto status = TRY(context.backups.status());
    std::string text =
        fmt::format("database   {} in use, {} free, in {}\n", size_text(status.database_bytes),
                    size_text(status.free_bytes), base::printable(status.file));
    text += fmt::format("files      {} of agents and plans\n", size_text(status.file_bytes));
    text += fmt::format("budget     {}{}\n", size_text(status.budget_bytes),
                        status.is_over_budget ? ", exceeded" : "");
    if (!status.retention_enabled)
        text += "retention  off: nothing is removed by itself\n";
    else
        text += fmt::format("retention  removes what is older than {}\n",
                            base::counted(status.max_age_days, "day"));
    if (status.awaits_notice && status.retention_enabled)
        text += "notice     an older version made this home; the next start says what would go\n";
    if (status.deletes_from && status.retention_enabled) {
        text += fmt::format("notice     nothing is removed before {}\n",
                            base::to_text(*status.deletes_from));
        if (status.announced)
            text += fmt::format("           then: {}\n", removed_text(*status.announced));
    }
    if (status.last_pass_at)
        text += fmt::format("last pass  {}, removed {}\n", base::to_text(*status.last_pass_at),
                            removed_text(status.last_pass));
    for (const auto& [table, rows] : status.tables)
        if (rows > 0) text += fmt::format("{:<18} {:>12}\n", table, rows);
    if (text.ends_with('\n')) text.pop_back();
    return Answer{base::to_json(status), std::move(text)};
}

Answered on(const StorePruneCommand& command, const StoreContext& context) {
    const auto pruned = TRY(context.backups.prune(command.dry_run));
    std::string text = fmt::format("{} {}.", command.dry_run ? "Would remove" : "Removed",
                                   removed_text(pruned.removed));
    if (pruned.is_over_budget)
        text += command.dry_run
                    ? "\nThe home uses more than retention.max_bytes, so younger records go, too."
                    : "\nThe home still uses more than retention.max_bytes; what is left is too "
                      "young or still needed.";
    return Answer{base::to_json(pruned), std::move(text)};
}

}  // namespace

Exit execute(const StoreCommand& command, const StoreContext& context) {
    return give(
        context.terminal, command.json,
        std::visit([&](const auto& action) { return on(action, context); }, command.action));
}

}  // namespace cli
