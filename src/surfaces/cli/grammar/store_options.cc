#include "surfaces/cli/grammar/options.h"

namespace cli {

void add_store(CLI::App& app, Invocation& invocation) {
    auto* group = app.add_subcommand("store", "The database of the home");
    group->require_subcommand(1);
    group->footer(
        "\nExamples:\n"
        "  holon store backup\n"
        "  holon store backup /mnt/usb/holon.db\n"
        "  holon store check\n"
        "  holon store prune --dry-run");
    const auto backup = add_to<StoreCommand, StoreBackupCommand>(
        *group, invocation, "backup", "Copy the database; a daemon may be running");
    backup.sub->add_option("file", backup.action->file,
                           "The new file (default: one in <home>/backups)");
    add_to<StoreCommand, StoreCheckCommand>(
        *group, invocation, "check",
        "Check the file and read every record; a daemon may be running");
    add_to<StoreCommand, StoreRepairCommand>(
        *group, invocation, "repair",
        "Copy the database, then take out what cannot be read; stop the daemon first");
    add_to<StoreCommand, StoreStatusCommand>(
        *group, invocation, "status",
        "Show what is stored, how much room it takes, and until when");
    const auto prune = add_to<StoreCommand, StorePruneCommand>(
        *group, invocation, "prune",
        "Remove records that are too old or too many; see retention.* in the settings");
    prune.sub->add_flag("--dry-run", prune.action->dry_run, "Only say what would be removed");
}

}  // namespace cli
