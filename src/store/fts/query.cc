#include "store/fts/query.h"

#include <algorithm>

#include <fmt/format.h>

#include "store/fts/segments.h"

namespace fts {
namespace {

// Tokens hold no quotes, as the tokenizer takes those for separators; doubled all the same.
std::string phrase(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"') out += '"';
        if (c != '\0') out += c;
    }
    return out + '"';
}

Term word_term(std::string_view word) {
    const auto parts = identifier_parts(word.substr(0, kTokenBytesMax));
    if (parts.empty()) return {.expression = phrase(word)};
    std::string all;
    for (const auto& part : parts) all += (all.empty() ? "" : " AND ") + phrase(part);
    return {.expression = fmt::format("({} OR ({}))", phrase(word), all),
            .phrases = 1 + parts.size()};
}

Term run_term(std::string_view run) {
    const bool is_single = characters_of(run).size() == 1;
    return {.expression = phrase(run) + (is_single ? "*" : ""), .run = std::string(run)};
}

}  // namespace

std::vector<Term> pairs_of(const Term& term) {
    std::vector<Term> pairs;
    const auto characters = characters_of(term.run);
    for (std::size_t at = 0; characters.size() > 2 && at + 1 < characters.size(); ++at)
        pairs.push_back(run_term(std::string(characters[at]) + std::string(characters[at + 1])));
    return pairs;
}

std::vector<Term> terms_of(std::string_view text, const std::vector<Token>& tokens) {
    std::vector<Term> terms;
    const auto add = [&](Term term) {
        if (terms.size() < kTermsMax && std::ranges::find(terms, term) == terms.end())
            terms.push_back(std::move(term));
    };
    auto token = tokens.begin();
    for (const auto& segment : segments_of(text)) {
        if (segment.script == Script::Runs)
            add(run_term(text.substr(segment.begin, segment.end - segment.begin)));
        for (; token != tokens.end() && token->begin < segment.end; ++token)
            if (segment.script == Script::Words && !token->is_part)
                add(word_term(text.substr(token->begin, token->end - token->begin)));
    }
    return terms;
}

std::string match_expression(const std::vector<Term>& terms, Join join) {
    std::string out;
    for (const auto& term : terms)
        out += (out.empty() ? "" : join == Join::All ? " AND " : " OR ") + term.expression;
    return out;
}

}  // namespace fts
