#include "surfaces/cli/grammar/options.h"

namespace cli {

void add_store(CLI::App& app, Invocation& invocation) {
    auto* group = app.add_subcommand("store", "The database of the home");
    group->require_subcommand(1);
    group->footer(
        "\nExamples:\n"
        "  holon store backup\n"
        "  holon store backup /mnt/usb/holon.db");
    const auto backup = add_to<StoreCommand, StoreBackupCommand>(
        *group, invocation, "backup", "Copy the database; a daemon may be running");
    backup.sub->add_option("file", backup.action->file,
                           "The new file (default: one in <home>/backups)");
}

}  // namespace cli
