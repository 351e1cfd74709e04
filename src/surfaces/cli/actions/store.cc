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

}  // namespace

Exit execute(const StoreCommand& command, const StoreContext& context) {
    return give(
        context.terminal, command.json,
        std::visit([&](const auto& action) { return on(action, context); }, command.action));
}

}  // namespace cli
