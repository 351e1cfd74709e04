#include "agent/homes/templates.h"

#include <algorithm>
#include <ranges>

#include "agent/homes/builtin_templates.h"
#include "agent/homes/marker.h"
#include "agent/skills/builtin_skills.h"
#include "base/os/fs/open_path.h"
#include "base/text.h"

namespace homes {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;

constexpr std::size_t kIdCharsMax = 64;
constexpr std::size_t kDescriptionChars = 200;
constexpr std::size_t kIdsNamed = 20;

std::string in_quotes(std::string_view text) {
    return "'" + base::printable(base::ellipsize(base::to_utf8(text), 120)) + "'";
}

// Checks the two texts of a template, which `where` names in messages.
base::Result<Template> make_template(std::string agents_md,
                                     const std::optional<std::string>& skills_json,
                                     const std::string& where) {
    if (!base::is_utf8(agents_md) || base::trim(agents_md).empty())
        return fail(ErrorCode::InvalidInput, "AGENTS.md of the template {} is blank or not text",
                    where);
    Template made{.agents_md = std::move(agents_md)};
    if (!skills_json) return made;
    auto refs = parse_skill_refs(*skills_json);
    if (!refs)
        return fail(refs.error().code, "skills.json of the template {}: {}", where,
                    refs.error().message);
    made.skill_refs = std::move(*refs);
    return made;
}

// A file of a template; nothing when it is missing.
base::Result<std::optional<std::string>> read_part(const fs::path& folder, const char* name,
                                                   std::size_t bytes_max) {
    auto text = base::read_file_beneath(folder, name, bytes_max);
    if (text) return std::move(*text);
    if (text.error().code == ErrorCode::NotFound) return std::nullopt;
    return std::unexpected(text.error());
}

base::Result<Template> read_template(const fs::path& folder) {
    auto agents_md = TRY(read_part(folder, "AGENTS.md", kAgentsMdBytesMax));
    if (!agents_md)
        return fail(ErrorCode::InvalidInput, "{} is not a template: it has no AGENTS.md",
                    base::printable(folder.string()));
    return make_template(std::move(*agents_md),
                         TRY(read_part(folder, "skills.json", kSkillsJsonBytesMax)),
                         base::printable(folder.string()));
}

base::Result<Template> builtin_template(const BuiltinTemplate& builtin) {
    std::optional<std::string> skills_json;
    if (!builtin.skills_json.empty()) skills_json = std::string(builtin.skills_json);
    return make_template(std::string(builtin.agents_md), skills_json, std::string(builtin.id));
}

bool is_folder(const fs::path& path) {
    std::error_code failed;
    return fs::is_directory(path, failed);
}

base::Result<Template> load(const TemplateSources& sources, const TemplateById& selector) {
    const fs::path folder = sources.folder / selector.id;
    // A builtin template works also where its folder could not be written, or lost its AGENTS.md.
    const auto* builtin = find_builtin(selector.id);
    std::error_code failed;
    const bool is_there = builtin ? fs::exists(folder / "AGENTS.md", failed) : is_folder(folder);
    if (!is_there && !builtin) {
        std::string known;
        for (const auto& entry : list_templates(sources.folder) | std::views::take(kIdsNamed))
            known += (known.empty() ? "" : ", ") + entry.template_id;
        return fail(ErrorCode::NotFound, "there is no template {}; known are: {}",
                    in_quotes(selector.id), known);
    }
    auto made = TRY(is_there ? read_template(folder) : builtin_template(*builtin));
    made.source = {
        {"kind", "template_id"}, {"template_id", selector.id}, {"path", folder.string()}};
    return made;
}

base::Result<Template> load(const TemplateSources&, const TemplateAt& selector) {
    if (!is_folder(selector.path))
        return fail(ErrorCode::NotFound, "there is no template folder {}",
                    base::printable(selector.path.string()));
    auto made = TRY(read_template(selector.path));
    made.source = {{"kind", "local_path"}, {"path", selector.path.string()}};
    return made;
}

base::Result<Template> load(const TemplateSources& sources, const skills::GithubFolder& selector) {
    skills::Github github(sources.fetch, sources.github_api);
    auto found = TRY(github.find(selector, "AGENTS.md"));
    if (found.text.size() > kAgentsMdBytesMax)
        return fail(ErrorCode::InvalidInput, "AGENTS.md of the template {} is larger than {} bytes",
                    selector.url, kAgentsMdBytesMax);
    const auto skills_json =
        TRY(github.read(selector.owner, selector.repo, found.ref, found.path + "/skills.json"));
    auto made = TRY(make_template(std::move(found.text), skills_json, selector.url));
    for (const auto& ref : made.skill_refs)
        if (ref.kind == SkillRefKind::Local)
            return fail(ErrorCode::Refused,
                        "the template {} refers to a folder of this machine; one from the network "
                        "may not",
                        selector.url);
    made.source = {{"kind", "git_hub_url"}, {"url", selector.url},  {"owner", selector.owner},
                   {"repo", selector.repo}, {"git_ref", found.ref}, {"template_path", found.path}};
    return made;
}

// The first line that says something: no heading and no comment; else the heading.
std::optional<std::string> description_of(std::string_view agents_md) {
    std::optional<std::string> heading;
    for (const auto line : base::split_lines(agents_md)) {
        const std::string text(base::trim(line));
        if (text.empty() || text.starts_with("<!--")) continue;
        if (!text.starts_with('#')) return base::ellipsize(text, kDescriptionChars);
        const auto words = text.find_first_not_of("# ");
        if (!heading && words != std::string::npos) heading = text.substr(words);
    }
    return heading;
}

std::string name_of(const SkillRef& ref) {
    const std::string whole = ref.kind == SkillRefKind::Builtin ? ref.name.value_or("")
                              : ref.kind == SkillRefKind::Local ? ref.path.value_or("")
                                                                : ref.package.value_or("");
    return whole.substr(whole.find_last_of("/@") + 1);
}

CatalogueEntry entry_of(const std::string& id, const std::string& source, const fs::path& path,
                        const Template& made) {
    CatalogueEntry entry{.catalog_id = source + ":" + id,
                         .template_ = id,
                         .template_id = id,
                         .source = source,
                         .path = path.string(),
                         .description = description_of(made.agents_md)};
    if (made.skill_refs.empty()) return entry;
    entry.included_skills.emplace();
    for (const auto& ref : made.skill_refs) entry.included_skills->push_back(name_of(ref));
    return entry;
}

}  // namespace

