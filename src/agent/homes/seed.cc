#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>

#include "agent/homes/builtin_templates.h"
#include "agent/homes/marker.h"
#include "agent/homes/templates.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/os/fs/open_path.h"

namespace homes {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFreshPrefix = ".holon-new-";
constexpr std::size_t kMarkerBytesMax = 4096;
constexpr std::chrono::minutes kLeftoverAge{10};

bool is_missing_or_empty(const fs::path& folder) {
    std::error_code failed;
    if (fs::symlink_status(folder, failed).type() == fs::file_type::not_found) return true;
    return fs::is_directory(folder, failed) && fs::is_empty(folder, failed) && !failed;
}

// Does the folder hold anything that this program did not write?
bool has_other_files(const fs::path& folder) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder, failed)) {
        const auto name = entry.path().filename();
        if (name != "AGENTS.md" && name != "skills.json" && name != kMarkerFile) return true;
    }
    return static_cast<bool>(failed);
}

bool must_be_written(const fs::path& folder, const BuiltinTemplate& builtin,
                     const std::string& hash) {
    if (is_missing_or_empty(folder)) return true;
    const auto seeded = read_seeded(folder);
    if (!seeded || seeded->marker.template_id != builtin.id) return false;
    if (has_other_files(folder)) return false;
    const bool is_current =
        seeded->marker.version == kBuiltinVersion && seeded->marker.content_hash == hash;
    return seeded->is_unchanged ? !is_current : !seeded->has_agents_md;
}

// Puts `fresh` in the place of `folder`, which readers see as it was or as it is now.
base::Status put_in_place(const fs::path& fresh, const fs::path& folder) {
    std::error_code failed;
    if (::rename(fresh.c_str(), folder.c_str()) == 0) return {};  // It was missing or empty.
    if (::syscall(SYS_renameat2, AT_FDCWD, fresh.c_str(), AT_FDCWD, folder.c_str(),
                  RENAME_EXCHANGE) != 0)
        return base::fail_errno("write " + folder.string());
    fs::remove_all(fresh, failed);
    return {};
}

base::Status write_template(const fs::path& root, const BuiltinTemplate& builtin,
                            const std::string& hash) {
    std::string pattern = (root / (std::string(kFreshPrefix) + "XXXXXX")).string();
    if (!::mkdtemp(pattern.data())) return base::fail_errno("make a folder in " + root.string());
    const fs::path fresh(pattern);
    const auto written = [&]() -> base::Status {
        if (::chmod(fresh.c_str(), 0755) != 0) return base::fail_errno("prepare " + fresh.string());
        TRY(base::write_file_atomic(fresh / "AGENTS.md", builtin.agents_md, 0644));
        if (!builtin.skills_json.empty())
            TRY(base::write_file_atomic(fresh / "skills.json", builtin.skills_json, 0644));
        const Marker marker{std::string(builtin.id), kBuiltinVersion, hash};
        TRY(base::write_file_atomic(fresh / kMarkerFile,
                                    base::pretty_json(base::to_json(marker)) + "\n", 0644));
        return put_in_place(fresh, root / builtin.id);
    }();
    std::error_code failed;
    if (!written) fs::remove_all(fresh, failed);
    return written;
}

// What a process that died has left; a young one may belong to another process.
void remove_leftovers(const fs::path& root) {
    std::error_code failed;
    const auto old = fs::file_time_type::clock::now() - kLeftoverAge;
    std::vector<fs::path> left;
    for (const auto& entry : fs::directory_iterator(root, failed))
        if (entry.path().filename().string().starts_with(kFreshPrefix) &&
            fs::last_write_time(entry.path(), failed) < old)
            left.push_back(entry.path());
    for (const auto& path : left) fs::remove_all(path, failed);
}

}  // namespace

std::string content_hash(std::string_view agents_md, std::string_view skills_json) {
    std::string text = fmt::format("AGENTS.md\n{}", agents_md);
    if (!skills_json.empty()) text += fmt::format("\nskills.json\n{}", skills_json);
    return base::sha256_hex(text);
}

std::optional<Seeded> read_seeded(const fs::path& folder) {
    const auto text = base::read_file_beneath(folder, kMarkerFile, kMarkerBytesMax);
    if (!text) return std::nullopt;
    const auto value = base::parse_json(*text);
    if (!value) return std::nullopt;
    auto marker = base::from_json<Marker>(*value);
    if (!marker) return std::nullopt;
    const auto agents_md = base::read_file_beneath(folder, "AGENTS.md", kAgentsMdBytesMax);
    const auto skills_json = base::read_file_beneath(folder, "skills.json", kSkillsJsonBytesMax);
    Seeded seeded{
        .marker = std::move(*marker),
        .has_agents_md = agents_md || agents_md.error().code != base::ErrorCode::NotFound};
    seeded.is_unchanged = agents_md && content_hash(*agents_md, skills_json.value_or("")) ==
                                           seeded.marker.content_hash;
    return seeded;
}

base::Status seed_templates(const fs::path& folder) {
    TRY(base::make_folders(folder, 0755));
    remove_leftovers(folder);
    for (const auto& builtin : builtin_templates()) {
        const std::string hash = content_hash(builtin.agents_md, builtin.skills_json);
        if (must_be_written(folder / builtin.id, builtin, hash))
            TRY(write_template(folder, builtin, hash));
    }
    return {};
}

}  // namespace homes
