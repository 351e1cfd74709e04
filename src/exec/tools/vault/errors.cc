#include "exec/tools/vault/errors.h"

#include <cerrno>
#include <cstring>

#include "base/json.h"
#include "base/text.h"

namespace vault {
namespace {

// Short enough that what follows the path is not cut off.
constexpr std::size_t kShownCharsMax = 120;
constexpr std::size_t kShownEndChars = 40;

Failure failure(std::string_view kind, std::string message, std::string_view path,
                std::string_view hint) {
    return Failure(domain::ToolError{.kind = std::string(kind),
                                     .message = std::move(message),
                                     .details = json::object{{"path", shown(path)}},
                                     .recovery_hint = std::string(hint)});
}

}  // namespace

std::string shown(std::string_view path) {
    if (path.empty()) return "the vault";
    const std::string text = base::to_utf8(path);
    if (base::char_count(text) <= kShownCharsMax) return base::printable(text);
    return base::printable(fmt::format("{}…{}",
                                       base::first_chars(text, kShownCharsMax - kShownEndChars - 1),
                                       base::last_chars(text, kShownEndChars)));
}

Failure invalid(std::string_view path, std::string_view why, std::string_view hint) {
    return failure("invalid_tool_input", fmt::format("{} {}.", shown(path), why), path, hint);
}

Failure escapes(std::string_view path, std::string_view why) {
    return failure("path_escape", fmt::format("{} {}.", shown(path), why), path,
                   "Use a relative path that stays inside the vault.");
}

Failure denied(std::string_view path, std::string_view why, std::string_view hint) {
    return failure("policy_denied", fmt::format("{} {}.", shown(path), why), path, hint);
}

Failure missing(std::string_view path) {
    return failure("missing_file", fmt::format("{} does not exist in the vault.", shown(path)),
                   path, "List the folder with vault.listFiles and use a path that exists.");
}

Failure conflict(std::string_view path, std::string_view why, std::string_view hint) {
    return failure("conflict", fmt::format("{} {}.", shown(path), why), path, hint);
}

Failure busy(std::string_view path) {
    auto failure =
        conflict(path, "is being written by another program", "Read it again and decide anew.");
    failure.error().details->get_object()["busy"] = true;
    return failure;
}

bool is_busy(const domain::ToolError& error) {
    return error.details && base::bool_at(*error.details, "busy");
}

Failure unfit(std::string_view path, std::string_view why, std::string_view hint) {
    return failure("precondition_failed", fmt::format("{} {}.", shown(path), why), path, hint);
}

Failure broken(std::string_view doing, std::string_view path, int error) {
    return failure("tool_execution_failed",
                   fmt::format("{} {} failed: {}.", doing, shown(path), std::strerror(error)), path,
                   "Check the disk and the permissions of the vault, then try again.");
}

Failure stopped() {
    return Failure(domain::ToolError{
        .kind = "tool_cancelled", .message = "The call was cancelled before it changed anything."});
}

Failure refused(std::string_view doing, std::string_view path, int error) {
    switch (error) {
        case ENOENT:
            return missing(path);
        case EXDEV:
            return escapes(path, "leads out of the vault");
        case ELOOP:
            return unfit(path, "is or passes a symbolic link that is not followed",
                         "Name the file itself, not a link to it.");
        case ENOTDIR:
            return unfit(path, "passes something that is not a folder",
                         "Choose a path whose parents are folders.");
        case EISDIR:
            return unfit(path, "is a folder", "Name a file.");
        case ENXIO:
            return unfit(path, "is not a regular file", "Only regular files are read and written.");
        case ENAMETOOLONG:
            return invalid(path, "has a name that is too long", "Use a shorter name.");
        case EEXIST:
        case ENOTEMPTY:
            return conflict(path, "already exists", "Choose another name.");
        case EACCES:
        case EPERM:
        case EROFS:
            return unfit(path, "may not be touched by this user",
                         "Check the permissions of the vault.");
        case ENOSYS:
            return unfit(path, "cannot be opened safely: this kernel has no openat2",
                         "Linux 5.6 or newer is needed.");
        case EOPNOTSUPP:
            return unfit(path,
                         "lies on a file system that can neither rename without replacing nor give "
                         "a file a second name",
                         "Keep the vault on another file system.");
        default:
            return broken(doing, path, error);
    }
}

}  // namespace vault
