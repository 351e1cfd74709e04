#include "agent/homes/layout.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os/fs/open_path.h"

namespace homes {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

constexpr const char* kFolders[] = {
    "memory", "notes",        "work",          "work-items",     "skills",
    ".holon", ".holon/state", ".holon/ledger", ".holon/indexes", ".holon/cache"};

constexpr std::string_view kReadme = R"(# Agent home

This folder belongs to one agent of holon.

- `AGENTS.md`: the standing instructions of the agent. Edit it; the next turn reads it. Create it if it is missing.
- `memory/self.md`, `memory/operator.md`: what the agent keeps about itself and about its operator.
- `notes/`, `work/`: drafts and results of the agent.
- `work-items/`: the plans of its work items.
- `skills/`: its skills, each a folder with a `SKILL.md`.
- `.holon/`: belongs to the runtime. Leave it alone.
)";

base::Status make_folder(int root, const char* path) {
    if (::mkdirat(root, path, kFolderMode) == 0 || errno == EEXIST) return {};
    return base::fail_errno(std::string("make the folder ") + path);
}

// Writes `path` unless there is something of that name. It appears whole or not at all.
base::Status put_missing(int root, const fs::path& path, std::string_view text) {
    const auto folder = base::open_beneath(root, path.parent_path(), O_RDONLY | O_DIRECTORY);
    // The agent may have put a link there. That is its choice; nothing is written through it.
    if (!folder && folder.error().code == ErrorCode::Refused) return {};
    if (!folder) return std::unexpected(folder.error());
    const std::string name = path.filename().string();
    struct stat info{};
    if (::fstatat(folder->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) return {};
    const std::string fresh = "." + name + ".new";
    (void)::unlinkat(folder->get(), fresh.c_str(), 0);
    const base::Fd file =
        TRY(base::open_beneath(folder->get(), fresh, O_WRONLY | O_CREAT | O_EXCL, kFileMode));
    if (!base::write_all(file.get(), text) || ::fsync(file.get()) != 0)
        return base::fail_errno("write " + path.string());
    if (::syscall(SYS_renameat2, folder->get(), fresh.c_str(), folder->get(), name.c_str(),
                  RENAME_NOREPLACE) != 0) {
        const int why = errno;
        (void)::unlinkat(folder->get(), fresh.c_str(), 0);
        errno = why;
        if (why != EEXIST) return base::fail_errno("write " + path.string());
    }
    return {};
}

}  // namespace

base::Status fill(const fs::path& home, const HomeContent& content) {
    TRY(base::make_folders(home, kFolderMode));
    const base::Fd root(::open(home.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) return base::fail_errno("open " + home.string());
    for (const char* folder : kFolders) TRY(make_folder(root.get(), folder));
    if (content.agents_md) TRY(put_missing(root.get(), "AGENTS.md", *content.agents_md));
    TRY(put_missing(root.get(), "README.md", kReadme));
    TRY(put_missing(root.get(), "memory/self.md", "# Self\n"));
    TRY(put_missing(root.get(), "memory/operator.md", "# Operator\n"));
    for (const auto& tree : content.skills) TRY(skills::write_tree(home / "skills", tree));
    if (content.provenance)
        TRY(put_missing(root.get(), ".holon/state/template-provenance.json",
                        base::pretty_json(*content.provenance) + "\n"));
    if (::fsync(root.get()) != 0) return base::fail_errno("write " + home.string());
    return {};
}

bool is_blank(const fs::path& home) {
    std::error_code failed;
    if (fs::symlink_status(home, failed).type() == fs::file_type::not_found) return true;
    if (!fs::is_directory(fs::symlink_status(home, failed))) return false;
    for (const auto& entry : fs::directory_iterator(home, failed)) {
        if (entry.path().filename() != ".holon") return false;
        for (const auto& inner : fs::directory_iterator(entry.path(), failed))
            if (inner.path().filename() != "run.lock") return false;
    }
    return !failed;
}

}  // namespace homes
