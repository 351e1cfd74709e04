#include "surfaces/show/markdown/markdown.h"

#include <md4c.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/markdown/blocks.h"
#include "surfaces/show/markdown/markdown_table.h"

namespace show {
namespace {

constexpr std::size_t kColumnsMin = 8;
// The parser is quadratic for some texts that nobody writes: a larger block is shown as it is.
constexpr std::size_t kBlockBytesMax = 32 * 1024;
constexpr std::size_t kCallsPerByte = 8;  // Of the parser, before it is taken for an attack.
constexpr std::size_t kCallsFree = 1000;
constexpr std::size_t kWrappedColumns = 60;  // From here on a line was wrapped by an editor.
constexpr std::string_view kCodeIndent = "  ";
constexpr std::string_view kTab = "    ";
constexpr char32_t kCodePointMax = 0x10FFFF;

constexpr unsigned kFlags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS |
                            MD_FLAG_PERMISSIVEURLAUTOLINKS | MD_FLAG_NOHTML;

std::string safe(std::string_view text, std::string_view tab = " ") {
    std::string spaced;
    for (const char c : text) {
        if (c == '\t')
            spaced += tab;
        else
            spaced += c;
    }
    return base::printable(spaced);
}

std::string utf8_of(char32_t code) {
    const auto tail = [&](unsigned shift) {
        return static_cast<char>(0x80U | ((code >> shift) & 0x3FU));
    };
    if (code < 0x80) return {static_cast<char>(code)};
    if (code < 0x800) return {static_cast<char>(0xC0U | (code >> 6U)), tail(0)};
    if (code < 0x10000) return {static_cast<char>(0xE0U | (code >> 12U)), tail(6), tail(0)};
    return {static_cast<char>(0xF0U | (code >> 18U)), tail(12), tail(6), tail(0)};
}

// "&amp;" and "&#38;"; names that are not known stay as they are.
std::string entity_text(std::string_view entity) {
    constexpr auto kNames =
        std::to_array<std::pair<std::string_view, std::string_view>>({{"&amp;", "&"},
                                                                      {"&lt;", "<"},
                                                                      {"&gt;", ">"},
                                                                      {"&quot;", "\""},
                                                                      {"&apos;", "'"},
                                                                      {"&nbsp;", " "},
                                                                      {"&mdash;", "—"},
                                                                      {"&ndash;", "–"},
                                                                      {"&hellip;", "…"},
                                                                      {"&copy;", "©"},
                                                                      {"&rarr;", "→"},
                                                                      {"&larr;", "←"}});
    for (const auto& [name, text] : kNames)
        if (name == entity) return std::string(text);
    if (!entity.starts_with("&#") || entity.size() < 4) return std::string(entity);
    const bool is_hex = entity[2] == 'x' || entity[2] == 'X';
    unsigned code = 0;
    const auto* const begin = entity.data() + (is_hex ? 3 : 2);
    const auto read =
        std::from_chars(begin, entity.data() + entity.size() - 1, code, is_hex ? 16 : 10);
    const bool is_character = read.ec == std::errc{} && code > 0 && code <= kCodePointMax &&
                              !(code >= 0xD800 && code <= 0xDFFF);
    return is_character ? utf8_of(code) : "\uFFFD";
}

std::string attribute_text(const MD_ATTRIBUTE& attribute) {
    if (attribute.text == nullptr) return "";
    const std::string_view text(attribute.text, attribute.size);
    std::string out;
    for (std::size_t i = 0; attribute.substr_offsets[i] < attribute.size; ++i) {
        const auto part = text.substr(attribute.substr_offsets[i], attribute.substr_offsets[i + 1] -
                                                                       attribute.substr_offsets[i]);
        out += attribute.substr_types[i] == MD_TEXT_ENTITY ? entity_text(part) : std::string(part);
    }
    return safe(out);
}

std::vector<Line> plain_lines(std::string_view text, std::size_t columns) {
    std::vector<Line> lines;
    for (auto line : base::split_lines(text)) {
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (lines.empty() && base::trim(line).empty()) continue;
        for (auto& part : wrapped({{safe(line, kTab)}}, columns)) lines.push_back(std::move(part));
    }
    while (!lines.empty() && base::trim(text_of(lines.back())).empty()) lines.pop_back();
    return lines;
}

// Turns what the parser finds in one block into lines.
class Renderer {
public:
    Renderer(std::size_t columns, std::size_t bytes)
        : columns_(columns), calls_left_(bytes * kCallsPerByte + kCallsFree) {}

