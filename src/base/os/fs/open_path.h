// Opening files that others may have tampered with: no symbolic link is followed, nothing outside
// the given folder is reached, and what was opened is compared by its identity, not by its name.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

#include "base/os/files.h"

namespace base {

// What a name meant when it was opened. Two descriptors with equal ids are the same file or folder,
// as long as one of them is open.
struct FileId {
    std::uint64_t device{0};
    std::uint64_t inode{0};
    friend bool operator==(const FileId&, const FileId&) = default;
};
// The id of an open file.
Result<FileId> file_id(int fd);

// Opens the absolute `path` with `flags` (O_CLOEXEC is added). No component of it may be a symbolic
// link or `..`: Refused, with the path in the message. NotFound when it is missing, otherwise the
// error of open(). Blocks on the file system; any thread.
Result<Fd> open_without_links(const std::filesystem::path& path, int flags, mode_t mode = 0);

// The same for a relative path that must stay beneath the open folder `root`; an empty path or "."
// is the folder itself.
Result<Fd> open_beneath(int root, const std::filesystem::path& path, int flags, mode_t mode = 0);

// `path` with its links resolved, as std::filesystem::weakly_canonical() does it, but in two system
// calls where an absolute path has none. Blocks on the file system; any thread.
std::filesystem::path real_path(const std::filesystem::path& path, std::error_code& failed);

// What happens at a symbolic link beneath the root: it is refused, or followed as long as it leads
// to something beneath the root.
enum class Links { Refuse, FollowBeneath };

// Opens a regular file beneath `root`, a folder path that may itself contain links, for reading.
// Fails as open_beneath() does; a folder, pipe or device is InvalidInput and never blocks.
Result<Fd> open_file_beneath(const std::filesystem::path& root, const std::filesystem::path& path,
                             Links links = Links::Refuse);

// The content of such a file. Fails as open_file_beneath() and read_file() do.
Result<std::string> read_file_beneath(const std::filesystem::path& root,
                                      const std::filesystem::path& path, std::size_t bytes_max,
                                      Links links = Links::Refuse);

}  // namespace base
