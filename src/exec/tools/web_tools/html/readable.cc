#include "exec/tools/web_tools/html/readable.h"

#include <algorithm>

#include "base/text.h"
#include "exec/tools/web_tools/html/document.h"

namespace web_tools {
namespace {

constexpr std::size_t kLinkBytesMax = 300;
// Text of a page grows by its links and marks; more than this is not written.
constexpr std::size_t kReadableBytesMax = std::size_t{8} * 1024 * 1024;

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

bool is_left_out(const GumboNode& node) {
    if (node.type == GUMBO_NODE_TEMPLATE) return true;
    if (node.type != GUMBO_NODE_ELEMENT) return false;
    switch (node.v.element.tag) {
        case GUMBO_TAG_SCRIPT:
        case GUMBO_TAG_STYLE:
        case GUMBO_TAG_NOSCRIPT:
        case GUMBO_TAG_TEMPLATE:
        case GUMBO_TAG_SVG:
        case GUMBO_TAG_MATH:
        case GUMBO_TAG_IFRAME:
        case GUMBO_TAG_OBJECT:
        case GUMBO_TAG_CANVAS:
        case GUMBO_TAG_AUDIO:
        case GUMBO_TAG_VIDEO:
        case GUMBO_TAG_SELECT:
            return true;
        default:
            break;
    }
    if (gumbo_get_attribute(&node.v.element.attributes, "hidden") ||
        attribute(node, "aria-hidden") == "true")
        return true;
    std::string style(attribute(node, "style"));
    std::erase_if(style, is_blank);
    return style.contains("display:none") || style.contains("visibility:hidden");
}

bool is_block(GumboTag tag) {
    switch (tag) {
        case GUMBO_TAG_P:
        case GUMBO_TAG_DIV:
        case GUMBO_TAG_SECTION:
        case GUMBO_TAG_ARTICLE:
        case GUMBO_TAG_ASIDE:
        case GUMBO_TAG_HEADER:
        case GUMBO_TAG_FOOTER:
        case GUMBO_TAG_MAIN:
        case GUMBO_TAG_NAV:
        case GUMBO_TAG_UL:
        case GUMBO_TAG_OL:
        case GUMBO_TAG_DL:
        case GUMBO_TAG_DT:
        case GUMBO_TAG_DD:
        case GUMBO_TAG_TABLE:
        case GUMBO_TAG_BLOCKQUOTE:
        case GUMBO_TAG_FIGURE:
        case GUMBO_TAG_FIGCAPTION:
        case GUMBO_TAG_FORM:
        case GUMBO_TAG_HR:
        case GUMBO_TAG_TITLE:
        case GUMBO_TAG_ADDRESS:
        case GUMBO_TAG_DETAILS:
        case GUMBO_TAG_SUMMARY:
            return true;
        default:
            return false;
    }
}

int heading_level(GumboTag tag) {
    return tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6 ? tag - GUMBO_TAG_H1 + 1 : 0;
}

// Text as it grows: blanks are collapsed, and breaks asked for twice are made once.
class Lines {
public:
    bool is_full() const { return text_.size() > kReadableBytesMax; }
    std::string take() { return std::string(base::trim(text_)); }

    void add(std::string_view words) {
        for (const char c : words) {
            if (is_blank(c)) {
                wants_blank_ = true;
                continue;
            }
            put_breaks();
            text_ += c;
        }
    }
    void add_exactly(std::string_view words) {
        if (words.empty()) return;
        put_breaks();
        text_ += words;
    }
    void ask_for_break(int newlines) { newlines_ = std::max(newlines_, newlines); }

private:
    void put_breaks() {
        if (newlines_ > 0 && !text_.empty())
            text_.append(static_cast<std::size_t>(newlines_), '\n');
        else if (wants_blank_ && !text_.empty() && !is_blank(text_.back()))
            text_ += ' ';
        newlines_ = 0;
        wants_blank_ = false;
    }

    std::string text_;
    int newlines_{0};
    bool wants_blank_{false};
};

class Reader {
public:
    explicit Reader(const Url& from) : from_(from) {}