    // Takes one call from the budget; false from the last one on, as the parser does not stop at
    // once.
    bool may_continue() {
        if (calls_left_ > 0) --calls_left_;
        return calls_left_ > 0;
    }
    std::vector<Line> take_lines() { return std::move(lines_); }

    void enter(MD_BLOCKTYPE type, const void* detail) {
        switch (type) {
            case MD_BLOCK_QUOTE:
                flush();
                push({{"│ ", Face::Dim}}, {{"│ ", Face::Dim}});
                break;
            case MD_BLOCK_UL:
                flush();
                lists_.push_back(
                    {.is_tight = static_cast<const MD_BLOCK_UL_DETAIL*>(detail)->is_tight != 0,
                     .is_numbered = false});
                break;
            case MD_BLOCK_OL: {
                flush();
                const auto* list = static_cast<const MD_BLOCK_OL_DETAIL*>(detail);
                lists_.push_back({.is_tight = list->is_tight != 0,
                                  .is_numbered = true,
                                  .number = list->start,
                                  .delimiter = list->mark_delimiter});
                break;
            }
            case MD_BLOCK_LI:
                enter_item(*static_cast<const MD_BLOCK_LI_DETAIL*>(detail));
                break;
            case MD_BLOCK_HR:
                add_rule();
                break;
            case MD_BLOCK_H:
                flush();
                ++headings_;
                add(std::string(static_cast<const MD_BLOCK_H_DETAIL*>(detail)->level, '#') + " ");
                break;
            case MD_BLOCK_CODE:
                flush();
                is_code_ = true;
                break;
            case MD_BLOCK_TABLE:
                flush();
                table_ = {};
                break;
            case MD_BLOCK_TR:
                table_.rows.emplace_back();
                break;
            case MD_BLOCK_TH:
                ++bolds_;
                table_.aligns.push_back(align_of(*static_cast<const MD_BLOCK_TD_DETAIL*>(detail)));
                break;
            case MD_BLOCK_P:
                flush();
                break;
            case MD_BLOCK_DOC:
            case MD_BLOCK_HTML:
            case MD_BLOCK_THEAD:
            case MD_BLOCK_TBODY:
            case MD_BLOCK_TD:
                break;
        }
    }

    void leave(MD_BLOCKTYPE type) {
        switch (type) {
            case MD_BLOCK_QUOTE:
                flush();
                pop();
                break;
            case MD_BLOCK_UL:
            case MD_BLOCK_OL:
                lists_.pop_back();
                break;
            case MD_BLOCK_LI:
                flush();
                if (is_admitted_.back() && indents_.back().is_first)
                    emit({});  // An item without a text.
                pop();
                break;
            case MD_BLOCK_H:
                flush();
                --headings_;
                break;
            case MD_BLOCK_CODE:
                add_code();
                break;
            case MD_BLOCK_TABLE:
                begin_block();
                for (auto& line : table_lines(table_, room())) emit(std::move(line));
                break;
            case MD_BLOCK_TH:
                --bolds_;
                [[fallthrough]];
            case MD_BLOCK_TD:
                table_.rows.back().push_back(std::exchange(text_, {}));
                break;
            case MD_BLOCK_P:
            case MD_BLOCK_DOC:
                flush();
                break;
            case MD_BLOCK_HR:
            case MD_BLOCK_HTML:
            case MD_BLOCK_THEAD:
            case MD_BLOCK_TBODY:
            case MD_BLOCK_TR:
                break;
        }
    }

    void enter(MD_SPANTYPE type, const void* detail) {
        switch (type) {
            case MD_SPAN_EM:
                ++italics_;
                break;
            case MD_SPAN_STRONG:
                ++bolds_;
                break;
            case MD_SPAN_CODE:
                ++codes_;
                break;
            case MD_SPAN_DEL:
                ++deletions_;
                add("~");
                break;
            case MD_SPAN_A:
                links_.push_back(
                    {attribute_text(static_cast<const MD_SPAN_A_DETAIL*>(detail)->href),
                     text_.size()});
                text_.emplace_back();  // So that its text is not joined to what is before it.
                break;
            case MD_SPAN_IMG:
                links_.push_back(
                    {attribute_text(static_cast<const MD_SPAN_IMG_DETAIL*>(detail)->src),
                     text_.size()});
                text_.emplace_back();
                add("image: ");
                break;
            case MD_SPAN_LATEXMATH:
            case MD_SPAN_LATEXMATH_DISPLAY:
            case MD_SPAN_WIKILINK:
            case MD_SPAN_U:
                break;
        }
    }

