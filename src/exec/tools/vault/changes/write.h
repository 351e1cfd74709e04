// Single changes to files, each complete or not made at all, and none at the cost of what another
// program wrote.
#pragma once

#include <functional>

#include "exec/tools/vault/changes/intents.h"
#include "exec/tools/vault/changes/locks.h"

namespace vault {

// What changes are made with. All of it outlives the change.
struct Means {
    const Root& root;
    FileLocks& locks;
    results::ArtifactSink* sink{nullptr};  // None: the bytes before a change are not kept.
    Intents* intents{nullptr};             // None: a change that is taken back or pretended.
};

// Each of these notes `entry` as an intent first, and its result is on disk on return. Those that
// write return the time of the file's last change.
//
// CONFLICT when the name is taken.
Outcome<std::int64_t> create_file(const Means& means, const CreateFile& step,
                                  const UndoEntry& entry);
// Only while the file has the bytes that were read; its owner and mode stay. When another program
// changes the file in the same moment, its version stays and this is a CONFLICT.
Outcome<std::int64_t> replace_file(const Means& means, const ModifyFile& step,
                                   const UndoEntry& entry);
// Never over something that exists.
Outcome<void> move_path(const Means& means, const Move& step, const UndoEntry& entry);
// Only while the file has the etag. `keep` receives its bytes first and may refuse.
Outcome<void> remove_file(const Means& means, const RemoveFile& step, UndoEntry& entry,
                          const std::function<Outcome<void>(const std::string& bytes)>& keep);

// A new name is durable only when the folder that lists it is.
Outcome<void> flush_folder(const Spot& spot, std::string_view path);
Outcome<void> note(const Means& means, const Intent& intent);

}  // namespace vault
