#include "exec/tools/vault/changes/write.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "exec/tools/vault/changes/rename.h"
#include "exec/tools/vault/names.h"
#include "exec/tools/vault/walk.h"

namespace vault {
namespace {

constexpr mode_t kNewMode = 0666;  // Less the umask, as any program makes files.
constexpr mode_t kPrivateMode = 0600;
constexpr int kConflictNamesMax = 100;

constexpr std::string_view kByHand = "Look at it and restore by hand what you want back.";
constexpr std::string_view kReadAgain = "Read it again and decide anew.";

// A name next to the file that says whose it is: that of the call, or of this process where no call
// is recorded.
std::string temporary_name(const Means& means) {
    static std::atomic<unsigned> next{0};
    const std::string owner = means.intents ? means.intents->call() : std::to_string(::getpid());
    return fmt::format("{}{}-{}", kTemporaryPrefix, owner, next++);
}

std::string proc_path(int fd) {
    return fmt::format("/proc/self/fd/{}", fd);
}

bool is_same(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool is_at(const Spot& spot, const std::string& name, const struct stat& file) {
    struct stat now{};
    return ::fstatat(spot.fd(), name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 && is_same(now, file);
}

// A file with its whole content that is not at its path yet. Without a name it needs none to be
// removed; on file systems that cannot do that it has a temporary one from the start.
struct NewFile {
    base::Fd file;
    struct stat status{};
    bool has_name{false};
};

Outcome<NewFile> make_file(const Means& means, const Spot& spot, mode_t mode,
                           std::string_view bytes, Intent& intent, const std::string& temporary) {
    NewFile made;
    const auto& path = intent.entry.path;
    made.file.reset(::openat(spot.fd(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
    if (!made.file && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        intent.temporary = join(folder_of(path), temporary);
        TRY(note(means, intent));
        made.file.reset(::openat(spot.fd(), temporary.c_str(),
                                 O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
        made.has_name = static_cast<bool>(made.file);
    }
    if (!made.file) return refused("Creating a file next to", path, errno);
    if (!base::write_all(made.file.get(), bytes) || ::fstat(made.file.get(), &made.status) != 0) {
        const int why = errno;
        if (made.has_name) ::unlinkat(spot.fd(), temporary.c_str(), 0);
        return broken("Writing", path, why);
    }
    intent.device = made.status.st_dev;
    intent.inode = made.status.st_ino;
    return made;
}

// Gives the file a name that is free. errno on failure.
bool put_at(const Spot& spot, const NewFile& made, const std::string& temporary,
            const std::string& name) {
    if (made.has_name) return rename_to_free(spot, temporary, spot, name);
    return ::linkat(AT_FDCWD, proc_path(made.file.get()).c_str(), spot.fd(), name.c_str(),
                    AT_SYMLINK_FOLLOW) == 0;
}

Outcome<void> flush_file(int file, std::string_view path) {
    if (::fsync(file) != 0) return broken("Flushing", path, errno);
    return {};
}

// A lock on a file that only this call knows yet, through a descriptor that cannot write.
base::Fd lock_new(const NewFile& made) {
    base::Fd file(::open(proc_path(made.file.get()).c_str(), O_RDONLY | O_CLOEXEC));
    if (file) ::flock(file.get(), LOCK_EX | LOCK_NB);
    return file;
}

// Gives a version that belongs to nobody here a name of its own, so that it is not lost.
std::string keep_aside(const Spot& spot, const std::string& temporary) {
    const std::size_t dot = spot.name.rfind('.');
    const std::size_t stem = dot == std::string::npos || dot == 0 ? spot.name.size() : dot;
    for (int number = 1; number <= kConflictNamesMax; ++number) {
        const std::string name = fmt::format(
            "{} (conflict{}){}", spot.name.substr(0, stem),
            number == 1 ? std::string() : fmt::format(" {}", number), spot.name.substr(stem));
        if (rename_to_free(spot, temporary, spot, name)) return name;
        if (errno != EEXIST) break;
    }
    return temporary;
}

// A conflict in which a version was given another name. It is for a person to look at: the call is
// not decided again.
Failure conflict_kept(const Spot& spot, const std::string& temporary, std::string_view path) {
    const std::string kept = join(folder_of(path), keep_aside(spot, temporary));
    auto failure = conflict(
        path, fmt::format("was changed by other programs; one version is in {}", shown(kept)),
        kByHand);
    failure.error().details->get_object()["kept"] = shown(kept);
    return failure;
}

// The file that was replaced is not the one that was read: it goes back to its path.
Outcome<void> undo_exchange(const Spot& spot, const NewFile& made, const std::string& temporary,
                            const ModifyFile& step) {
    if (::renameat2(spot.fd(), temporary.c_str(), spot.fd(), spot.name.c_str(), RENAME_EXCHANGE) !=
        0) {
        // Its path was cleared meanwhile.
        if (rename_to_free(spot, temporary, spot, spot.name))
            return conflict(step.path, "was just changed by another program", kReadAgain);
        return conflict_kept(spot, temporary, step.path);
    }
    const auto came_out = read_open(made.file.get(), step.path);
    if (is_at(spot, temporary, made.status) && came_out && came_out->bytes == step.after) {
        ::unlinkat(spot.fd(), temporary.c_str(), 0);
        return conflict(step.path, "was just changed by another program", kReadAgain);
    }
    return conflict_kept(spot, temporary, step.path);
}

// Puts the new file in place of the one that was read. `old` is that one, open and locked.
Outcome<void> exchange(const Spot& spot, const NewFile& made, const std::string& temporary, int old,
                       const ModifyFile& step) {
    const WriteGuard guard(old);
    if (guard.is_busy()) return busy(step.path);
    const Content read = TRY(read_open(old, step.path));
    if (read.bytes != step.before)
        return conflict(step.path, "has changed since it was read", kReadAgain);
    if (!made.has_name && !put_at(spot, made, temporary, temporary))
        return refused("Creating a file next to", step.path, errno);
    if (::renameat2(spot.fd(), temporary.c_str(), spot.fd(), spot.name.c_str(), RENAME_EXCHANGE) !=
        0) {
        // Some file systems cannot exchange; there the check before the rename is the last one.
        if (errno == EINVAL &&
            ::renameat(spot.fd(), temporary.c_str(), spot.fd(), spot.name.c_str()) == 0)
            return {};
        const int why = errno;
        ::unlinkat(spot.fd(), temporary.c_str(), 0);
        return refused("Replacing", step.path, why);
    }
    const auto is_unchanged = [&] {
        if (guard.is_held()) return !guard.is_wanted();
        const auto now = read_open(old, step.path);
        return now && now->bytes == step.before;
    };
    if (!is_at(spot, temporary, read.status) || !is_unchanged())
        return undo_exchange(spot, made, temporary, step);
    ::unlinkat(spot.fd(), temporary.c_str(), 0);
    return {};
}

// Owner and mode of the file that is replaced. The owner may differ only when we are allowed to set
// it; otherwise the file becomes ours.
Outcome<void> copy_rights(int old, const NewFile& made, std::string_view path) {
    struct stat status{};
    if (::fstat(old, &status) != 0) return refused("Looking at", path, errno);
    if ((status.st_uid != ::geteuid() || status.st_gid != ::getegid()) &&
        ::fchown(made.file.get(), status.st_uid, status.st_gid) != 0 && errno != EPERM)
        return broken("Setting the owner of", path, errno);
    if (::fchmod(made.file.get(), status.st_mode & 07777U) != 0)
        return broken("Setting the mode of", path, errno);
    return {};
}

}  // namespace

Outcome<void> flush_folder(const Spot& spot, std::string_view path) {
    if (::fsync(spot.fd()) != 0) return broken("Flushing the folder of", path, errno);
    return {};
}

Outcome<void> note(const Means& means, const Intent& intent) {
    if (!means.intents) return {};
    return means.intents->add(intent);
}

Outcome<std::int64_t> create_file(const Means& means, const CreateFile& step,
                                  const UndoEntry& entry) {
    const Spot spot = TRY(means.root.spot(step.path));
    Intent intent{.entry = entry};
    const std::string temporary = temporary_name(means);
    const NewFile made = TRY(make_file(means, spot, kNewMode, step.bytes, intent, temporary));
    TRY(note(means, intent));
    if (!put_at(spot, made, temporary, spot.name)) {
        const int why = errno;
        if (made.has_name) ::unlinkat(spot.fd(), temporary.c_str(), 0);
        return refused("Creating", step.path, why);
    }
    // Flushed under its name: one write of the file system's journal then covers both.
    auto done = flush_file(made.file.get(), step.path);
    if (done) done = flush_folder(spot, step.path);
    if (!done && is_at(spot, spot.name, made.status)) ::unlinkat(spot.fd(), spot.name.c_str(), 0);
    TRY(done);
    return mtime_ms(made.status);
}

Outcome<std::int64_t> replace_file(const Means& means, const ModifyFile& step,
                                   const UndoEntry& entry) {
    const int old = TRY(means.locks.file(means.root, step.path));
    const Spot spot = TRY(means.root.spot(step.path));
    Intent intent{.entry = entry};
    const std::string temporary = temporary_name(means);
    const NewFile made = TRY(make_file(means, spot, kPrivateMode, step.after, intent, temporary));
    intent.temporary = join(folder_of(step.path), temporary);
    auto done = copy_rights(old, made, step.path);
    if (done) done = flush_file(made.file.get(), step.path);
    if (done) done = note(means, intent);
    base::Fd lock = lock_new(made);
    if (done) done = exchange(spot, made, temporary, old, step);
    if (!done) {
        if (is_at(spot, temporary, made.status)) ::unlinkat(spot.fd(), temporary.c_str(), 0);
        return std::unexpected(std::move(done).error());
    }
    means.locks.replaced(step.path, std::move(lock));
    TRY(flush_folder(spot, step.path));
    return mtime_ms(made.status);
}

Outcome<void> move_path(const Means& means, const Move& step, const UndoEntry& entry) {
    const Spot old = TRY(means.root.spot(step.from));
    const Spot now = TRY(means.root.spot(step.to));
    const Seen seen = TRY(means.root.look(step.from));
    if (seen.kind == Kind::File) TRY(means.locks.file(means.root, step.from));
    TRY(note(means, {.entry = entry, .device = seen.status.st_dev, .inode = seen.status.st_ino}));
    if (!rename_to_free(old, old.name, now, now.name)) {
        // Here it means another file system below the vault, not a way out of it.
        if (errno == EXDEV)
            return unfit(step.to, "lies on another file system than what is moved",
                         "Copy the file and delete the old one.");
        if (errno == EINVAL)
            return unfit(step.to, "lies inside the folder that is moved", "Choose another target.");
        return refused("Renaming", errno == ENOENT ? step.from : step.to, errno);
    }
    means.locks.moved(step.from, step.to);
    TRY(flush_folder(now, step.to));
    return flush_folder(old, step.from);
}

Outcome<void> remove_file(const Means& means, const RemoveFile& step, UndoEntry& entry,
                          const std::function<Outcome<void>(const std::string& bytes)>& keep) {
    const int file = TRY(means.locks.file(means.root, step.path));
    const Spot spot = TRY(means.root.spot(step.path));
    const std::string temporary = temporary_name(means);
    Content content = TRY(read_open(file, step.path));
    if (etag(content.bytes) != step.etag) return conflict(step.path, "has changed since", kByHand);
    TRY(keep(content.bytes));
    TRY(note(means, {.entry = entry,
                     .temporary = join(folder_of(step.path), temporary),
                     .device = content.status.st_dev,
                     .inode = content.status.st_ino}));
    const WriteGuard guard(file);
    if (guard.is_busy()) return busy(step.path);
    // Out of everybody's reach first, so that exactly the checked file is removed.
    if (!rename_to_free(spot, spot.name, spot, temporary))
        return refused("Removing", step.path, errno);
    const auto now = read_open(file, step.path);
    const bool is_unchanged = is_at(spot, temporary, content.status) && now &&
                              now->bytes == content.bytes &&
                              (!guard.is_held() || !guard.is_wanted());
    if (!is_unchanged) {
        if (!rename_to_free(spot, temporary, spot, spot.name))
            return conflict_kept(spot, temporary, step.path);
        return conflict(step.path, "has changed since", kByHand);
    }
    if (::unlinkat(spot.fd(), temporary.c_str(), 0) != 0)
        return broken("Removing", step.path, errno);
    means.locks.forget(step.path);
    return flush_folder(spot, step.path);
}

}  // namespace vault
