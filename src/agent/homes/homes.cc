#include "agent/homes/homes.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/homes/builtin_templates.h"
#include "agent/homes/layout.h"
#include "agent/identity/agent_lock.h"
#include "base/log/log.h"
#include "base/os/fs/open_path.h"
#include "base/text.h"
#include "domain/agent.h"

namespace homes {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;

constexpr const char* kBuilt = "home";
constexpr const char* kPublished = "published";
constexpr std::size_t kPublishedBytesMax = 128;

// The folder itself, whatever its name is by now.
std::string identity_of(const fs::path& folder) {
    struct stat info{};
    if (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return "";
    return fmt::format("{} {}", static_cast<std::uint64_t>(info.st_dev),
                       static_cast<std::uint64_t>(info.st_ino));
}

// Removes what a creation has made: the staging folder, and the home if it came from there.
void undo(const fs::path& staging, const fs::path& home) {
    std::error_code failed;
    const auto published = base::read_file_beneath(staging, kPublished, kPublishedBytesMax);
    if (published && !published->empty() && *published == identity_of(home))
        fs::remove_all(home, failed);
    fs::remove_all(staging, failed);
}

json::object provenance_of(std::string_view selector, const Template& made, base::Time now) {
    return {{"selector", selector}, {"source", made.source}, {"applied_at", base::to_text(now)}};
}

base::Result<HomeContent> content_of(const TemplateSources& sources, const std::string& selector,
                                     base::Time now) {
    auto made = TRY(load_template(sources, selector));
    HomeContent content{.skills = TRY(load_skills(sources, made.skill_refs)),
                        .provenance = provenance_of(selector, made, now)};
    content.agents_md = std::move(made.agents_md);
    return content;
}

// Moves the built home into place. What taking the lock of the agent has left there goes.
base::Status publish(const fs::path& built, const fs::path& home) {
    std::error_code failed;
    TRY(base::make_folders(home.parent_path(), 0700));
    if (is_blank(home)) fs::remove_all(home, failed);
    if (::syscall(SYS_renameat2, AT_FDCWD, built.c_str(), AT_FDCWD, home.c_str(),
                  RENAME_NOREPLACE) != 0)
        return base::fail_errno("make " + home.string());
    const base::Fd parent(::open(home.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!parent || ::fsync(parent.get()) != 0) return base::fail_errno("make " + home.string());
    return {};
}

}  // namespace

Creation::~Creation() {
    if (!staging_.empty()) undo(staging_, home_);
}

Creation::Creation(Creation&& other) noexcept
    : lock_(std::move(other.lock_)),
      staging_(std::exchange(other.staging_, {})),
      home_(std::exchange(other.home_, {})) {}

Creation& Creation::operator=(Creation&& other) noexcept {
    std::swap(lock_, other.lock_);
    std::swap(staging_, other.staging_);
    std::swap(home_, other.home_);
    return *this;
}

void Creation::keep() {
    std::error_code failed;
    if (!staging_.empty()) fs::remove_all(std::exchange(staging_, {}), failed);
}

fs::path Homes::staging_of(const domain::AgentId& agent) const {
    return parts_.holon_home / "staging" / agent.value;
}

void Homes::prepare(const std::function<bool(const domain::AgentId&)>& is_known) {
    if (parts_.holon_home.empty()) return;
    std::call_once(prepared_, [&] {
        sweep(is_known);
        if (parts_.templates.folder.empty()) return;
        if (const auto seeded = seed_templates(parts_.templates.folder); !seeded)
            base::log_warn("the builtin templates could not be written to {}: {}",
                           parts_.templates.folder.string(), seeded.error().message);
    });
}

void Homes::sweep(const std::function<bool(const domain::AgentId&)>& is_known) const {
    std::error_code failed;
    std::vector<domain::AgentId> left;
    for (const auto& entry : fs::directory_iterator(parts_.holon_home / "staging", failed))
        left.push_back({entry.path().filename().string()});
    for (const auto& agent : left) {
        if (!domain::is_agent_id(agent.value)) continue;
        const fs::path staging = staging_of(agent);
        const auto lock = identity::lock_folder(staging, "the creation of agent " + agent.value);
        if (!lock) continue;  // Another process is at it.
        if (is_known(agent))
            fs::remove_all(staging, failed);
        else
            undo(staging, parts_.home_of(agent));
    }
}

base::Result<Creation> Homes::create(const domain::AgentId& agent,
                                     const std::optional<std::string>& selector, base::Time now) {
    const fs::path home = parts_.home_of(agent);
    HomeContent content;
    if (selector)
        content = TRY(content_of(parts_.templates, *selector, now));
    else if (agent.value == parts_.default_agent)
        content = TRY(content_of(parts_.templates, std::string(kDefaultTemplate), now));
    Creation made;
    if (parts_.holon_home.empty()) {
        TRY(fill(home, content));
        return made;
    }
    const fs::path staging = staging_of(agent);
    made.lock_ = TRY(identity::lock_folder(staging, "the creation of agent " + agent.value));
    undo(staging, home);  // What an earlier try has left.
    made.lock_ = TRY(identity::lock_folder(staging, "the creation of agent " + agent.value));
    made.staging_ = staging;
    made.home_ = home;
    if (!is_blank(home)) {
        if (selector)
            return fail(ErrorCode::Conflict,
                        "{} has files already, and a template is applied to a new home only; move "
                        "them away, or create the agent without a template",
                        base::printable(home.string()));
        TRY(fill(home, content));
        return made;
    }
    TRY(fill(staging / kBuilt, content));
    TRY(base::write_file_atomic(staging / kPublished, identity_of(staging / kBuilt), 0600));
    TRY(publish(staging / kBuilt, home));
    return made;
}

base::Status Homes::complete(const domain::AgentId& agent) {
    HomeContent content;
    const fs::path home = parts_.home_of(agent);
    std::error_code failed;
    if (agent.value == parts_.default_agent &&
        fs::symlink_status(home / "AGENTS.md", failed).type() == fs::file_type::not_found)
        content.agents_md =
            TRY(load_template(parts_.templates, std::string(kDefaultTemplate))).agents_md;
    return fill(home, content);
}

std::vector<CatalogueEntry> Homes::templates() const {
    return list_templates(parts_.templates.folder);
}

}  // namespace homes
