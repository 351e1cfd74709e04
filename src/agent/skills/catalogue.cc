#include "agent/skills/catalogue.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include <yaml-cpp/yaml.h>

#include "agent/skills/tree.h"
#include "base/os/fs/open_path.h"
#include "base/text.h"

namespace skills {
namespace {

namespace fs = std::filesystem;
using domain::SkillScope;

// Enough for any front matter and a first paragraph.
constexpr std::size_t kHeadBytes = 16 * 1024;

constexpr std::array kSharedRoots{".agents/skills", ".codex/skills", ".claude/skills"};

std::optional<fs::path> first_folder(const std::vector<fs::path>& candidates) {
    for (const auto& path : candidates) {
        std::error_code failed;
        if (fs::is_directory(path, failed)) return path;
    }
    return std::nullopt;
}

std::vector<fs::path> shared_roots(const fs::path& below) {
    std::vector<fs::path> list;
    for (const char* root : kSharedRoots) list.push_back(below / root);
    return list;
}

std::vector<fs::path> agent_roots(const fs::path& home) {
    std::vector<fs::path> list{home / "skills"};
    for (auto& root : shared_roots(home)) list.push_back(std::move(root));
    return list;
}

// One line, bounded, without control characters.
std::string one_line(std::string_view text, std::size_t chars) {
    return base::ellipsize(base::printable(base::collapse_whitespace(base::to_utf8(text))), chars);
}

void add_root(Catalogue& catalogue, SkillScope scope, const std::vector<fs::path>& candidates) {
    const auto root = first_folder(candidates);
    if (!root) return;
    catalogue.roots.push_back({scope, root->string()});
    std::error_code failed;
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(*root, failed)) {
        if (entry.path().filename().string().starts_with('.')) continue;
        folders.push_back(entry.path());
        if (folders.size() >= kSkillsPerRootMax) break;
    }
    for (const auto& folder : folders) {
        const auto head = read_head(folder);
        if (!head) continue;
        const std::string name = one_line(folder.filename().string(), kNameChars);
        auto said = describe(*head, name);
        catalogue.skills.push_back({.skill_id = fmt::format("{}:{}", base::enum_name(scope), name),
                                    .name = std::move(said.name),
                                    .description = std::move(said.description),
                                    .path = (folder / kSkillFile).string(),
                                    .scope = scope});
    }
}

// The text between the two lines `---` at its beginning, and what follows.
struct Parts {
    std::optional<std::string> front{};
    std::string body;
};
Parts split_front(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    Parts parts;
    std::string front;
    const auto lines = base::split_lines(text);
    const auto is_fence = [](std::string_view line) {
        return line.starts_with("---") && base::trim(line) == "---";
    };
    std::size_t at = 0;
    if (!lines.empty() && is_fence(lines[0])) {
        for (at = 1; at < lines.size() && !is_fence(lines[at]); ++at)
            front += std::string(lines[at]) + "\n";
        if (at < lines.size()) {
            parts.front = std::move(front);
            ++at;
        } else {
            at = 0;
        }
    }
    for (; at < lines.size(); ++at) parts.body += std::string(lines[at]) + "\n";
    return parts;
}

// The value of `key` on one line. Many descriptions have a colon and are not YAML.
std::optional<std::string> plain_value(std::string_view front, std::string_view key) {
    for (const auto line : base::split_lines(front)) {
        if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':')
            continue;
        std::string value(base::trim(line.substr(key.size() + 1)));
        if (value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0])
            value = value.substr(1, value.size() - 2);
        if (!value.empty()) return value;
    }
    return std::nullopt;
}

struct FrontMatter {
    std::optional<std::string> name{};
    std::optional<std::string> description{};
};
FrontMatter read_front(const std::string& front) {
    FrontMatter out;
    try {
        const YAML::Node node = YAML::Load(front);
        if (node.IsMap()) {
            if (const auto name = node["name"]; name && name.IsScalar()) out.name = name.Scalar();
            if (const auto text = node["description"]; text && text.IsScalar())
                out.description = text.Scalar();
            return out;
        }
    } catch (const YAML::Exception&) {
        // Read line by line below.
    }
    return {plain_value(front, "name"), plain_value(front, "description")};
}

std::optional<std::string> first_paragraph(std::string_view body) {
    std::string text;
    for (const auto line : base::split_lines(body)) {
        const auto words = base::trim(line);
        if (words.empty() && !text.empty()) break;
        if (words.empty() || (text.empty() && words.starts_with('#'))) continue;
        text += std::string(words) + " ";
    }
    if (text.empty()) return std::nullopt;
    return text;
}

}  // namespace

Places places_of(const domain::Agent& agent, const fs::path& user_home,
                 const fs::path& agent_home) {
    Places places{.agent_home = agent_home};
    if (agent.identity.kind == domain::AgentKind::Default) places.user_home = user_home;
    if (!agent.active_workspace_entry) return places;
    const fs::path anchor(agent.active_workspace_entry->workspace_anchor);
    // At home the agent's own skills are not repeated as those of the workspace, and a folder that
    // was replaced by a link is another one than the operator attached.
    std::error_code failed;
    if (anchor != base::real_path(agent_home, failed) && base::real_path(anchor, failed) == anchor)
        places.workspace_anchor = anchor;
    return places;
}

Catalogue discover(const Places& places) {
    Catalogue catalogue;
    if (!places.user_home.empty())
        add_root(catalogue, SkillScope::User, shared_roots(places.user_home));
    if (!places.agent_home.empty())
        add_root(catalogue, SkillScope::Agent, agent_roots(places.agent_home));
    if (!places.workspace_anchor.empty())
        add_root(catalogue, SkillScope::Workspace, shared_roots(places.workspace_anchor));
    std::ranges::sort(catalogue.skills, {}, &domain::Skill::skill_id);
    return catalogue;
}

fs::path agent_root(const fs::path& agent_home) {
    return first_folder(agent_roots(agent_home)).value_or(agent_home / "skills");
}

base::Result<std::string> read_head(const fs::path& folder) {
    const base::Fd file = TRY(base::open_file_beneath(folder, kSkillFile));
    std::string head(kHeadBytes, '\0');
    std::size_t size = 0;
    while (size < head.size()) {
        const ssize_t got = ::read(file.get(), head.data() + size, head.size() - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return base::fail_errno("read " + (folder / kSkillFile).string());
        if (got == 0) break;
        size += static_cast<std::size_t>(got);
    }
    head.resize(size);
    return head;
}

Described describe(std::string_view text, const std::string& folder) {
    const auto parts = split_front(base::to_utf8(text));
    FrontMatter front;
    if (parts.front) front = read_front(*parts.front);
    const std::string name = one_line(front.name.value_or(""), kNameChars);
    if (!front.description) front.description = first_paragraph(parts.body);
    Described out{.name = name.empty() ? folder : name};
    if (front.description && !base::trim(*front.description).empty())
        out.description = one_line(*front.description, kDescriptionChars);
    return out;
}

}  // namespace skills
