// The changes of a call to a vault, as values: decided first, shown as a preview or executed, and
// undone from the recorded entries. A preview cannot differ from the execution, because both are
// the same steps.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/typed.h"
#include "exec/results/project.h"
#include "exec/tools/vault/root.h"

namespace vault {

struct MakeFolder {
    std::string path;
    friend bool operator==(const MakeFolder&, const MakeFolder&) = default;
};
struct CreateFile {
    std::string path;
    std::string bytes;
    friend bool operator==(const CreateFile&, const CreateFile&) = default;
};
// Only while the file still has the bytes it had when this was decided.
struct ModifyFile {
    std::string path;
    std::string before;
    std::string after;
    friend bool operator==(const ModifyFile&, const ModifyFile&) = default;
};
// Never over something that exists. A move to the trash counts as a deletion.
struct Move {
    std::string from;
    std::string to;
    domain::PathKind kind{domain::PathKind::File};
    bool trash{false};
    friend bool operator==(const Move&, const Move&) = default;
};
// Permanent, and only while the file still has this etag; its content is kept first.
struct RemoveFile {
    std::string path;
    std::string etag;
    friend bool operator==(const RemoveFile&, const RemoveFile&) = default;
};
// Only an empty one.
struct RemoveFolder {
    std::string path;
    friend bool operator==(const RemoveFolder&, const RemoveFolder&) = default;
};
using Step = std::variant<MakeFolder, CreateFile, ModifyFile, Move, RemoveFile, RemoveFolder>;

// One executed change, as plans keep it to undo it. Fields are spelled as in the plan's JSON.
enum class Action { Create, Modify, Delete, Rename, Mkdir, Rmdir };
BOOST_DESCRIBE_ENUM(Action, Create, Modify, Delete, Rename, Mkdir, Rmdir)

struct UndoEntry {
    Action action{Action::Create};
    std::string path;                   // Where it is now, relative to the vault.
    std::optional<std::string> from{};  // Where it was before a rename.
    std::optional<std::string> beforeEtag{};
    std::optional<std::string> afterEtag{};
    std::optional<std::string> beforeArtifact{};  // Absolute path of a file with the bytes before.
    friend bool operator==(const UndoEntry&, const UndoEntry&) = default;
};
BOOST_DESCRIBE_STRUCT(UndoEntry, (), (action, path, from, beforeEtag, afterEtag, beforeArtifact))

struct Performed {
    std::vector<UndoEntry> undo;  // In the order of execution; undone from the end.
    domain::Effects effects;
    std::optional<std::int64_t> mtime_ms{};  // Of the file that was written last.
};

// Executes `steps` in order, one try of several. When one fails, those before it are undone; if
// that fails, too, the details name the paths in `not_restored`. Folders that a failed try created
// are kept, because other callers may use them by now; they are returned in `folders` and count as
// changes of the next try. The bytes before a change go to the sink first. On return a power cut
// loses nothing of it: see docs/decisions/0005-a-result-comes-after-its-files.md.
struct Means;
Outcome<Performed> perform(const Means& means, std::span<const Step> steps, Performed& folders);

// The files that have to be locked while `steps` are executed, by the paths they have before.
std::set<std::string> files_to_lock(std::span<const Step> steps);

// The step that undoes `entry`. A path that has changed since is CONFLICT. `before` gives the bytes
// that were kept under a name of the entry's.
using Kept = std::function<Outcome<std::string>(const std::string& artifact)>;
Outcome<Step> undo_step(const Root& root, const UndoEntry& entry, const Kept& kept);

// Undoes one entry of a call in progress, and keeps nothing of what it undoes.
Outcome<void> take_back(const Root& root, const UndoEntry& entry);
// All of them, the last first. Those that cannot be are named in the details of `error`.
void take_back(const Means& means, std::span<const UndoEntry> undo, domain::ToolError& error);

// {creates, modifies: [{path, diff}], renames: [{from, to}], deletes}, empty lists left out.
json::object describe(std::span<const Step> steps);

}  // namespace vault
