// The files below one root, reached through folder descriptors only: a path that was found to lie
// inside is never resolved again by name, so nothing can be swapped in between check and use.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/tools/patch/errors.h"
#include "exec/tools/patch/patch.h"

namespace patch {

class Descriptor {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor();
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }

private:
    int fd_;
};
using Folder = std::shared_ptr<const Descriptor>;

// Where a path of the patch leads. The file itself need not exist, nor its last folders.
struct Spot {
    std::string requested;             // As the patch writes it.
    std::string absolute;              // For people and results; never opened.
    Folder folder;                     // The deepest folder on the way that exists.
    std::vector<std::string> missing;  // The folders below it that do not.
    std::string name;                  // The file's own name.
    std::string key;                   // Equal for two spots exactly when they are the same file.
    bool exists{false};                // A regular file is there.
};

// A regular file as it was read.
struct OldFile {
    std::string bytes;
    struct stat status{};
};

class Tree {
public:
    static Outcome<Tree> open(const Place& place);

    // Resolves links in folders. `path_escape` when the path or a link leads out of the root,
    // `policy_denied` when it leads into a folder of git, `unsupported_file_type` when a link,
    // folder or device is at its end.
    Outcome<Spot> locate(const std::string& requested) const;

    // `missing_file` when nothing is there; `action` is what the patch wanted to do with it.
    Outcome<OldFile> read(const Spot& spot, std::string_view action) const;

private:
    Tree(Place place, std::filesystem::path real_root, Folder root)
        : place_(std::move(place)), real_root_(std::move(real_root)), root_(std::move(root)) {}
    Outcome<void> walk(std::vector<std::string> components, Spot& spot) const;
    Failure escape(const Spot& spot, std::string_view leads_to) const;
    json::object path_details(const Spot& spot, std::string_view resolved) const;

    Place place_;
    std::filesystem::path real_root_;
    Folder root_;
};

// A step that the operating system refused, as the untyped `tool_execution_failed`.
Failure system_failure(std::string_view doing, std::string_view path, int error);

// Opens the folder `name` in `parent` without following a link. errno says why it could not.
Folder open_folder(const Folder& parent, const std::string& name);

}  // namespace patch