bool is_template_id(std::string_view text) {
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_';
    };
    return !text.empty() && text.size() <= kIdCharsMax && text[0] != '.' && !text.contains("..") &&
           std::ranges::all_of(text, allowed);
}

base::Result<Selector> parse_selector(std::string_view text) {
    if (is_template_id(text)) return TemplateById{std::string(text)};
    if (text.starts_with('/') && !text.contains('\0')) return TemplateAt{fs::path(text)};
    if (text.starts_with("https://github.com/")) return TRY(skills::parse_github_url(text));
    return fail(ErrorCode::InvalidInput,
                "{} does not name a template; use the id of one (holon templates list), the "
                "absolute path of a folder, or "
                "https://github.com/<owner>/<repo>/tree/<ref>/<path>",
                in_quotes(text));
}

base::Result<std::vector<SkillRef>> parse_skill_refs(std::string_view text) {
    const auto value = TRY(base::parse_json(text));
    const auto* object = value.if_object();
    const auto* list = object ? object->if_contains("skill_refs") : nullptr;
    if (!list || object->size() != 1)
        return fail(ErrorCode::InvalidInput,
                    R"(it must be {{"skill_refs": [...]}} and nothing else)");
    auto refs = TRY(base::from_json<std::vector<SkillRef>>(*list, base::Unknown::Reject));
    if (refs.size() > kSkillRefsMax)
        return fail(ErrorCode::InvalidInput, "it names more than {} skills", kSkillRefsMax);
    for (const auto& ref : refs) {
        const bool is_right =
            ref.kind == SkillRefKind::Builtin ? ref.name && !ref.path && !ref.package
            : ref.kind == SkillRefKind::Local
                ? ref.path && ref.path->starts_with('/') && !ref.name && !ref.package
                : ref.package && !ref.name && !ref.path;
        if (!is_right)
            return fail(ErrorCode::InvalidInput,
                        "a skill is {{kind: builtin, name}}, {{kind: local, path}} with an "
                        "absolute path, or {{kind: github, package}}");
    }
    return refs;
}

base::Result<Template> load_template(const TemplateSources& sources, std::string_view selector) {
    const auto parsed = TRY(parse_selector(selector));
    return std::visit([&](const auto& form) { return load(sources, form); }, parsed);
}

base::Result<std::vector<skills::Tree>> load_skills(const TemplateSources& sources,
                                                    const std::vector<SkillRef>& refs) {
    skills::Github github(sources.fetch, sources.github_api);
    std::vector<skills::Tree> trees;
    for (const auto& ref : refs) {
        switch (ref.kind) {
            case SkillRefKind::Builtin:
                if (const auto* builtin = skills::find_builtin(*ref.name)) {
                    trees.push_back(*builtin);
                    break;
                }
                return fail(ErrorCode::NotFound, "there is no builtin skill {}",
                            in_quotes(*ref.name));
            case SkillRefKind::Local:
                trees.push_back(TRY(skills::read_tree(*ref.path)));
                break;
            case SkillRefKind::Github:
                trees.push_back(TRY(skills::read_remote(github, *ref.package, std::nullopt)));
                break;
        }
        if (std::ranges::count(trees, trees.back().name, &skills::Tree::name) > 1)
            return fail(ErrorCode::Conflict, "two skills of the template are named {}",
                        trees.back().name);
    }
    return trees;
}

std::vector<CatalogueEntry> list_templates(const fs::path& folder) {
    std::vector<CatalogueEntry> builtin;
    std::vector<CatalogueEntry> others;
    for (const auto& one : builtin_templates()) {
        const fs::path path = folder / one.id;
        const auto seeded = read_seeded(path);
        if (seeded && seeded->is_unchanged) {
            if (const auto made = read_template(path))
                builtin.push_back(entry_of(std::string(one.id), "builtin", path, *made));
        } else if (!is_folder(path)) {
            if (const auto made = builtin_template(one)) {
                builtin.push_back(entry_of(std::string(one.id), "builtin", path, *made));
                builtin.back().path.reset();
            }
        }
    }
    std::error_code failed;
    fs::directory_iterator entries(folder, failed);
    for (; !failed && entries != fs::directory_iterator(); entries.increment(failed)) {
        const std::string id = entries->path().filename().string();
        if (others.size() >= kTemplatesListedMax) break;
        if (!is_template_id(id) ||
            std::ranges::find(builtin, id, &CatalogueEntry::template_id) != builtin.end())
            continue;
        if (const auto made = read_template(entries->path()))
            others.push_back(entry_of(id, "user_global", entries->path(), *made));
    }
    std::ranges::sort(builtin, {}, &CatalogueEntry::template_id);
    std::ranges::sort(others, {}, &CatalogueEntry::template_id);
    builtin.insert(builtin.end(), others.begin(), others.end());
    return builtin;
}

}  // namespace homes
