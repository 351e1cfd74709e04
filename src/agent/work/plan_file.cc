#include "agent/work/plan_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/os/fs/open_path.h"
#include "base/text.h"

namespace work {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

// The time of the file's last change; the epoch when it is missing.
base::Time changed_at(const fs::path& path) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) return {};
    return base::from_micros(info.st_mtim.tv_sec * 1'000'000 + info.st_mtim.tv_nsec / 1'000);
}

// Opens the folder `name` beneath `parent`, which is made when it is missing. A link is refused.
base::Result<base::Fd> open_folder(int parent, const std::string& name) {
    if (::mkdirat(parent, name.c_str(), kFolderMode) != 0 && errno != EEXIST)
        return base::fail_errno("make the folder " + name);
    return base::open_beneath(parent, name, O_RDONLY | O_DIRECTORY);
}

}  // namespace

std::string plan_path(const domain::WorkItemId& id) {
    return "work-items/" + id.value + "/plan.md";
}

base::Result<domain::PlanArtifact> read_plan(const fs::path& home, const domain::AgentId& agent,
                                             const domain::WorkItemId& id) {
    const std::string relative = plan_path(id);
    auto bytes = base::read_file_beneath(home, relative, kPlanBytesMax);
    if (!bytes && bytes.error().code == ErrorCode::NotFound) bytes = std::string();
    if (!bytes) return std::unexpected(bytes.error());
    domain::PlanArtifact artifact{.owner_agent_id = agent,
                                  .workspace_id = "agent_home:" + agent.value,
                                  .workspace_alias = "agent_home",
                                  .relative_path = relative,
                                  .path = (fs::absolute(home) / relative).string(),
                                  .hash = "sha256:" + base::sha256_hex(*bytes),
                                  .bytes = std::ssize(*bytes),
                                  .updated_at = changed_at(home / relative)};
    const std::string text = base::to_utf8(*bytes);
    artifact.preview = std::string(base::first_chars(text, kPlanPreviewChars));
    artifact.preview_complete = artifact.preview.size() == text.size();
    return artifact;
}

base::Status write_plan(const fs::path& home, const domain::WorkItemId& id, std::string_view text) {
    if (text.size() > kPlanBytesMax)
        return base::fail(ErrorCode::InvalidInput, "the plan has {} bytes; the limit is {}",
                          text.size(), kPlanBytesMax);
    TRY(base::make_folders(home, kFolderMode));
    const base::Fd root(::open(home.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) return base::fail_errno("open " + home.string());
    const base::Fd items = TRY(open_folder(root.get(), "work-items"));
    const base::Fd folder = TRY(open_folder(items.get(), id.value));
    if (const auto there = base::open_beneath(folder.get(), "plan.md", O_PATH); there) {
        struct stat info{};
        if (::fstat(there->get(), &info) != 0 || !S_ISREG(info.st_mode))
            return base::fail(ErrorCode::InvalidInput, "{} is not a regular file",
                              (home / plan_path(id)).string());
    } else if (there.error().code != ErrorCode::NotFound) {
        return std::unexpected(there.error());
    }
    // Readers see the old plan or the new one.
    const std::string fresh = ".plan.md.new";
    (void)::unlinkat(folder.get(), fresh.c_str(), 0);
    const base::Fd file =
        TRY(base::open_beneath(folder.get(), fresh, O_WRONLY | O_CREAT | O_EXCL, kFileMode));
    if (!base::write_all(file.get(), text) || ::fsync(file.get()) != 0)
        return base::fail_errno("write the plan of " + id.value);
    if (::renameat(folder.get(), fresh.c_str(), folder.get(), "plan.md") != 0)
        return base::fail_errno("write the plan of " + id.value);
    return {};
}

}  // namespace work
