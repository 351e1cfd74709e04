// Writes the digest of a compaction: the operator's words to the letter, and a line for each file,
// call, failure, decision and question. Deterministic: the same pieces give the same lines.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "agent/context/compaction.h"
#include "agent/context/conversation.h"

namespace context {

// The reason of a continuation prompt that says which patches the operator undid.
inline constexpr std::string_view kPatchesUndone = "operator_undo";

// Finds the call of a round by the provider's name for it; null when it is not on record.
using CallOf = std::function<const domain::ToolExecution*(const std::string& tool_use_id)>;

// Adds what is worth keeping of one covered piece. `only_for`: see DigestLine.
void add_to_digest(Compaction& out, const Piece& piece,
                   const std::optional<domain::MessageId>& only_for, const CallOf& call_of);

struct DigestBounds {
    std::int64_t words{0};  // Tokens of the operator's words.
    std::int64_t lines{0};  // Tokens of everything else.
};

// Brings the digest to its bounds and removes lines that belong to other turns than that of
// `message`.
void bound_digest(Compaction& out, const domain::MessageId& message, const DigestBounds& bounds);

// What is known of files beyond the call that a receipt is about.
struct FileFacts {
    // For each path that one of the calls changed, the last call that did; see last_changes().
    std::map<std::string, domain::ToolCallId> last_changes{};
    FilesNow now{};
};

// A result as stage 1 leaves it: short_receipt(), the files that the call saw or changed, and the
// handle that reads the result. "unchanged since" is said of a file whose content was compared and
// is equal to what is recorded, "changed since" where it is not; nothing where nobody knows.
std::string result_receipt(const domain::ToolExecution& execution, const FileFacts& files);

// How such a receipt ends.
std::string handle_of(const domain::ToolExecution& execution);

// For each path that one of the calls changed, the last call that did. Paths are absolute where the
// root of the call is on record.
std::map<std::string, domain::ToolCallId> last_changes(
    const std::vector<domain::ToolExecution>& executions);

// A file whose content is on record.
struct KnownFile {
    std::string root;
    std::string path;  // Relative to the root.
    friend bool operator==(const KnownFile&, const KnownFile&) = default;
};
// The files whose present content decides what the receipts of these calls say; at most
// kFilesComparedMax, those of the newest calls first. Pure.
std::vector<KnownFile> known_files(const std::vector<domain::ToolExecution>& executions);
// Its name in FilesNow.
std::string absolute_path(const KnownFile& file);

// Does the operator or the runtime itself ask for the turn of this message?
bool is_trusted(const domain::Message& message);

}  // namespace context
