// util.*: text in, data out.
#include "exec/tools/plan_tools/vault_tool.h"
#include "exec/tools/vault/names.h"
#include "exec/tools/vault/text/bullets.h"

namespace plan_tools {
namespace {

constexpr const char* kCategory = "util";

struct BulletsArgs {
    std::string markdown;
};
BOOST_DESCRIBE_STRUCT(BulletsArgs, (), (markdown))
constexpr auto describe_fields(const BulletsArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"markdown", "Text with lists in it.", R"("maxLength":4194304)"}});
}

// Flat, in the order of the text, so that a plan can loop over it; `parent` is an index into the
// same list.
struct BulletItem {
    std::string text;
    std::int64_t level{0};
    std::int64_t line{0};
    bool ordered{false};
    std::optional<bool> checked{};
    std::optional<std::int64_t> parent{};
};
BOOST_DESCRIBE_STRUCT(BulletItem, (), (text, level, line, ordered, checked, parent))
struct BulletsResult {
    std::vector<BulletItem> items;
    bool truncated{false};
};
BOOST_DESCRIBE_STRUCT(BulletsResult, (), (items, truncated))

struct SlugArgs {
    std::string title;
    std::int64_t maxLength{static_cast<std::int64_t>(vault::kSlugCharsMax)};
};
BOOST_DESCRIBE_STRUCT(SlugArgs, (), (title, maxLength))
constexpr auto describe_fields(const SlugArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"title", "A title in any words.", R"("maxLength":10000)"},
         {"maxLength", "Characters at most.", R"("default":80,"minimum":1,"maximum":200)", true}});
}

struct SlugResult {
    std::string slug;
    std::string fileName;  // The title itself, made safe to be the name of a file.
};
BOOST_DESCRIBE_STRUCT(SlugResult, (), (slug, fileName))

vault::Outcome<Answer> parse_bullets(const Request& request) {
    const auto bullets = vault::parse_bullets(request.as<BulletsArgs>().markdown);
    if (bullets.truncated)
        return vault::Failure(domain::ToolError{
            .kind = "precondition_failed",
            .message = fmt::format("The text has more than {} list items.", vault::kBulletsMax),
            .recovery_hint = "Split the note, and read its parts one by one."});
    BulletsResult result;
    std::vector<std::int64_t> open;  // The last item at each depth.
    for (const auto& bullet : bullets.items) {
        open.resize(std::min(bullet.depth, open.size()));
        BulletItem item{.text = bullet.text,
                        .level = static_cast<std::int64_t>(bullet.depth),
                        .line = static_cast<std::int64_t>(bullet.line),
                        .ordered = bullet.ordered,
                        .checked = bullet.checked};
        if (!open.empty()) item.parent = open.back();
        open.push_back(static_cast<std::int64_t>(result.items.size()));
        result.items.push_back(std::move(item));
    }
    return answer(fmt::format("Found {} items", result.items.size()), result);
}

vault::Outcome<Answer> slugify(const Request& request) {
    const auto args = request.as<SlugArgs>();
    const SlugResult result{
        vault::slugify_title(args.title, static_cast<std::size_t>(args.maxLength)),
        vault::safe_name(args.title)};
    return answer(result.slug, result);
}

}  // namespace

void add_util(tools::Registry& registry, const Kit& kit) {
    registry.add(compute_tool(
        kit,
        about<BulletsArgs, BulletsResult>("util.parseMarkdownBullets", kCategory,
                                          "Read the lists of a Markdown text, with their nesting."),
        parse_bullets));
    registry.add(
        compute_tool(kit,
                     about<SlugArgs, SlugResult>("util.slugifyTitle", kCategory,
                                                 "Make a slug and a safe file name of a title."),
                     slugify));
}

}  // namespace plan_tools