    void leave(MD_SPANTYPE type) {
        switch (type) {
            case MD_SPAN_EM:
                --italics_;
                break;
            case MD_SPAN_STRONG:
                --bolds_;
                break;
            case MD_SPAN_CODE:
                --codes_;
                break;
            case MD_SPAN_DEL:
                add("~");
                --deletions_;
                break;
            case MD_SPAN_A:
            case MD_SPAN_IMG:
                end_link();
                break;
            case MD_SPAN_LATEXMATH:
            case MD_SPAN_LATEXMATH_DISPLAY:
            case MD_SPAN_WIKILINK:
            case MD_SPAN_U:
                break;
        }
    }

    void text(MD_TEXTTYPE type, std::string_view text) {
        if (is_code_) {
            code_ += text;
            return;
        }
        switch (type) {
            case MD_TEXT_NULLCHAR:
                return add("\uFFFD");
            case MD_TEXT_BR:
                return end_source_line("\n");
            case MD_TEXT_SOFTBR:  // Writers of chat mean short lines as they write them.
                return end_source_line(source_columns_ < kWrappedColumns ? "\n" : " ");
            case MD_TEXT_ENTITY:
                return add(safe(entity_text(text)));
            case MD_TEXT_NORMAL:
            case MD_TEXT_CODE:
            case MD_TEXT_HTML:
            case MD_TEXT_LATEXMATH:
                source_columns_ += columns_of(safe(text));
                return add(safe(text));
        }
    }

private:
    struct Indent {
        Line first;  // The mark of an item, for its first line.
        Line next;
        bool is_first{true};
    };
    struct List {
        bool is_tight{false};
        bool is_numbered{false};
        std::uint64_t number{0};
        char delimiter{'.'};
    };
    struct Link {
        std::string address;
        std::size_t begin{0};  // Of its text, in text_.
    };

    static Align align_of(const MD_BLOCK_TD_DETAIL& detail) {
        return detail.align == MD_ALIGN_RIGHT    ? Align::Right
               : detail.align == MD_ALIGN_CENTER ? Align::Centre
                                                 : Align::Left;
    }

    Face face() const {
        if (codes_ > 0) return Face::Code;
        if (headings_ > 0) return Face::Heading;
        if (bolds_ > 0) return Face::Bold;
        if (italics_ > 0) return Face::Italic;
        return deletions_ > 0 ? Face::Dim : Face::Plain;
    }

    void add(std::string_view text) {
        if (text_.empty() || text_.back().face != face())
            text_.push_back({.text = "", .face = face()});
        text_.back().text += text;
    }

    void end_source_line(std::string_view separator) {
        add(separator);
        source_columns_ = 0;
    }

    void end_link() {
        const Link link = std::move(links_.back());
        links_.pop_back();
        std::string shown;
        for (std::size_t i = link.begin; i < text_.size(); ++i) shown += text_[i].text;
        if (shown == link.address || "mailto:" + shown == link.address) {
            for (std::size_t i = link.begin; i < text_.size(); ++i) text_[i].face = Face::Link;
        } else if (!link.address.empty()) {
            text_.push_back({.text = " (" + link.address + ")", .face = Face::Link});
        }
        text_.emplace_back();
    }

    void enter_item(const MD_BLOCK_LI_DETAIL& item) {
        flush();
        List& list = lists_.back();
        std::string mark =
            list.is_numbered ? fmt::format("{}{} ", list.number++, list.delimiter) : "• ";
        if (item.is_task != 0) mark += item.task_mark == ' ' ? "[ ] " : "[x] ";
        const std::string blanks(columns_of(mark), ' ');
        push({{std::move(mark), Face::Dim}}, {{blanks}});
    }

    // What is nested so deep that half of the line would be blank is not indented further.
    void push(Line first, Line next) {
        const std::size_t wide = columns_of(first);
        is_admitted_.push_back(indent_columns_ + wide <= columns_ / 2);
        if (!is_admitted_.back()) return;
        indent_columns_ += wide;
        indents_.push_back({.first = std::move(first), .next = std::move(next)});
    }

    void pop() {
        if (is_admitted_.back()) {
            indent_columns_ -= columns_of(indents_.back().next);
            indents_.pop_back();
        }
        is_admitted_.pop_back();
    }

    std::size_t room() const { return columns_ - indent_columns_; }

    void emit(Line content) {
        Line line;
        for (auto& indent : indents_) {
            const auto& part = std::exchange(indent.is_first, false) ? indent.first : indent.next;
            line.insert(line.end(), part.begin(), part.end());
        }
        std::erase_if(content, [](const Span& span) { return span.text.empty(); });
        line.insert(line.end(), std::make_move_iterator(content.begin()),
                    std::make_move_iterator(content.end()));
        lines_.push_back(std::move(line));
    }

