// One folder of notes, reached through descriptors only. Every name is resolved by the kernel below
// the root (openat2, RESOLVE_BENEATH) and then used through the descriptor that came of it, so
// nothing can be swapped in between check and use. Everything here blocks; any thread may use it.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

class Root {
public:
    static Outcome<Root> open(const std::filesystem::path& path);

    // Paths below are relative, as vault::join writes them; "" is the root. Links on the way are
    // followed as long as they stay inside.
    Outcome<base::Fd> folder(std::string_view path) const;
    // The folder that holds `path`, which itself need not exist, to change something in it: never
    // one of version control.
    Outcome<Spot> spot(std::string_view path) const;
    // The kind of the entry; a link at the end is not followed. A missing folder on the way is
    // Missing too.
    Outcome<Seen> look(std::string_view path) const;
    // A regular file as it is, within `bytes_max`; a link at the end is followed inside the vault
    // unless `follow` is false. Pipes, devices and folders are PRECONDITION_FAILED.
    Outcome<Content> read(std::string_view path, std::size_t bytes_max = kFileBytesMax,
                          bool follow = true) const;

private:
    explicit Root(base::Fd fd) : fd_(std::make_shared<const base::Fd>(std::move(fd))) {}
    int open_below(std::string_view path, int flags) const;  // -1 and errno.

    std::shared_ptr<const base::Fd> fd_;
};

// As Root::read, of what `spot` names; a link is not followed. `path` is for messages.
Outcome<Content> read_at(const Spot& spot, std::string_view path,
                         std::size_t bytes_max = kFileBytesMax);

// "sha256:" and the digest of the content.
std::string etag(std::string_view bytes);

Kind kind_of(const struct stat& status);

}  // namespace vault
