#include "store/fts/tokenizer.h"

#include <memory>

#include <sqlite3.h>

#include "store/fts/segments.h"

namespace fts {
namespace {

using base::ErrorCode;
using base::fail;

using Emit = int (*)(void*, int, const char*, int, int, int);

struct FinalizeStatement {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

// SQLite's own tokenizer for words.
class WordTokenizer {
public:
    explicit WordTokenizer(fts5_api* api) {
        void* context = nullptr;
        if (api->xFindTokenizer(api, "porter", &context, &methods_) != SQLITE_OK) return;
        const char* arguments[] = {"unicode61", "remove_diacritics", "2", "tokenchars", "_"};
        if (methods_.xCreate(context, arguments, std::size(arguments), &instance_) != SQLITE_OK)
            instance_ = nullptr;
    }
    ~WordTokenizer() {
        if (instance_) methods_.xDelete(instance_);
    }
    WordTokenizer(const WordTokenizer&) = delete;
    WordTokenizer& operator=(const WordTokenizer&) = delete;

    bool is_ready() const { return instance_ != nullptr; }
    int tokenize(std::string_view text, void* context, Emit emit) const {
        return methods_.xTokenize(instance_, context, FTS5_TOKENIZE_DOCUMENT, text.data(),
                                  static_cast<int>(text.size()), emit);
    }

private:
    fts5_tokenizer methods_{};
    Fts5Tokenizer* instance_{nullptr};
};

// One call of the tokenizer: hands on tokens with their places in the whole text.
class Pass {
public:
    Pass(const WordTokenizer& words, std::string_view text, bool is_query, void* context, Emit emit)
        : words_(words), text_(text), is_query_(is_query), context_(context), emit_(emit) {}

    int run() {
        for (const auto& segment : segments_of(text_)) {
            const auto part = text_.substr(segment.begin, segment.end - segment.begin);
            base_ = segment.begin;
            const int code = segment.script == Script::Runs
                                 ? emit_run(part)
                                 : words_.tokenize(part, this, &Pass::on_word);
            if (code != SQLITE_OK) return code;
        }
        return SQLITE_OK;
    }

private:
    int emit(int flags, std::string_view token, std::size_t begin, std::size_t end) {
        const auto cut = token.substr(0, kTokenBytesMax);
        return emit_(context_, flags, cut.data(), static_cast<int>(cut.size()),
                     static_cast<int>(begin), static_cast<int>(end));
    }

    // Of a query, the pairs alone are the phrase; a last character would only match at the end of a
    // run.
    int emit_run(std::string_view run) {
        const auto characters = characters_of(run);
        std::size_t at = base_;
        for (std::size_t i = 0; i < characters.size(); ++i) {
            const bool is_last = i + 1 == characters.size();
            if (is_last && is_query_ && i > 0) break;
            const auto bytes = characters[i].size() + (is_last ? 0 : characters[i + 1].size());
            const int code = emit(0, text_.substr(at, bytes), at, at + bytes);
            if (code != SQLITE_OK) return code;
            at += characters[i].size();
        }
        return SQLITE_OK;
    }

    static int on_word(void* self, int, const char* token, int size, int begin, int end) {
        return static_cast<Pass*>(self)->emit_word({token, static_cast<std::size_t>(size)},
                                                   static_cast<std::size_t>(begin),
                                                   static_cast<std::size_t>(end));
    }

    int emit_word(std::string_view token, std::size_t begin, std::size_t end) {
        const auto first = base_ + begin;
        const auto last = base_ + end;
        const int code = emit(0, token, first, last);
        if (code != SQLITE_OK || is_query_) return code;
        const auto word = text_.substr(first, std::min(last - first, kTokenBytesMax));
        for (const auto& part : identifier_parts(word)) {
            part_begin_ = static_cast<std::size_t>(part.data() - text_.data());
            part_end_ = part_begin_ + part.size();
            const int inner = words_.tokenize(part, this, &Pass::on_part);
            if (inner != SQLITE_OK) return inner;
        }
        return SQLITE_OK;
    }

    static int on_part(void* self, int, const char* token, int size, int, int) {
        auto& pass = *static_cast<Pass*>(self);
        return pass.emit(FTS5_TOKEN_COLOCATED, {token, static_cast<std::size_t>(size)},
                         pass.part_begin_, pass.part_end_);
    }

    const WordTokenizer& words_;
    std::string_view text_;
    bool is_query_;
    void* context_;
    Emit emit_;
    std::size_t base_{0};  // Where the segment begins.
    std::size_t part_begin_{0};
    std::size_t part_end_{0};
};

int create(void* api, const char**, int, Fts5Tokenizer** out) {
    auto words = std::make_unique<WordTokenizer>(static_cast<fts5_api*>(api));
    if (!words->is_ready()) return SQLITE_ERROR;
    *out = reinterpret_cast<Fts5Tokenizer*>(words.release());
    return SQLITE_OK;
}

void destroy(Fts5Tokenizer* tokenizer) {
    delete reinterpret_cast<WordTokenizer*>(tokenizer);
}

int tokenize(Fts5Tokenizer* tokenizer, void* context, int flags, const char* text, int size,
             Emit emit) {
    if (!text || size <= 0) return SQLITE_OK;
    return Pass(*reinterpret_cast<WordTokenizer*>(tokenizer),
                {text, static_cast<std::size_t>(size)}, (flags & FTS5_TOKENIZE_QUERY) != 0, context,
                emit)
        .run();
}

int collect(void* context, int flags, const char* token, int size, int begin, int end) {
    static_cast<std::vector<Token>*>(context)->push_back(
        {.text = std::string(token, static_cast<std::size_t>(size)),
         .begin = static_cast<std::size_t>(begin),
         .end = static_cast<std::size_t>(end),
         .is_part = (flags & FTS5_TOKEN_COLOCATED) != 0});
    return SQLITE_OK;
}

}  // namespace

base::Result<fts5_api*> fts5_of(sqlite3* database) {
    sqlite3_stmt* raw = nullptr;
    fts5_api* api = nullptr;
    int code = sqlite3_prepare_v2(database, "SELECT fts5(?1)", -1, &raw, nullptr);
    const std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement(raw);
    if (code == SQLITE_OK)
        code = sqlite3_bind_pointer(raw, 1, static_cast<void*>(&api), "fts5_api_ptr", nullptr);
    if (code == SQLITE_OK) sqlite3_step(raw);
    if (!api || api->iVersion < 2)
        return fail(ErrorCode::Unavailable,
                    "this SQLite library has no full-text search (FTS5), so nothing can be "
                    "searched. Install an SQLite that has it.");
    return api;
}

base::Status add_tokenizer(sqlite3* database) {
    auto* api = TRY(fts5_of(database));
    fts5_tokenizer methods{.xCreate = create, .xDelete = destroy, .xTokenize = tokenize};
    if (api->xCreateTokenizer(api, "holon", api, &methods, nullptr) != SQLITE_OK)
        return fail(ErrorCode::Internal, "SQLite refused the tokenizer: {}",
                    sqlite3_errmsg(database));
    return {};
}

base::Result<std::vector<Token>> tokens_of(sqlite3* database, std::string_view text) {
    const WordTokenizer words(TRY(fts5_of(database)));
    if (!words.is_ready()) return fail(ErrorCode::Internal, "SQLite has no tokenizer for words");
    std::vector<Token> list;
    Pass(words, text, false, &list, collect).run();
    return list;
}

}  // namespace fts
