#include "exec/tools/patch/sweep.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ranges>

#include "base/text.h"

namespace patch {
namespace {

constexpr int kNameAttemptsMax = 100;

// Unique among the running processes; O_EXCL and RENAME_NOREPLACE see to those that are gone.
std::string hidden_name() {
    static std::atomic<std::uint64_t> counter{0};
    return fmt::format(".holon-patch-{}-{}.tmp", ::getpid(), counter.fetch_add(1));
}

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t size = ::write(fd, bytes.data(), bytes.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
}

bool is_same(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
           a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// One change in progress. `hidden`, and whether the target is ours, determine how to undo it.
struct Move {
    const Change& change;
    Folder folder{};
    std::string hidden{};       // Next to the target; empty when there is none.
    bool hidden_is_old{false};  // It has the old file, else the new one.
    bool placed{false};         // The target has the new file.
};

struct MadeFolder {
    Folder parent;
    std::string name;
    std::string absolute;
};

class Sweep {
public:
    Sweep(const std::vector<Change>& changes, const Fault& fault) : fault_(fault) {
        moves_.reserve(changes.size());
        for (const auto& change : changes) moves_.push_back({.change = change});
    }

    Outcome<std::vector<std::string>> run() {
        if (auto done = execute(); !done) return undo(std::move(done).error());
        // Only a leftover file can result here, which is no reason to undo the change.
        for (const auto& move : moves_) {
            if (!move.hidden.empty()) ::unlinkat(move.folder->get(), move.hidden.c_str(), 0);
        }
        std::vector<std::string> folders;
        folders.reserve(made_.size());
        for (const auto& made : made_) folders.push_back(made.absolute);
        return folders;
    }

private:
    Outcome<void> execute() {
        for (auto& move : moves_) TRY(make_folders(move));
        for (auto& move : moves_) {
            if (move.change.after) TRY(stage(move));
        }
        for (auto& move : moves_) {
            if (!move.change.after) {
                TRY(set_aside(move));
            } else if (move.change.before) {
                TRY(exchange(move));
            } else {
                TRY(place(move));
            }
        }
        return {};
    }

    // True when `step` may continue; else errno is the fault that a test injects.
    bool may(Step step, const Move& move) const {
        errno = fault_ ? fault_(step, move.change.spot) : 0;
        return errno == 0;
    }

    Outcome<void> make_folders(Move& move) {
        const Spot& spot = move.change.spot;
        move.folder = spot.folder;
        std::filesystem::path absolute = spot.absolute;
        for (std::size_t i = 0; i <= spot.missing.size(); ++i) absolute = absolute.parent_path();
        for (const auto& name : spot.missing) {
            absolute /= name;
            if (may(Step::MakeFolder, move) &&
                ::mkdirat(move.folder->get(), name.c_str(), 0777) == 0) {
                made_.push_back({move.folder, name, absolute.string()});
            } else if (errno != EEXIST) {
                return system_failure("Making a folder of", spot.requested, errno);
            }
            auto folder = open_folder(move.folder, name);
            if (!folder) return system_failure("Opening a folder of", spot.requested, errno);
            move.folder = std::move(folder);
        }
        return {};
    }

    Outcome<void> stage(Move& move) {
        const Spot& spot = move.change.spot;
        const NewFile& file = *move.change.after;
        // A new file gets the default mode; a rewritten one starts private, as its bytes may be
        // secret until its mode is set.
        const mode_t mode = file.like ? 0600 : file.executable.value_or(false) ? 0777 : 0666;
        int fd = -1;
        for (int i = 0; fd < 0 && i < kNameAttemptsMax; ++i) {
            move.hidden = hidden_name();
            if (!may(Step::Stage, move)) break;
            fd = ::openat(move.folder->get(), move.hidden.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
            if (fd < 0 && errno != EEXIST) break;
        }
        if (fd < 0) {
            move.hidden.clear();
            return system_failure("Writing", spot.requested, errno);
        }
        const Descriptor staged(fd);
        if (!write_all(fd, file.bytes)) return system_failure("Writing", spot.requested, errno);
        if (file.like && !take_after(fd, file)) {
            return system_failure("Setting the mode of", spot.requested, errno);
        }
        return {};
    }

    static bool take_after(int fd, const NewFile& file) {
        const struct stat& like = *file.like;
        struct stat own{};
        if (::fstat(fd, &own) != 0) return false;
        mode_t mode = like.st_mode & 07777U;
        if (own.st_uid != like.st_uid || own.st_gid != like.st_gid) {
            // Only root may change the owner. Otherwise the file becomes ours, and must not keep a
            // setuid bit of its old owner.
            if (::fchown(fd, like.st_uid, like.st_gid) != 0) mode &= 0777U;
        }
        if (file.executable) mode = with_executable(mode, *file.executable);
        return ::fchmod(fd, mode) == 0;
    }

    // Renames without replacing, also where the file system cannot do that in one step.
    static bool rename_free(const Folder& folder, const std::string& from, const std::string& to,
                            bool one_step) {
        if (one_step) {
            if (::renameat2(folder->get(), from.c_str(), folder->get(), to.c_str(),
                            RENAME_NOREPLACE) == 0) {
                return true;
            }
            if (errno != EINVAL && errno != ENOSYS) return false;
        }
        struct stat status{};
        if (::fstatat(folder->get(), to.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
            errno = EEXIST;
            return false;
        }
        return ::renameat(folder->get(), from.c_str(), folder->get(), to.c_str()) == 0;
    }

    // Whether a step may be done as one; a fault other than EINVAL fails it.
    std::optional<bool> one_step(Step step, const Move& move) const {
        if (may(step, move)) return true;
        if (errno == EINVAL) return false;
        return std::nullopt;
    }

    Outcome<void> place(Move& move) {
        const Spot& spot = move.change.spot;
        const auto whole = one_step(Step::Place, move);
        if (!whole || !rename_free(move.folder, move.hidden, spot.name, *whole)) {
            if (errno == EEXIST) return changed(spot);
            return system_failure("Writing", spot.requested, errno);
        }
        move.hidden.clear();
        move.placed = true;
        return {};
    }

    Outcome<void> exchange(Move& move) {
        const Spot& spot = move.change.spot;
        const auto whole = one_step(Step::Exchange, move);
        if (!whole) return system_failure("Writing", spot.requested, errno);
        if (*whole && ::renameat2(move.folder->get(), move.hidden.c_str(), move.folder->get(),
                                  spot.name.c_str(), RENAME_EXCHANGE) == 0) {
            move.hidden_is_old = true;
            move.placed = true;
            return check_aside(move);
        }
        if (*whole && errno != EINVAL && errno != ENOSYS) {
            if (errno == ENOENT) return changed(spot);
            return system_failure("Writing", spot.requested, errno);
        }
        return exchange_in_two(move);
    }

    // For file systems that cannot exchange: the target is missing for a moment.
    Outcome<void> exchange_in_two(Move& move) {
        const Spot& spot = move.change.spot;
        const std::string staged = move.hidden;
        const auto drop_staged = [&] { ::unlinkat(move.folder->get(), staged.c_str(), 0); };
        move.hidden.clear();
        if (auto aside = set_aside(move); !aside) {
            drop_staged();
            return aside;
        }
        if (!rename_free(move.folder, staged, spot.name, false)) {
            const int error = errno;
            drop_staged();
            return system_failure("Writing", spot.requested, error);
        }
        move.placed = true;
        return {};
    }

    Outcome<void> set_aside(Move& move) {
        const Spot& spot = move.change.spot;
        const auto whole = one_step(Step::SetAside, move);
        if (!whole) return system_failure("Removing", spot.requested, errno);
        bool done = false;
        for (int i = 0; !done && i < kNameAttemptsMax; ++i) {
            move.hidden = hidden_name();
            done = rename_free(move.folder, spot.name, move.hidden, *whole);
            if (!done && errno != EEXIST) break;
        }
        if (!done) {
            move.hidden.clear();
            if (errno == ENOENT) return changed(spot);
            return system_failure("Removing", spot.requested, errno);
        }
        move.hidden_is_old = true;
        return check_aside(move);
    }

    // The file we now hold has to be the one that the patch was computed from.
    static Outcome<void> check_aside(const Move& move) {
        struct stat status{};
        if (::fstatat(move.folder->get(), move.hidden.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !is_same(status, *move.change.before)) {
            return changed(move.change.spot);
        }
        return {};
    }

    static Failure changed(const Spot& spot) {
        return failure("file_changed",
                       fmt::format("{} was changed by another process meanwhile.", spot.requested),
                       {{"path", base::to_utf8(spot.requested)}},
                       "Read the file again and make a new patch for what it has now.");
    }

    // Back to what was, last step first.
    Failure undo(domain::ToolError error) {
        json::array lost;
        for (auto& move : std::views::reverse(moves_)) {
            if (undo(move)) continue;
            lost.push_back({{"path", base::to_utf8(move.change.spot.absolute)},
                            {"old_bytes_in", base::to_utf8(move.hidden)}});
        }
        for (const auto& made : std::views::reverse(made_)) {
            ::unlinkat(made.parent->get(), made.name.c_str(), AT_REMOVEDIR);
        }
        json::object& details = error.details->as_object();
        details["rolled_back"] = lost.empty();
        error.message += lost.empty() ? " Everything already done was undone; no file has changed."
                                      : " Undoing failed as well: not all files are as they were.";
        if (!lost.empty()) details["not_restored"] = std::move(lost);
        return Failure(std::move(error));
    }

    static bool undo(const Move& move) {
        const std::string& name = move.change.spot.name;
        if (move.hidden.empty() && !move.placed) return true;
        const int folder = move.folder->get();
        // Rename takes the place of the new file in one step; nothing of it is kept.
        if (move.hidden_is_old) {
            return ::renameat(folder, move.hidden.c_str(), folder, name.c_str()) == 0;
        }
        const std::string& ours = move.placed ? name : move.hidden;
        return ::unlinkat(folder, ours.c_str(), 0) == 0;
    }

    const Fault& fault_;
    std::vector<Move> moves_{};
    std::vector<MadeFolder> made_{};
};

}  // namespace

mode_t with_executable(mode_t mode, bool executable) {
    return executable ? mode | ((mode & 0444U) >> 2U) : mode & ~mode_t{0111};
}

Outcome<std::vector<std::string>> sweep(const std::vector<Change>& changes, const Fault& fault) {
    return Sweep(changes, fault).run();
}

}  // namespace patch
