// HTML as libgumbo reads it, within bounds of memory and depth.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gumbo.h>

namespace web_tools {

// Of one page. What is beyond is not read.
inline constexpr std::size_t kHtmlBytesMax = std::size_t{2} * 1024 * 1024;
// Elements inside each other. The parser's time grows with the square of it.
inline constexpr std::size_t kHtmlDepthMax = 512;
// The parser's memory: a few hundred bytes for each byte of an ordinary page are far from needed.
inline constexpr std::size_t kHtmlMemoryMax = std::size_t{192} * 1024 * 1024;

class HtmlDocument {
public:
    // Empty for a page beyond the bounds. `html` is UTF-8 and must outlive the document.
    static std::optional<HtmlDocument> parse(std::string_view html);
    HtmlDocument(HtmlDocument&&) noexcept;
    ~HtmlDocument();

    const GumboNode& root() const { return *root_; }

private:
    class Arena;
    HtmlDocument(std::unique_ptr<Arena> arena, const GumboNode* root);
    std::unique_ptr<Arena> arena_;  // Owns every node.
    const GumboNode* root_;
};

// Elements inside each other, never less than the parser would make of it.
bool is_too_deep(std::string_view html);

// The value of an attribute; empty when there is none.
std::string_view attribute(const GumboNode& node, const char* name);
bool has_class(const GumboNode& node, std::string_view name);

// Visits a tree in the order of the page, without recursion. `enter` says whether to go inside;
// `leave` comes after the last child of what was gone into.
template <class Enter, class Leave>
void walk(const GumboNode& from, Enter enter, Leave leave) {
    struct Open {
        const GumboNode* node;
        unsigned next{0};
    };
    std::vector<Open> open;
    const auto visit = [&](const GumboNode& node) {
        const bool has_children =
            node.type == GUMBO_NODE_ELEMENT || node.type == GUMBO_NODE_TEMPLATE;
        if (enter(node) && has_children) open.push_back({&node});
    };
    visit(from);
    while (!open.empty()) {
        auto& [node, next] = open.back();
        const GumboVector& children = node->v.element.children;
        if (next < children.length) {
            visit(*static_cast<const GumboNode*>(children.data[next++]));
        } else {
            const GumboNode& left = *node;
            open.pop_back();
            leave(left);
        }
    }
}

}  // namespace web_tools