    // A blank line between blocks, but not between the items of a list that has none.
    void begin_block() {
        if (lines_.empty() || (!lists_.empty() && lists_.back().is_tight)) return;
        Line line;
        for (const auto& indent : indents_) {
            if (indent.is_first) break;
            line.insert(line.end(), indent.next.begin(), indent.next.end());
        }
        if (base::trim(text_of(line)).empty()) line.clear();
        lines_.push_back(std::move(line));
    }

    void flush() {
        Line text = std::exchange(text_, {});
        source_columns_ = 0;
        if (text_of(text).empty()) return;
        begin_block();
        for (auto& line : wrapped(text, room())) emit(std::move(line));
    }

    void add_rule() {
        flush();
        begin_block();
        std::string rule;
        for (std::size_t i = 0; i < room(); ++i) rule += "─";
        emit({{std::move(rule), Face::Dim}});
    }

    void add_code() {
        is_code_ = false;
        const std::string code = std::exchange(code_, {});
        begin_block();
        const std::size_t indent = room() > kColumnsMin ? kCodeIndent.size() : 0;
        for (const auto line : base::split_lines(code))
            for (auto& part :
                 wrapped({{safe(line, kTab), Face::Code}}, room() - indent, Break::Anywhere)) {
                if (!part.empty()) part.front().text.insert(0, indent, ' ');
                emit(std::move(part));
            }
    }

    std::size_t columns_;
    std::size_t calls_left_;
    std::vector<Line> lines_;
    Line text_;                      // Of the paragraph, heading or cell that is being read.
    std::size_t source_columns_{0};  // Of the line of the source that is being read.
    std::string code_;
    MarkdownTable table_;
    std::vector<List> lists_;
    std::vector<Link> links_;
    std::vector<Indent> indents_;
    std::vector<bool> is_admitted_;  // For each quote and item: it has an indent.
    std::size_t indent_columns_{0};
    bool is_code_{false};
    int bolds_{0}, italics_{0}, codes_{0}, deletions_{0}, headings_{0};
};

Renderer& renderer_of(void* data) {
    return *static_cast<Renderer*>(data);
}

// What a callback returns: other than 0 ends the parsing.
template <class Step>
int stepped(void* data, Step step) {
    auto& renderer = renderer_of(data);
    if (!renderer.may_continue()) return 1;
    step(renderer);
    return 0;
}

// False when the parser gave up.
bool parse(std::string_view block, Renderer& renderer) {
    MD_PARSER parser{};
    parser.flags = kFlags;
    parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* data) {
        return stepped(data, [&](Renderer& renderer) { renderer.enter(type, detail); });
    };
    parser.leave_block = [](MD_BLOCKTYPE type, void*, void* data) {
        return stepped(data, [&](Renderer& renderer) { renderer.leave(type); });
    };
    parser.enter_span = [](MD_SPANTYPE type, void* detail, void* data) {
        return stepped(data, [&](Renderer& renderer) { renderer.enter(type, detail); });
    };
    parser.leave_span = [](MD_SPANTYPE type, void*, void* data) {
        return stepped(data, [&](Renderer& renderer) { renderer.leave(type); });
    };
    parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* data) {
        return stepped(data, [&](Renderer& renderer) { renderer.text(type, {text, size}); });
    };
    return md_parse(block.data(), static_cast<MD_SIZE>(block.size()), &parser, &renderer) == 0;
}

std::vector<Line> block_lines(std::string_view block, std::size_t columns) {
    if (block.size() > kBlockBytesMax) return plain_lines(block, columns);
    Renderer renderer(columns, block.size());
    if (!parse(block, renderer)) return plain_lines(block, columns);
    auto lines = renderer.take_lines();
    // Definitions of links have no lines of their own: better seen than lost.
    return lines.empty() ? plain_lines(block, columns) : lines;
}

}  // namespace

std::vector<Line> markdown(std::string_view text, std::size_t columns) {
    columns = std::max(columns, kColumnsMin);
    const std::string valid = base::to_utf8(text);
    if (valid.size() > kMarkdownBytesMax) return plain_lines(valid, columns);
    std::vector<Line> lines;
    for (const auto block : markdown_blocks(valid)) {
        auto more = block_lines(block, columns);
        if (more.empty()) continue;
        if (!lines.empty()) lines.emplace_back();
        std::ranges::move(more, std::back_inserter(lines));
    }
    return lines;
}

}  // namespace show
