// Which terms a text asks for. The text is never syntax: quotes and operators are only signs that
// separate words.
#pragma once

#include <string>
#include <vector>

#include "store/fts/tokenizer.h"

namespace fts {

// Of a longer text, the first so many count.
inline constexpr std::size_t kQueryBytesMax = 4096;
inline constexpr std::size_t kTermsMax = 16;

// A word, an identifier, or a run of Han, kana or Hangul.
struct Term {
    // The expression of FTS5 that finds it: one phrase, or an identifier and, instead of it, all
    // its parts.
    std::string expression;
    std::size_t phrases{1};  // How many phrases the expression has.
    std::string run{};       // Of Han, kana or Hangul: its text.
    friend bool operator==(const Term&, const Term&) = default;
};

// The pairs of a run that is found nowhere as a whole, each as a term. Empty for other terms.
std::vector<Term> pairs_of(const Term& term);

// The terms of `text`, each once, in order. `tokens` are those of the same text as a document.
std::vector<Term> terms_of(std::string_view text, const std::vector<Token>& tokens);

enum class Join { All, Any };
std::string match_expression(const std::vector<Term>& terms, Join join);

}  // namespace fts
