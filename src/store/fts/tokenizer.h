// How text becomes tokens, as an FTS5 tokenizer named "holon".
//
// Words are folded by SQLite's own tokenizers (unicode61 without diacritics, then the Porter
// stemmer). A word that is an identifier gives its parts at the same position, too. A run of Han,
// kana or Hangul gives every pair of neighbouring characters and its last character alone, so that
// every character begins exactly one token: two characters are one token, more are a phrase, and
// one is a prefix.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct fts5_api;

namespace fts {

// Longer words are cut off, in documents and in queries alike.
inline constexpr std::size_t kTokenBytesMax = 64;

struct Token {
    std::string text;
    std::size_t begin{0};  // Bytes of the text it was made from.
    std::size_t end{0};
    bool is_part{false};  // Of the identifier before it, at the same position.
    friend bool operator==(const Token&, const Token&) = default;
};

// What SQLite lets extensions of its full-text search call. Unavailable when it has none.
base::Result<fts5_api*> fts5_of(sqlite3* database);

// Makes the tokenizer known to one connection. Called before any of its tables is used.
base::Status add_tokenizer(sqlite3* database);

// The tokens of a document's text, as the tokenizer of this connection makes them.
base::Result<std::vector<Token>> tokens_of(sqlite3* database, std::string_view text);

}  // namespace fts