    bool enter(const GumboNode& node) {
        if (lines_.is_full() || is_left_out(node)) return false;
        if (node.type == GUMBO_NODE_TEXT || node.type == GUMBO_NODE_WHITESPACE ||
            node.type == GUMBO_NODE_CDATA) {
            const std::string_view words(node.v.text.text);
            pre_ > 0 ? lines_.add_exactly(words) : lines_.add(words);
            return false;
        }
        if (node.type != GUMBO_NODE_ELEMENT) return false;
        open(node, node.v.element.tag);
        return true;
    }

    void leave(const GumboNode& node) {
        const GumboTag tag = node.v.element.tag;
        if (tag == GUMBO_TAG_A && !links_.empty()) {
            if (!links_.back().empty()) lines_.add_exactly("](" + links_.back() + ")");
            links_.pop_back();
        } else if (tag == GUMBO_TAG_PRE) {
            --pre_;
            lines_.ask_for_break(1);
            lines_.add_exactly("```");
            lines_.ask_for_break(2);
        } else if (heading_level(tag) > 0 || is_block(tag)) {
            lines_.ask_for_break(2);
        }
    }

    std::string take() { return lines_.take(); }

private:
    void open(const GumboNode& node, GumboTag tag) {
        if (const int level = heading_level(tag)) {
            lines_.ask_for_break(2);
            lines_.add_exactly(std::string(static_cast<std::size_t>(level), '#') + " ");
        } else if (tag == GUMBO_TAG_A) {
            links_.push_back(target_of(node));
            if (!links_.back().empty()) lines_.add("[");
        } else if (tag == GUMBO_TAG_BR || tag == GUMBO_TAG_TR) {
            lines_.ask_for_break(1);
        } else if (tag == GUMBO_TAG_LI) {
            lines_.ask_for_break(1);
            lines_.add_exactly("- ");
        } else if (tag == GUMBO_TAG_TD || tag == GUMBO_TAG_TH) {
            if (node.index_within_parent > 0) lines_.add_exactly(" | ");
        } else if (tag == GUMBO_TAG_PRE) {
            lines_.ask_for_break(2);
            lines_.add_exactly("```\n");
            ++pre_;
        } else if (tag == GUMBO_TAG_IMG) {
            const auto alt = base::trim(attribute(node, "alt"));
            if (!alt.empty()) lines_.add(fmt::format("[image: {}]", alt));
        } else if (is_block(tag)) {
            lines_.ask_for_break(2);
        }
    }

    // Empty for what leads nowhere else.
    std::string target_of(const GumboNode& node) const {
        const auto href = attribute(node, "href");
        if (href.empty() || href.starts_with('#') || href.size() > kLinkBytesMax) return "";
        const auto url = join_url(from_, href);
        return url && url->text.size() <= kLinkBytesMax ? url->text : "";
    }

    const Url& from_;
    Lines lines_;
    std::vector<std::string> links_;
    int pre_{0};
};

// For a page that the parser is kept from: what is outside of tags, scripts and style sheets.
std::string without_tags(std::string_view html) {
    Lines lines;
    for (std::size_t at = 0; at < html.size() && !lines.is_full();) {
        const auto tag = html.find('<', at);
        lines.add(html.substr(at, tag == html.npos ? tag : tag - at));
        if (tag == html.npos) break;
        std::string name(html.substr(tag + 1, 6));
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
        at = html.find('>', tag);
        if (name.starts_with("script")) at = html.find("</script", tag);
        if (name.starts_with("style")) at = html.find("</style", tag);
        if (at == html.npos) break;
        at = html.find('>', at);
        if (at == html.npos) break;
        ++at;
        lines.add(" ");
    }
    return lines.take();
}

}  // namespace

std::string readable_text(std::string_view html, const Url& from) {
    const auto document = HtmlDocument::parse(html);
    if (!document) return without_tags(html.substr(0, kHtmlBytesMax));
    Reader reader(from);
    walk(
        document->root(), [&](const GumboNode& node) { return reader.enter(node); },
        [&](const GumboNode& node) { reader.leave(node); });
    return reader.take();
}

}  // namespace web_tools
