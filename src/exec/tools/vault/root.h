// One folder of notes, reached through descriptors only. Every name is resolved by the kernel below
// the root (openat2, RESOLVE_BENEATH) and then used through the descriptor that came of it, so
// nothing can be swapped in between check and use. Everything here blocks; any thread may use it.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/files.h"
#include "exec/tools/vault/errors.h"

namespace vault {

// Larger files are neither read nor hashed.
inline constexpr std::size_t kFileBytesMax = 64 * 1024 * 1024;

enum class Kind { Missing, File, Folder, Link, Special };

struct Seen {
    Kind kind{Kind::Missing};
    struct stat status{};
};

// An open folder, and a name in it. The name is one component and never "..".
struct Spot {
    std::shared_ptr<const base::Fd> folder;  // Shared with the root where it is the root.
    std::string name;
    int fd() const { return folder->get(); }
};

struct Content {
    std::string bytes;
    struct stat status{};
};

// What of a vault a call may touch. What it may not is neither read, changed nor listed.
struct Permit {
    std::function<bool(std::string_view path)> allows;
    std::function<bool(std::string_view folder)> leads_to_allowed;
};

class Overlay;

class Root {
public:
    // Without a permit everything inside may be touched. With an overlay, look(), read(),
    // is_folder() and children() show the vault as that leaves it; everything else is about the
    // disk.
    static Outcome<Root> open(const std::filesystem::path& path,
                              std::shared_ptr<const Permit> permit = nullptr,
                              std::shared_ptr<const Overlay> overlay = nullptr);
    bool is_pretended() const { return overlay_ != nullptr; }

    // False: a listing leaves it out. A folder may be entered for what is below it.
    bool allows(std::string_view path) const { return !permit_ || permit_->allows(path); }
    bool may_enter(std::string_view folder) const {
        return !permit_ || permit_->allows(folder) || permit_->leads_to_allowed(folder);
    }

    // Paths below are relative, as vault::join writes them; "" is the root. Links on the way are
    // followed as long as they stay inside.
    Outcome<base::Fd> folder(std::string_view path) const;
    // Is there a folder, or a link to one? An error as of folder().
    Outcome<void> is_folder(std::string_view path) const;
    // The names in a folder, unsorted, without "." and "..".
    Outcome<std::vector<std::string>> children(std::string_view path) const;
    // The entry itself, open for reading: never a link, and never a wait for a pipe.
    Outcome<base::Fd> file(std::string_view path) const;
    // The folder that holds `path`, which itself need not exist, to change something in it: never
    // one of version control.
    Outcome<Spot> spot(std::string_view path) const;
    // The kind of the entry; a link at the end is not followed. A missing folder on the way is
    // Missing too.
    Outcome<Seen> look(std::string_view path) const;
    // A regular file as it is, within `bytes_max`; a link at the end is followed inside the vault
    // unless `follow` is false. Pipes, devices and folders are PRECONDITION_FAILED. The bytes are
    // one version of the file: one that is written to meanwhile is read again, and is busy() when
    // that does not end.
    Outcome<Content> read(std::string_view path, std::size_t bytes_max = kFileBytesMax,
                          bool follow = true) const;

private:
    Root(base::Fd fd, std::shared_ptr<const Permit> permit, std::shared_ptr<const Overlay> overlay)
        : fd_(std::make_shared<const base::Fd>(std::move(fd))),
          permit_(std::move(permit)),
          overlay_(std::move(overlay)) {}
    Outcome<Seen> look_on_disk(std::string_view path) const;
    Outcome<Content> read_on_disk(std::string_view path, std::size_t bytes_max, bool follow) const;
    int open_below(std::string_view path, int flags) const;  // -1 and errno.
    // The file behind the descriptor, which links may have led to, is one that may be touched.
    Outcome<void> check_opened(int fd, std::string_view path) const;

    std::shared_ptr<const base::Fd> fd_;
    std::shared_ptr<const Permit> permit_;
    std::shared_ptr<const Overlay> overlay_;
};

// As Root::read, of a file that is open. `path` is for messages.
Outcome<Content> read_open(int file, std::string_view path, std::size_t bytes_max = kFileBytesMax);

// "sha256:" and the digest of the content.
std::string etag(std::string_view bytes);

Kind kind_of(const struct stat& status);
std::int64_t mtime_ms(const struct stat& status);  // Since 1970.

}  // namespace vault
