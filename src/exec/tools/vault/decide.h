// Decides, from the request and the present state of the vault, the steps that fulfil it. Reads and
// never writes: the same decision is shown as a preview or executed.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "exec/tools/vault/steps.h"

namespace vault {

// Names tried for one file: "Note.md", "Note (2).md", and so on.
inline constexpr std::size_t kNamesTriedMax = 1000;
// Notes that one rename may change, and how much it may read to find them.
inline constexpr std::size_t kRelinkedNotesMax = 2000;
inline constexpr std::size_t kLinkBytesMax = 512 * 1024 * 1024;
// How often a call is decided again because the vault changed between decision and execution. Each
// time another caller made progress, so this cannot loop forever; many callers that want one name
// need many tries.
inline constexpr int kDecisionsMax = 256;
// Between tries while another program has a file open for writing; they double up to the longest.
inline constexpr std::chrono::milliseconds kBusyPauseFirst{1};
inline constexpr std::chrono::milliseconds kBusyPauseMax{50};

enum class OnCollision { Unique, Error };
BOOST_DESCRIBE_ENUM(OnCollision, Unique, Error)

struct Decision {
    std::vector<Step> steps;
    std::string path;    // Where the result is, after names were made safe and unique.
    std::string etag{};  // Of a file that is rewritten or left as it is.
    std::optional<std::int64_t> mtime_ms{};  // Of a file that is left as it is.
    std::size_t links{0};                    // Rewritten by a rename.
    std::size_t broken{0};                   // Links that no longer lead to their file.
};

Outcome<Decision> decide_folder(const Root& root, const std::string& path);

// `assume_free` skips the check of a safe name: if the name is taken, creating the file fails with
// CONFLICT and the call is decided again.
Outcome<Decision> decide_create(const Root& root, const std::string& path,
                                const std::string& content, OnCollision on_collision,
                                bool assume_free = false);

enum class WriteMode { Replace, Append, Prepend };
BOOST_DESCRIBE_ENUM(WriteMode, Replace, Append, Prepend)

struct Write {
    std::string path;
    std::string content;
    WriteMode mode{WriteMode::Replace};
    bool create{false};  // Makes the file if it is missing.
    std::optional<std::string> expected_etag{};
};
// No steps when the file already has these bytes.
Outcome<Decision> decide_write(const Root& root, const Write& write);

// Replaces the bytes of a file that was read already, unless it has changed since.
Outcome<Decision> decide_rewrite(const std::string& path, std::string before, std::string after);

struct Rename {
    std::string from;
    std::string to;
    bool update_links{true};
    OnCollision on_collision{OnCollision::Unique};
    std::optional<std::string> expected_etag{};
};
Outcome<Decision> decide_rename(const Root& root, const Rename& rename);

// Moves the file or folder to the trash of the vault.
Outcome<Decision> decide_delete(const Root& root, const std::string& path,
                                const std::optional<std::string>& expected_etag);

// Undoes one recorded change and recreates missing folders on the way. No steps when the created
// file or folder is gone already. The bytes before a change come only from files below `kept`.
Outcome<Decision> decide_undo(const Root& root, const UndoEntry& entry,
                              const std::filesystem::path& kept);

// The path as written, checked; its end need not exist.
Outcome<std::string> checked_path(std::string_view path);
// The same; where the vault has a name that is spelled with other code points, that one is meant.
Outcome<std::string> checked_path(const Root& root, std::string_view path);

struct Done {
    Decision decision;
    Performed performed;
};

class Intents;

// How a call is executed.
struct Execution {
    // Files that the call changes, as far as that is known beforehand: they are locked before it is
    // decided, so that a change which depends on their content is decided once.
    std::set<std::string> files{};
    const std::atomic<bool>* stop{nullptr};  // Ends the wait for locks.
    // Called with what was done, while the files are still held, to note the end of the call: once
    // another call has changed a file, nobody could tell any more whether this one had.
    std::function<void(const Done&)> on_done{};
    Intents* intents{nullptr};
    Performed folders{};  // Made by an earlier try of the same call.
};

// Decides and executes. Calls of this program, in any process, change a file one after the other.
// If another program takes a name or changes a file in between, the call is decided again; its
// conditions (an etag, no collision) are then checked again as well. `decide` receives true on the
// first try, when it may assume that names are free.
Outcome<Done> execute(const Root& root, const std::function<Outcome<Decision>(bool first)>& decide,
                      results::ArtifactSink& sink, Execution how = {});

}  // namespace vault
