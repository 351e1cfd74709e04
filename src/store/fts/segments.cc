#include "store/fts/segments.h"

#include <cstdint>

namespace fts {
namespace {

struct Character {
    char32_t code{0};
    std::size_t bytes{1};
};

// One character at the start of `text`, which is not empty. A byte that begins no valid character
// is returned as itself, so that decoding always moves on.
Character decode(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char first = byte(0);
    std::size_t length = 1;
    char32_t code = first;
    if (first >= 0xF0 && first < 0xF8) {
        length = 4;
        code = first & 0x07U;
    } else if (first >= 0xE0 && first < 0xF0) {
        length = 3;
        code = first & 0x0FU;
    } else if (first >= 0xC2 && first < 0xE0) {
        length = 2;
        code = first & 0x1FU;
    }
    if (length > text.size()) return {first, 1};
    for (std::size_t at = 1; at < length; ++at) {
        if ((byte(at) & 0xC0U) != 0x80U) return {first, 1};
        code = (code << 6U) | (byte(at) & 0x3FU);
    }
    return {code, length};
}

enum class Class { Words, HanOrKana, Hangul };

struct Range {
    char32_t first, last;
    Class kind;
};

// In ascending order. Signs of these blocks (U+3000 to U+3004, U+3007 and others) are words: they
// separate.
constexpr Range kRuns[] = {
    {0x1100, 0x11FF, Class::Hangul},       // Jamo
    {0x3005, 0x3006, Class::HanOrKana},    // Iteration marks
    {0x3041, 0x3096, Class::HanOrKana},    // Hiragana
    {0x309D, 0x309F, Class::HanOrKana},    //
    {0x30A1, 0x30FA, Class::HanOrKana},    // Katakana
    {0x30FC, 0x30FF, Class::HanOrKana},    // With the long vowel mark
    {0x3130, 0x318F, Class::Hangul},       // Compatibility jamo
    {0x31F0, 0x31FF, Class::HanOrKana},    // Phonetic extensions
    {0x3400, 0x4DBF, Class::HanOrKana},    // Han, extension A
    {0x4E00, 0x9FFF, Class::HanOrKana},    // Han
    {0xA960, 0xA97F, Class::Hangul},       //
    {0xAC00, 0xD7FF, Class::Hangul},       // Syllables
    {0xF900, 0xFAFF, Class::HanOrKana},    // Compatibility
    {0xFF66, 0xFF9D, Class::HanOrKana},    // Halfwidth katakana
    {0x20000, 0x323AF, Class::HanOrKana},  // Han, extensions B to H
};

Class class_of(char32_t code) {
    if (code < kRuns[0].first) return Class::Words;
    for (const auto& range : kRuns)
        if (code <= range.last) return code >= range.first ? range.kind : Class::Words;
    return Class::Words;
}

enum class Letter { Lower, Upper, Digit, Underscore, Other };

Letter letter_of(char c) {
    if (c >= 'a' && c <= 'z') return Letter::Lower;
    if (c >= 'A' && c <= 'Z') return Letter::Upper;
    if (c >= '0' && c <= '9') return Letter::Digit;
    return c == '_' ? Letter::Underscore : Letter::Other;
}

// Does a part of an identifier begin at `at`, which is neither its start nor behind an underscore?
bool begins_part(std::string_view word, std::size_t at) {
    const auto before = letter_of(word[at - 1]);
    const auto here = letter_of(word[at]);
    if ((here == Letter::Digit) != (before == Letter::Digit)) return true;
    if (here != Letter::Upper) return false;
    if (before != Letter::Upper) return true;
    return at + 1 < word.size() && letter_of(word[at + 1]) == Letter::Lower;
}

}  // namespace

std::vector<Segment> segments_of(std::string_view text) {
    std::vector<Segment> list;
    auto current = Class::Words;
    for (std::size_t at = 0; at < text.size();) {
        const auto character = decode(text.substr(at));
        const auto kind = class_of(character.code);
        if (list.empty() || kind != current)
            list.push_back(
                {kind == Class::Words ? Script::Words : Script::Runs, at, at + character.bytes});
        else
            list.back().end = at + character.bytes;
        current = kind;
        at += character.bytes;
    }
    return list;
}

std::vector<std::string_view> characters_of(std::string_view run) {
    std::vector<std::string_view> list;
    for (std::size_t at = 0; at < run.size();) {
        const auto bytes = decode(run.substr(at)).bytes;
        list.push_back(run.substr(at, bytes));
        at += bytes;
    }
    return list;
}

std::vector<std::string_view> identifier_parts(std::string_view word) {
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    const auto add = [&](std::size_t end) {
        if (end > begin) parts.push_back(word.substr(begin, end - begin));
    };
    for (std::size_t at = 0; at < word.size(); ++at) {
        if (word[at] == '_') {
            add(at);
            begin = at + 1;
        } else if (at > begin && begins_part(word, at)) {
            add(at);
            begin = at;
        }
    }
    add(word.size());
    if (parts.size() == 1 && parts.front().size() == word.size()) parts.clear();
    return parts;
}

}  // namespace fts
