#include "base/scan/assign/assigned.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/scan/assign/names.h"
#include "base/scan/assign/randomness.h"
#include "base/scan/engine/characters.h"
#include "base/scan/engine/checks.h"
#include "base/scan/engine/encodings.h"

namespace scan {
namespace {

constexpr std::size_t kTailBytesMax = 40;    // Of a name, behind its keyword.
constexpr std::size_t kClosersMax = 6;       // Quotes and brackets around a name.
constexpr std::size_t kBlanksMax = 40;       // Between the parts of an assignment.
constexpr std::size_t kValueBytesMax = 700;  // A longer one is cut: its beginning gives it away.

bool is_name_char(char c) {
    return is_ascii_letter(c) || is_ascii_digit(c) || c == '_' || c == '-' || c == '.';
}
bool is_quote(char c) {
    return c == '"' || c == '\'' || c == '`';
}

// Reads on from a place in the text, never beyond a bound.
class Cursor {
public:
    Cursor(std::string_view text, std::size_t at, std::size_t bound)
        : text_(text.substr(0, std::min(text.size(), bound))), at_(at) {}

    std::size_t at() const { return at_; }
    void go(std::size_t at) { at_ = at; }
    bool at_end() const { return at_ >= text_.size(); }
    char peek(std::size_t ahead = 0) const {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }
    void skip(std::size_t bytes = 1) { at_ = std::min(text_.size(), at_ + bytes); }
    template <class Wanted>
    std::size_t skip_while(Wanted wanted, std::size_t most) {
        const std::size_t from = at_;
        while (!at_end() && at_ - from < most && wanted(text_[at_])) ++at_;
        return at_ - from;
    }
    bool starts_with(std::string_view start) const { return text_.substr(at_).starts_with(start); }
    bool take(std::string_view start) {
        if (!starts_with(start)) return false;
        at_ += start.size();
        return true;
    }
    std::string_view from(std::size_t begin) const { return text_.substr(begin, at_ - begin); }
    std::string_view rest() const { return text_.substr(std::min(at_, text_.size())); }

private:
    std::string_view text_;
    std::size_t at_;
};

// How a value is bound to the name before it.
enum class Link {
    None,
    Operator,  // name = value, name: value
    Element,   // <name>value
    Comma,     // name,value
    Listed,    // name, value: maybe two names of a list
    Call,      // name("value")
    Flag,      // --name value
    Adjacent,  // name "value"
    Spoken,    // the name is value
};

// `, "value": ` and ` value=` behind a name that is itself a value: {"name": "token", "value": …}.
bool take_value_label(Cursor& cursor) {
    const std::size_t from = cursor.at();
    const bool has_comma = cursor.take(",");
    const bool has_space = cursor.skip_while(is_white, kBlanksMax) > 0;
    cursor.skip_while([](char c) { return c == '\\' || is_quote(c); }, 2);
    for (const std::string_view label : {"value", "Value", "content", "string", "data"}) {
        const std::size_t before = cursor.at();
        if (!cursor.take(label)) continue;
        cursor.skip_while([](char c) { return c == '\\' || is_quote(c); }, 2);
        cursor.skip_while(is_tab_or_blank, kBlanksMax);
        if ((has_comma || has_space) && (cursor.take("=") || cursor.take(":"))) return true;
        cursor.go(before);
    }
    cursor.go(from);
    return false;
}

// `><value>` behind a name in an attribute: <setting name="token" kind="x"><value>…
bool take_value_element(Cursor& cursor) {
    constexpr std::size_t kAttributesMax = 120;
    const auto rest = cursor.rest().substr(0, kAttributesMax);
    const auto end = rest.find('>');
    if (end == rest.npos || (end > 0 && rest[0] != ' ' && rest[0] != '/')) return false;
    if (rest.substr(0, end).find_first_of("<\n") != rest.npos) return false;
    const std::size_t from = cursor.at();
    cursor.skip(end + 1);
    cursor.skip_while(is_white, kBlanksMax);
    for (const std::string_view element : {"<value>", "<Value>", "<string>", "<param-value>"})
        if (cursor.take(element)) return true;
    cursor.go(from);
    return false;
}

// The type that stands between a name and its value: `token string = `, `token: String = `.
void skip_type(Cursor& cursor) {
    const std::size_t from = cursor.at();
    cursor.take("*");
    cursor.take("&");
    const std::size_t letters = cursor.skip_while(
        [](char c) {
            return is_ascii_letter(c) || c == ':' || c == '*' || c == '?' || c == '[' || c == ']';
        },
        24);
    cursor.skip_while(is_tab_or_blank, kBlanksMax);
    if (letters < 2 || !(cursor.starts_with("=") || cursor.starts_with(":="))) cursor.go(from);
}

// The sign that binds a value to the name before it. The cursor is behind it then.
Link take_link(Cursor& cursor, bool is_flagged, bool has_closers) {
    using enum Link;
    if ((has_closers || cursor.peek() == '\n' || cursor.peek() == '\r') && take_value_label(cursor))
        return Operator;
    if (has_closers && take_value_element(cursor)) return Element;
    if (cursor.peek() == '>' && !is_flagged) {
        cursor.skip();
        return cursor.peek() == '=' ? None : Element;
    }
    const std::size_t blanks = cursor.skip_while(is_tab_or_blank, kBlanksMax);
    if (blanks > 0) skip_type(cursor);
    for (const std::string_view sign : {":::=", "::=", ":=", "===", "!==", "==", "!=", "=>", "->",
                                        "?\?=", "||=", "?=", "+=", ".=", "=", "<<<", ":"})
        if (cursor.take(sign)) {
            if (sign == ":" && cursor.starts_with(":")) return None;  // A path: Token::from_str
            if (sign == ":" && !cursor.starts_with("//")) {
                const std::size_t before = cursor.at();
                cursor.skip_while(is_tab_or_blank, kBlanksMax);
                skip_type(cursor);
                if (!cursor.take("=")) cursor.go(before);
            }
            return cursor.starts_with("//") ? None : Operator;
        }
    if (cursor.take(",")) return is_tab_or_blank(cursor.peek()) ? Listed : Comma;
    if (cursor.take("|")) return Operator;
    if (cursor.take("(")) return Call;
    if (is_quote(cursor.peek()) && !has_closers) return Adjacent;
    if (blanks == 0) return None;
    if (is_quote(cursor.peek())) return Adjacent;
    if (is_flagged) return Flag;
    for (const std::string_view verb : {"is: ", "is ", "was ", "of ", "value "})
        if (cursor.take(verb)) break;
    return Spoken;
}

// Over the attributes of an element: <token type='string'>.
void skip_attributes(Cursor& cursor) {
    constexpr std::size_t kAttributesMax = 120;
    const auto rest = cursor.rest().substr(0, kAttributesMax);
    const auto end = rest.find_first_of("<>\n");
    if (rest.starts_with(' ') && end != rest.npos && rest[end] == '>') cursor.skip(end);
}

// Commands that take a name and a value: ENV NAME value, setx NAME value.
bool is_setter(std::string_view word) {
    for (const std::string_view setter : {"ENV", "ARG", "setx", "setenv"})
        if (word == setter) return true;
    return false;
}

// A quoted string may have a letter or two before it: @"…", b'…', L"…".
void skip_string_prefix(Cursor& cursor) {
    for (std::size_t n = 1; n <= 2; ++n)
        if (is_quote(cursor.peek(n)) &&
            (cursor.peek() == '@' || cursor.peek() == '$' || is_ascii_letter(cursor.peek())) &&
            (n == 1 || is_ascii_letter(cursor.peek(1)))) {
            cursor.skip(n);
            return;
        }
    if (cursor.starts_with("((\"")) cursor.skip(2);
}

// The value in quotes or between tags, up to its end; empty when it has none on its line.
std::string_view delimited(Cursor& cursor, std::string_view end) {
    const auto rest = cursor.rest().substr(0, kValueBytesMax);
    const auto stop = rest.find(end);
    const auto line = rest.find('\n');
    if (stop == rest.npos || line < stop) {
        // It continues beyond what is read.
        if (stop == rest.npos && line == rest.npos && rest.size() == kValueBytesMax) return rest;
        return {};
    }
    return rest.substr(0, stop);
}

bool ends_bare(char c) {
    return is_white(c) || is_quote(c) || c == ',' || c == ';' || c == '<' || c == '&' || c == '|' ||
           c == '\\' || static_cast<unsigned char>(c) < 0x20;
}

std::string_view bare(Cursor& cursor) {
    auto value = cursor.rest().substr(0, kValueBytesMax);
    value = value.substr(
        0, static_cast<std::size_t>(std::ranges::find_if(value, ends_bare) - value.begin()));
    while (!value.empty() && std::string_view(".,:;!?").contains(value.back()))
        value.remove_suffix(1);
    // Brackets that were opened before the value.
    for (const auto& [open, close] : {std::pair{'(', ')'}, {'[', ']'}, {'{', '}'}, {'<', '>'}})
        while (!value.empty() && value.back() == close &&
               std::ranges::count(value, open) < std::ranges::count(value, close))
            value.remove_suffix(1);
    return value;
}

bool is_scheme(std::string_view word) {
    constexpr std::array<std::string_view, 7> kSchemes{"bearer",  "basic",  "token", "apikey",
                                                       "api-key", "digest", "key"};
    std::string lower;
    for (const char c : word.substr(0, 8)) lower += static_cast<char>(std::tolower(c));
    return std::ranges::find(kSchemes, lower) != kSchemes.end();
}

// Where a value is, seen from its name.
enum class Below {
    No,
    Loose,  // On the next line, and maybe something else.
    Bound,  // On the next line by the rules of YAML: a block, or the first of a list.
};

// Over one line end and what stands before it in YAML and shells.
Below cross_line(Cursor& cursor, Link link) {
    bool is_bound = false;
    if (link == Link::Operator)
        for (const std::string_view block : {"|-", ">-", "|+", ">+", "|", ">"})
            if (is_bound = cursor.take(block); is_bound) break;
    cursor.take("\\");
    cursor.skip_while(is_tab_or_blank, kBlanksMax);
    cursor.take("\r");
    if (!cursor.take("\n")) return Below::No;
    cursor.skip_while(is_white, kBlanksMax);
    if (link == Link::Operator && cursor.take("- ")) is_bound = true;
    return is_bound ? Below::Bound : Below::Loose;
}

// A quote, a blank and a word: the sentence continues behind what was quoted.
bool has_words_behind(std::string_view rest) {
    return rest.size() > 3 && is_quote(rest[0]) && rest[1] == ' ' && is_ascii_lower(rest[2]) &&
           is_ascii_lower(rest[3]);
}

std::size_t name_begin_of(std::string_view text, std::size_t keyword_end) {
    std::size_t begin = keyword_end;
    while (begin > 0 && keyword_end - begin < kNameBytesMax && is_name_char(text[begin - 1]))
        --begin;
    return begin;
}

// The word that one blank parts from what begins at `at`.
std::string_view word_before(std::string_view text, std::size_t at) {
    if (at < 2 || text[at - 1] != ' ') return {};
    std::size_t begin = at - 1;
    while (begin > 0 && at - begin < kNameBytesMax && is_ascii_letter(text[begin - 1])) --begin;
    return text.substr(begin, at - 1 - begin);
}

void visit_parts(std::string_view name, std::string_view value, std::string_view prior,
                 const VisitAssigned& visit) {
    constexpr std::ptrdiff_t kBlanksInSecret = 2;  // More make a sentence.
    if (std::ranges::count(value, ' ') <= kBlanksInSecret &&
        visit({name, value, Syntax::Quoted, prior}))
        return;
    std::size_t parts = 0;
    for (std::size_t at = 0; at < value.size() && parts < kPartsMax; ++parts) {
        const std::size_t end = std::min(value.find_first_of(" \t", at), value.size());
        auto part = value.substr(at, end - at);
        while (!part.empty() && std::string_view("{}[]()<>,;").contains(part.back()))
            part.remove_suffix(1);
        if (part.size() < value.size() && !part.empty() &&
            visit({name, part, Syntax::Quoted, prior}))
            return;
        at = end + 1;
    }
}

// Everybody sees a picture with its token, of a state or on a page: badge.svg?token=…
bool is_in_picture(std::string_view text, std::size_t name_begin) {
    constexpr std::size_t kAddressMax = 200;
    if (name_begin == 0 || !(text[name_begin - 1] == '?' || text[name_begin - 1] == '&'))
        return false;
    std::size_t from = name_begin;
    while (from > 0 && name_begin - from < kAddressMax && !is_white(text[from - 1]) &&
           !is_quote(text[from - 1]) && text[from - 1] != '(')
        --from;
    const auto address = text.substr(from, name_begin - from);
    for (const std::string_view part : {".svg?", "shields.io/", "/badge", "?alt=media&"})
        if (address.find(part) != address.npos) return true;
    return false;
}

}  // namespace

void visit_assigned(std::string_view text, std::size_t keyword_end, const VisitAssigned& visit) {
    const std::size_t begin = name_begin_of(text, keyword_end);
    Cursor cursor(text, keyword_end, keyword_end + kAssignedBytesMax);
    cursor.skip_while(is_name_char, kTailBytesMax);
    if (is_name_char(cursor.peek())) return;
    const std::string_view name = cursor.from(begin);
    const std::string_view prior = word_before(text, begin);
    const bool has_closers =
        cursor.skip_while(
            [](char c) {
                return is_quote(c) || c == ')' || c == ']' || c == '\\' || c == '*' || c == '[';
            },
            kClosersMax) > 0;
    if (cursor.peek() == '/' || cursor.at_end()) return;
    if (is_in_picture(text, begin)) return;
    if (begin > 0 && text[begin - 1] == '<') skip_attributes(cursor);
    // "Pass FLAGS=…", "pass `fast_mode`": the verb, not the name of a password.
    const bool is_verb = (name == "pass" || name == "Pass") && is_tab_or_blank(cursor.peek()) &&
                         (cursor.peek(1) == '`' || is_ascii_upper(cursor.peek(1)));
    if (is_verb) return;
    Link link = take_link(cursor, name.starts_with('-'), has_closers);
    if (link == Link::Spoken && is_setter(prior)) link = Link::Flag;
    if (link == Link::None) return;
    // "<admin token> …" is a blank to fill in.
    if (link == Link::Element && !has_closers && !prior.empty()) return;
    if (link == Link::Flag && name.ends_with('.')) return;  // It ends a sentence.
    // Files, and not what is in them: --key release.key image, passwd 'x'.
    if ((link == Link::Spoken || link == Link::Listed) && name.find('.') != name.npos) return;
    if (link == Link::Adjacent && begin > 0 && text[begin - 1] == '/') return;
    if (link == Link::Element && name.ends_with(".h")) return;  // An include.
    // A file in a list of files: pkg/token.py,sha256=…
    if ((link == Link::Comma || link == Link::Listed) && begin > 0 && text[begin - 1] == '/')
        return;
    cursor.skip_while(is_tab_or_blank, kBlanksMax);
    const Below below = link == Link::Operator || link == Link::Element || link == Link::Call
                            ? cross_line(cursor, link)
                            : Below::No;
    if (cursor.peek() == '!') {  // A tag of YAML.
        cursor.skip_while([](char c) { return c == '!' || is_ascii_letter(c); }, kTailBytesMax);
        cursor.skip_while(is_tab_or_blank, kBlanksMax);
    }
    if (cursor.peek() == '[' || (cursor.peek() == '(' && is_quote(cursor.peek(1))))
        cursor.skip();  // A list: its first value counts.
    if (link == Link::Element) {
        const std::string_view value = delimited(cursor, "<");
        if (!value.empty()) {
            visit_parts(name, value, prior, visit);
            return;
        }
    }
    skip_string_prefix(cursor);
    cursor.take("\\");
    const std::size_t escapes = cursor.skip_while([](char c) { return c == '\\'; }, 3);
    if (is_quote(cursor.peek())) {
        const char quote = cursor.peek();
        cursor.skip(cursor.starts_with("\"\"\"") || cursor.starts_with("'''") ? 3 : 1);
        std::string_view value = delimited(cursor, {&quote, 1});
        while (value.ends_with('\\')) value.remove_suffix(1);
        if (value.empty()) return;
        // `SET_TMP_KEY`, `SET_TMP_KEY_2`
        if (link == Link::Listed && quote == '`' && value.find('_') != value.npos) return;
        // Pass "-x 0" to the linker.
        if (link == Link::Adjacent && (name == "pass" || name == "Pass") &&
            (value.starts_with('-') || has_words_behind(cursor.rest().substr(value.size()))))
            return;
        if (value.find_first_of(" \t") == value.npos)
            visit({name, value, Syntax::Quoted, prior});
        else
            visit_parts(name, value, prior, visit);
        return;
    }
    if (escapes > 0 || link == Link::Call || link == Link::Adjacent) return;
    const bool is_loose = link == Link::Spoken || link == Link::Listed ||
                          (below == Below::Loose && link != Link::Element);
    std::string_view value = bare(cursor);
    if (is_scheme(value)) {
        cursor.skip(value.size());
        cursor.skip_while(is_tab_or_blank, kBlanksMax);
        value = bare(cursor);
    }
    // aes128_set_key, aes192_set_key
    if (link == Link::Listed && value.find('_') != value.npos) return;
    if (!value.empty()) visit({name, value, is_loose ? Syntax::Spoken : Syntax::Bare, prior});
}

namespace {

// Pairs of hex digits with colons between them, as everybody may see them: 48:4F:0A:…
bool is_fingerprint(std::string_view value) {
    constexpr std::size_t kPairsMin = 8;
    for (std::size_t at = 0; at < value.size(); ++at)
        if (at % 3 == 2 ? value[at] != ':' : !is_hex_digit(value[at])) return false;
    return value.size() + 1 >= 3 * kPairsMin && value.size() % 3 == 2;
}

// isKeyOfThing: words without a figure, each with a capital and small letters behind it.
bool is_camel_case(std::string_view value) {
    std::size_t humps = 0, small = 0;
    for (const char c : value) {
        if (!is_ascii_letter(c)) return false;
        if (is_ascii_lower(c)) {
            ++small;
            continue;
        }
        if (small == 1 || (small == 0 && humps > 0)) return false;
        ++humps;
        small = 0;
    }
    return humps >= 2 && small >= 2;
}

// A path to a file with an ending: ca/rsa-2048/end.key
bool is_file(std::string_view value) {
    constexpr std::size_t kEndingMax = 5;
    const auto dot = value.rfind('.');
    const auto slash = value.rfind('/');
    if (dot == value.npos || slash == value.npos || slash > dot) return false;
    const auto ending = value.substr(dot + 1);
    return ending.size() >= 2 && ending.size() <= kEndingMax &&
           std::ranges::all_of(ending, is_ascii_lower);
}

}  // namespace

bool is_reference(std::string_view value) {
    if (value.empty()) return true;
    const char first = value.front();
    const auto is_word_char = [](char c) {
        return is_ascii_letter(c) || is_ascii_digit(c) || c == '_';
    };
    const auto words_end = [&](std::size_t at) {
        while (at < value.size() &&
               (is_word_char(value[at]) || value[at] == '.' || value.substr(at).starts_with("::") ||
                (at > 0 && value.substr(at - 1).starts_with("::"))))
            ++at;
        return at;
    };
    if (first == '$') {
        if (value.size() > 1 && (value[1] == '{' || value[1] == '(')) return true;
        // $2a$10$… is a hash.
        return words_end(1) == value.size() || (value.size() > 1 && is_ascii_letter(value[1]));
    }
    if (value.starts_with("{{") || value.starts_with("${") || value.starts_with("#{")) {
        const auto end = value.find('}');
        const auto inside = value.substr(2, end == value.npos ? end : end - 2);
        if (value.substr(end == value.npos ? 0 : end).starts_with("}}") || value.ends_with("}}") ||
            first != '{')
            return true;
        return inside.empty();
    }
    if (first == '<' || first == '%' || first == '@' || first == '~' || value.starts_with("./"))
        return true;
    if (first == '/' && word_share(value) > 0.2) return true;
    if (is_file(value) || is_camel_case(value)) return true;
    if (value.find("://") != value.npos) return true;
    for (const std::string_view kind : {"sha1", "sha256", "sha384", "sha512", "SHA256", "md5"})
        if (value.starts_with(kind) && value.size() > kind.size() &&
            std::string_view(":=-").contains(value[kind.size()]))
            return true;
    // A public key, a resource, an advisory.
    for (const std::string_view kind : {"ssh-", "arn:", "GHSA-", "CVE-"})
        if (value.starts_with(kind)) return true;
    if (is_fingerprint(value)) return true;
    // A call or an index: get_token(…), request.form[…].
    const std::size_t end = words_end(0);
    if (end > 0 && end < value.size() && (value[end] == '(' || value[end] == '[')) return true;
    // A member: settings.api.key
    if (end == value.size() && value.find('.') != value.npos && word_share(value) > 0.3)
        return true;
    return false;
}

namespace {

// A long run of hex digits between signs: the end of "linux-node-3f2b…".
bool has_digest(std::string_view value) {
    constexpr std::size_t kDigestMin = 16;
    for (std::size_t at = 0; at < value.size();) {
        std::size_t end = at;
        while (end < value.size() && (is_ascii_letter(value[end]) || is_ascii_digit(value[end])))
            ++end;
        if (end - at >= kDigestMin && is_hex(value.substr(at, end - at))) return true;
        at = end + 1;
    }
    return false;
}

// Behind a name that says little, such as "key": no digest, no id, and few words in it.
bool is_random_enough_alone(std::string_view value) {
    if (has_digest(value) || is_uuid(value) || entropy(value) < 3.5) return false;
    const double share = word_share(value);
    if (character_classes(value) >= 3) return looks_random(value, 20) && share <= 0.25;
    constexpr std::ptrdiff_t kFiguresMin = 3;
    return !is_hex(value) && std::ranges::count_if(value, is_ascii_digit) >= kFiguresMin &&
           looks_random(value, 24) && share <= 0.15;
}

}  // namespace

bool is_assigned_secret(const Assigned& assigned) {
    constexpr std::size_t kValueMin = 8;
    constexpr double kBitsMin = 2.0;
    const std::string_view value = assigned.value;
    // Most values fail here, and what follows takes longer.
    if (value.size() < kValueMin || entropy(value) < kBitsMin) return false;
    const NameKind kind = name_kind(assigned.name, assigned.prior);
    if (kind == NameKind::Other || is_reference(value) || is_placeholder(value) ||
        is_counting(value))
        return false;
    if (assigned.syntax == Syntax::Spoken) {
        constexpr std::size_t kSpokenMin = 16;
        const bool is_digest = is_hex(value) && (value.size() == 40 || value.size() == 64);
        const double share = word_share(value);
        const bool is_mixed = std::ranges::any_of(value, is_ascii_digit) ||
                              (value.size() >= 20 && share <= 0.1 && character_classes(value) >= 2);
        return kind != NameKind::Weak && !is_digest && is_mixed &&
               looks_random(value, kSpokenMin) && share <= 0.25;
    }
    switch (kind) {
        case NameKind::Other:
            return false;
        case NameKind::Weak:
            return is_random_enough_alone(value);
        case NameKind::Secret: {
            if (looks_random(value, 16)) return true;
            const bool is_chosen =
                assigned.syntax == Syntax::Quoted || value.find_first_of("(){}[]") == value.npos;
            return is_chosen && character_classes(value) >= 3 && value.size() >= 10 &&
                   std::ranges::any_of(value, is_ascii_digit) && looks_random(value, 10);
        }
        case NameKind::Password: {
            if (looks_random(value, 8)) return true;
            const bool is_chosen =
                assigned.syntax == Syntax::Quoted || value.find_first_of("()[]") == value.npos;
            // Words with figures and signs among them, as password rules ask for.
            return is_chosen && value.size() >= 8 && character_classes(value) >= 3 &&
                   std::ranges::any_of(value, is_ascii_digit) && word_share(value) < 0.75;
        }
    }
    return false;
}

}  // namespace scan
