// What a new agent is made from: a folder with an AGENTS.md and, if it likes, a skills.json.
//
// A template is found by its id below the user's templates, by an absolute path, or on GitHub.
// Functions that touch files or the network block; any thread but the loop's.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/skills/github.h"
#include "base/json.h"
#include "base/typed.h"

namespace homes {

inline constexpr std::size_t kAgentsMdBytesMax = 256 * 1024;
inline constexpr std::size_t kSkillsJsonBytesMax = 64 * 1024;
inline constexpr std::size_t kSkillRefsMax = 32;
inline constexpr std::size_t kTemplatesListedMax = 256;
inline constexpr const char* kMarkerFile = ".holon-builtin-template.json";

struct TemplateById {
    std::string id;
    friend bool operator==(const TemplateById&, const TemplateById&) = default;
};
struct TemplateAt {
    std::filesystem::path path;
    friend bool operator==(const TemplateAt&, const TemplateAt&) = default;
};
using Selector = std::variant<TemplateById, TemplateAt, skills::GithubFolder>;

// InvalidInput, with the three forms, for anything else. Pure.
base::Result<Selector> parse_selector(std::string_view text);
// Letters, digits, '.', '-' and '_', at most 64 of them, without "..".
bool is_template_id(std::string_view text);

enum class SkillRefKind { Builtin, Local, Github };
BOOST_DESCRIBE_ENUM(SkillRefKind, Builtin, Local, Github)
struct SkillRef {
    SkillRefKind kind{SkillRefKind::Builtin};
    std::optional<std::string> name{};     // Of a builtin one.
    std::optional<std::string> path{};     // Of a local one; absolute.
    std::optional<std::string> package{};  // Of one on GitHub.
    friend bool operator==(const SkillRef&, const SkillRef&) = default;
};
BOOST_DESCRIBE_STRUCT(SkillRef, (), (kind, name, path, package))

// The references in a skills.json. Anything but {"skill_refs": [...]} is InvalidInput. Pure.
base::Result<std::vector<SkillRef>> parse_skill_refs(std::string_view text);

struct Template {
    std::string agents_md;
    std::vector<SkillRef> skill_refs{};
    json::object source{};  // Where it came from, for the record.
};

// Where templates are looked for.
struct TemplateSources {
    std::filesystem::path folder;  // ~/.agents/templates
    skills::Fetch fetch{};
    std::string github_api{skills::kGithubApi};
};

// NotFound, with the ids that are known, InvalidInput for a folder that is no template, otherwise
// the error of the file system or the network.
base::Result<Template> load_template(const TemplateSources& sources, std::string_view selector);

// The skills that it refers to. An Error when one of them cannot be had.
base::Result<std::vector<skills::Tree>> load_skills(const TemplateSources& sources,
                                                    const std::vector<SkillRef>& refs);

struct CatalogueEntry {
    std::string catalog_id;  // "<source>:<id>"
    std::string template_;   // The selector that leads to it.
    std::string template_id;
    std::string source;  // builtin: as it came with the program. user_global: any other.
    std::optional<std::string> path{};
    std::optional<std::string> description{};
    std::optional<std::vector<std::string>> included_skills{};
    friend bool operator==(const CatalogueEntry&, const CatalogueEntry&) = default;
};
BOOST_DESCRIBE_STRUCT(CatalogueEntry, (),
                      (catalog_id, template_, template_id, source, path, description,
                       included_skills))

// The templates in `folder`, builtin ones first, then by id, at most kTemplatesListedMax. Builtin
// ones are listed even where their folder is missing. Folders that are no templates are left out.
std::vector<CatalogueEntry> list_templates(const std::filesystem::path& folder);

// Writes the builtin templates to `folder`. A template is written when it is missing, and renewed
// when nobody has changed it since a version of this program wrote it; one that somebody has
// changed or made is left alone. A crash leaves no half-written template.
base::Status seed_templates(const std::filesystem::path& folder);

}  // namespace homes
