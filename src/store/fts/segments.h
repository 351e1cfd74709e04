// Where text is split before it is made into tokens. Pure.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace fts {

enum class Script {
    Words,  // Scripts that put spaces or signs between words.
    Runs    // Han, kana and Hangul: words are not separated, so pairs of characters are indexed.
};

struct Segment {
    Script script{Script::Words};
    std::size_t begin{0};  // Bytes.
    std::size_t end{0};
};

// The segments of `text`, in order. Together they are the whole text. A border between Han or kana
// and Hangul is one, too. Bytes that are no UTF-8 belong to Words.
std::vector<Segment> segments_of(std::string_view text);

// The characters of a segment of the script Runs.
std::vector<std::string_view> characters_of(std::string_view run);

// The parts of an identifier: split at underscores, where lower case meets upper case, before the
// last capital of a row of them (HTTPServer: HTTP, Server), and between letters and digits. Empty
// when there is only one part.
std::vector<std::string_view> identifier_parts(std::string_view word);

}  // namespace fts
