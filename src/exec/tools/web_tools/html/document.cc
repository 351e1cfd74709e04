#include "exec/tools/web_tools/html/document.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace web_tools {
namespace {

constexpr std::size_t kArenaBlockBytes = std::size_t{1} * 1024 * 1024;
constexpr std::size_t kTagNameBytesMax = 32;

struct OutOfArena {};

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Those that never have children, and those that another of their kind ends: they add no depth of
// their own.
bool adds_depth(std::string_view tag) {
    static constexpr auto kFlat = std::to_array<std::string_view>(
        {"area",  "base",   "br",    "col",   "embed", "hr",   "img",  "input", "link", "meta",
         "param", "source", "track", "wbr",   "p",     "li",   "td",   "th",    "tr",   "dt",
         "dd",    "option", "tbody", "thead", "tfoot", "html", "body", "head"});
    return std::ranges::find(kFlat, tag) == kFlat.end();
}

std::string tag_name(std::string_view html, std::size_t at) {
    std::string name;
    while (at < html.size() && name.size() < kTagNameBytesMax &&
           html.substr(at, 1).find_first_of(" \t\r\n\f/>") == std::string_view::npos)
        name += lower(html[at++]);
    return name;
}

// Where the text of a script or a style sheet ends.
std::size_t raw_end(std::string_view html, std::size_t at, const std::string& name) {
    for (at = html.find("</", at); at != html.npos; at = html.find("</", at + 2))
        if (tag_name(html, at + 2) == name) return at;
    return html.size();
}

}  // namespace

// All memory of one tree. Nothing is freed before all of it is: to free a tree node by node, the
// library recurses as deep as the tree is.
class HtmlDocument::Arena {
public:
    void* allocate(std::size_t bytes) {
        bytes = (bytes + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) *
                alignof(std::max_align_t);
        if (bytes > kHtmlMemoryMax - taken_) throw OutOfArena{};
        taken_ += bytes;
        if (bytes > left_) {
            const std::size_t block = std::max(bytes, kArenaBlockBytes);
            blocks_.push_back(std::make_unique<std::byte[]>(block));
            next_ = blocks_.back().get();
            left_ = block;
        }
        void* const given = next_;
        next_ += bytes;
        left_ -= bytes;
        return given;
    }

private:
    std::vector<std::unique_ptr<std::byte[]>> blocks_;
    std::byte* next_{nullptr};
    std::size_t left_{0};
    std::size_t taken_{0};
};

HtmlDocument::HtmlDocument(std::unique_ptr<Arena> arena, const GumboNode* root)
    : arena_(std::move(arena)), root_(root) {}
HtmlDocument::HtmlDocument(HtmlDocument&&) noexcept = default;
HtmlDocument::~HtmlDocument() = default;

std::optional<HtmlDocument> HtmlDocument::parse(std::string_view html) {
    html = html.substr(0, kHtmlBytesMax);
    if (is_too_deep(html)) return std::nullopt;
    auto arena = std::make_unique<Arena>();
    GumboOptions options = kGumboDefaultOptions;
    options.allocator = [](void* data, std::size_t bytes) {
        return static_cast<Arena*>(data)->allocate(bytes);
    };
    options.deallocator = [](void*, void*) {};
    options.userdata = arena.get();
    options.max_errors = 0;
    try {
        // The library checks no allocation, so a failed one has to leave it: all that it holds is
        // in the arena.
        const GumboOutput* output = gumbo_parse_with_options(&options, html.data(), html.size());
        return HtmlDocument(std::move(arena), output->root);
    } catch (const OutOfArena&) {
        return std::nullopt;
    }
}

bool is_too_deep(std::string_view html) {
    std::vector<std::string> open;
    // In these the text of a script is not skipped by the parser, or may not be.
    std::size_t foreign = 0;
    const auto is_foreign = [](std::string_view name) {
        return name == "svg" || name == "math" || name == "select";
    };
    for (std::size_t at = html.find('<'); at != html.npos; at = html.find('<', at)) {
        ++at;
        const bool is_end = at < html.size() && html[at] == '/';
        if (is_end) ++at;
        if (at >= html.size() || !is_letter(html[at])) continue;
        const std::string name = tag_name(html, at);
        at += name.size();
        if (!adds_depth(name)) continue;
        if (!is_end) {
            if (foreign == 0 && (name == "script" || name == "style")) {
                at = raw_end(html, at, name);
                continue;
            }
            foreign += is_foreign(name) ? 1 : 0;
            open.push_back(name);
            if (open.size() > kHtmlDepthMax) return true;
        } else if (!open.empty() && open.back() == name) {
            // Only what was opened last is ended, so that this never counts too little.
            foreign -= is_foreign(name) ? 1 : 0;
            open.pop_back();
        }
    }
    return false;
}

std::string_view attribute(const GumboNode& node, const char* name) {
    if (node.type != GUMBO_NODE_ELEMENT) return {};
    const GumboAttribute* found = gumbo_get_attribute(&node.v.element.attributes, name);
    return found ? std::string_view(found->value) : std::string_view();
}

bool has_class(const GumboNode& node, std::string_view name) {
    std::string_view classes = attribute(node, "class");
    while (!classes.empty()) {
        const auto end = classes.find_first_of(" \t\r\n");
        if (classes.substr(0, end) == name) return true;
        if (end == classes.npos) return false;
        classes.remove_prefix(end + 1);
    }
    return false;
}

}  // namespace web_tools
