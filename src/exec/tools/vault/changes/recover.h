// A call that a crash cut off, settled by what is in the vault.
#pragma once

#include "exec/tools/vault/changes/intents.h"

namespace vault {

// Nothing of it is left in the vault, so it can be made again. Folders that other calls use by now
// stay, and count as changes of the next try.
struct NotMade {
    Performed folders{};
};
struct Made {
    Ending ending;
};
// It changed something, and that cannot be distinguished from what others did since. `undo` is what
// revert can try.
struct Unsettled {
    std::vector<UndoEntry> undo{};
};
using Recovery = std::variant<NotMade, Made, Unsettled>;

// Removes the temporary files of `call` in every case. `folder` is that of its plan run.
Outcome<Recovery> recover(const Root& root, const std::filesystem::path& folder,
                          const std::string& call);

}  // namespace vault
