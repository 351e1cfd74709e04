#include "agent/skills/install.h"

#include <algorithm>

#include "agent/skills/builtin_skills.h"
#include "agent/skills/catalogue.h"
#include "base/json.h"
#include "base/os/fs/open_path.h"
#include "base/text.h"

namespace skills {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;

constexpr std::size_t kNoteBytesMax = 4096;

std::unexpected<base::Error> already_there(const std::string& name, const fs::path& target) {
    return std::unexpected(
        base::Error{ErrorCode::Conflict,
                    fmt::format("the skill {} is installed already, at {}; remove it first with: "
                                "holon skills uninstall {}",
                                name, base::printable(target.string()), name),
                    "skill_already_installed",
                    {{"skill_name", name},
                     {"destination", target.string()},
                     {"hint", "holon skills uninstall " + name}}});
}

bool is_there(const fs::path& path) {
    std::error_code failed;
    return fs::symlink_status(path, failed).type() != fs::file_type::not_found;
}

std::string mode_of(const fs::path& folder) {
    const auto text = base::read_file_beneath(folder, kInstallFile, kNoteBytesMax);
    if (text)
        if (const auto note = base::parse_json(*text)) {
            const std::string mode = base::string_at(*note, "install_mode");
            if (mode == "builtin" || mode == "copied") return mode;
        }
    return find_builtin(folder.filename().string()) ? "builtin" : "copied";
}

}  // namespace

std::vector<InstalledSkill> list_installed(const fs::path& agent_home) {
    std::vector<InstalledSkill> list;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(agent_root(agent_home), failed)) {
        const std::string folder = entry.path().filename().string();
        if (folder.starts_with('.') || list.size() >= kSkillsPerRootMax) continue;
        const bool is_link = fs::is_symlink(fs::symlink_status(entry.path(), failed));
        if (!is_link && !fs::is_directory(entry.path(), failed)) continue;
        InstalledSkill one{.skill_id = "agent:" + base::printable(folder),
                           .name = base::printable(folder),
                           .path = (entry.path() / kSkillFile).string(),
                           .install_mode = is_link ? "linked" : mode_of(entry.path())};
        if (is_link) one.link_target = fs::read_symlink(entry.path(), failed).string();
        if (const auto head = read_head(entry.path())) {
            auto said = describe(*head, one.name);
            one.name = std::move(said.name);
            one.description = std::move(said.description);
        } else {
            one.warning = head.error().message;
        }
        list.push_back(std::move(one));
    }
    std::ranges::sort(list, {}, &InstalledSkill::skill_id);
    return list;
}

base::Result<std::string> install_copy(const fs::path& agent_home, const Tree& tree) {
    TRY(check(tree));
    const fs::path root = agent_root(agent_home);
    if (is_there(root / tree.name)) return already_there(tree.name, root / tree.name);
    TRY(write_tree(root, tree));
    return tree.name;
}

base::Result<std::string> install_link(const fs::path& agent_home, const fs::path& folder) {
    std::error_code failed;
    const fs::path target = fs::canonical(folder, failed);
    if (failed)
        return fail(ErrorCode::NotFound, "there is no folder {}: {}",
                    base::printable(folder.string()), failed.message());
    TRY(read_head(target));
    const std::string name = target.filename().string();
    if (!is_skill_name(name))
        return fail(ErrorCode::InvalidInput, "'{}' is not the name of a skill",
                    base::printable(name));
    const fs::path root = agent_root(agent_home);
    TRY(base::make_folders(root, 0700));
    if (is_there(root / name)) return already_there(name, root / name);
    fs::create_directory_symlink(target, root / name, failed);
    if (failed)
        return fail(ErrorCode::Io, "{} could not be made: {}",
                    base::printable((root / name).string()), failed.message());
    return name;
}

base::Result<fs::path> find_named(const fs::path& user_home, const std::string& name) {
    for (const char* root : {".agents/skills", ".codex/skills", ".claude/skills"}) {
        std::vector<fs::path> found;
        std::error_code failed;
        for (const auto& entry : fs::directory_iterator(user_home / root, failed)) {
            const auto head = read_head(entry.path());
            if (!head) continue;
            const std::string folder = entry.path().filename().string();
            if (folder == name || describe(*head, folder).name == name)
                found.push_back(entry.path());
        }
        if (found.size() > 1)
            return fail(ErrorCode::Conflict,
                        "several skills in {} are named {}; give the path of one",
                        (user_home / root).string(), base::printable(name));
        if (!found.empty()) return found.front();
    }
    return fail(ErrorCode::NotFound,
                "there is no skill {}; give a path, a builtin skill (ghx, github-issue-solve, "
                "github-pr-fix, github-review), or --remote with a repository",
                base::printable(base::ellipsize(base::to_utf8(name), 80)));
}

base::Status uninstall(const fs::path& agent_home, const std::string& name) {
    const fs::path target = agent_root(agent_home) / name;
    if (!is_skill_name(name) || !is_there(target))
        return fail(ErrorCode::NotFound, "the agent has no skill {}; see holon skills list",
                    base::printable(base::ellipsize(base::to_utf8(name), 80)));
    std::error_code failed;
    if (!fs::is_symlink(fs::symlink_status(target, failed)) && !is_there(target / kSkillFile))
        return fail(ErrorCode::Refused, "{} has no SKILL.md, so it is not removed",
                    base::printable(target.string()));
    fs::remove_all(target, failed);  // Of a link, the link.
    if (failed)
        return fail(ErrorCode::Io, "{} could not be removed: {}", base::printable(target.string()),
                    failed.message());
    return {};
}

}  // namespace skills
