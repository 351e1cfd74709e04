#include "store/fts/index.h"

#include <algorithm>
#include <cmath>

#include <sqlite3.h>

#include "base/text.h"
#include "store/fts/query.h"
#include "store/fts/ranking.h"
#include "store/fts/segments.h"
#include "store/fts/tokenizer.h"

namespace fts {
namespace {

using base::ErrorCode;
using base::fail;

namespace fs = std::filesystem;

// Raised whenever a token or a table changes: an older file is replaced.
constexpr std::int64_t kVersion = 2;

// Kinds and scopes are numbers of names; 0 is the empty one. The columns of document_ranks are
// apart from the texts, so that thousands of candidates are weighed within few pages. Nearly all
// words are those of bodies, and FTS5 writes two bytes more for each that is not in the first
// column.
constexpr std::string_view kSchema = R"(
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    source_ref TEXT NOT NULL UNIQUE,
    kind INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    details TEXT NOT NULL,
    title TEXT NOT NULL,
    original_body TEXT NOT NULL
) STRICT;
CREATE INDEX documents_by_kind ON documents (kind, scope, sequence);
CREATE TABLE document_ranks (
    id INTEGER PRIMARY KEY,
    bytes INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    weight INTEGER NOT NULL,
    scope INTEGER NOT NULL
) STRICT;
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE totals (documents INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
INSERT INTO totals VALUES (0, 0);
CREATE TABLE cursors (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE documents_fts USING fts5(
    body, title, content='', columnsize=0, tokenize='holon');
)";

// A term is counted up to this many documents, from the newest on; what is beyond is estimated.
constexpr std::int64_t kSampleMax = 512;
// Terms in more than this part of many documents say little.
constexpr double kFrequentShare = 0.1;
constexpr double kFrequentFrom = 2000;
// Entries of common terms that one search reads, at most about.
constexpr double kEntriesMax = 30'000;
constexpr std::int64_t kNoSuchName = -1;
constexpr double kMicro = 1e6;
constexpr double kMicrosPerHour = 3.6e9;
constexpr std::size_t kSnippetChars = 240;
constexpr std::size_t kSnippetLead = 60;  // Before the first match.
// What is read of a body for its snippet.
constexpr std::size_t kSnippetBytesMax = 64 * 1024;

std::string_view indexed(std::string_view text) {
    return text.substr(0, kIndexedBytesMax);
}

Result<std::int64_t> number(sqlite::Connection& connection, std::string_view statement,
                            sql::Params params) {
    std::int64_t value = 0;
    TRY(connection.query(statement, params, [&](const sql::Row& row) -> Status {
        value = row.integer(0);
        return {};
    }));
    return value;
}

Status remove_link(const fs::path& file) {
    std::error_code error;
    if (fs::is_symlink(file, error)) fs::remove(file, error);
    if (error && error != std::errc::no_such_file_or_directory)
        return fail(ErrorCode::Io, "cannot remove the link {}: {}", file.string(), error.message());
    return {};
}

// How many documents have the term, at most estimated.
Result<double> matching(sqlite::Connection& connection, const std::string& expression,
                        double documents, std::int64_t newest) {
    std::int64_t count = 0;
    std::int64_t oldest = newest;
    TRY(
        connection.query("SELECT rowid FROM documents_fts WHERE documents_fts MATCH $1"
                         " ORDER BY rowid DESC LIMIT $2",
                         {expression, kSampleMax}, [&](const sql::Row& row) -> Status {
                             ++count;
                             oldest = row.integer(0);
                             return {};
                         }));
    if (count < kSampleMax) return static_cast<double>(count);
    const auto seen = static_cast<double>(newest - oldest + 1);
    return std::clamp(static_cast<double>(count) * documents / seen, static_cast<double>(count),
                      std::max(documents, static_cast<double>(count)));
}

// The only character of a query is wanted wherever a pair begins with it.
bool is_wanted(const std::vector<std::string>& wanted, const std::string& token) {
    if (std::ranges::binary_search(wanted, token)) return true;
    const auto segments = segments_of(token);
    return !segments.empty() && segments.front().script == Script::Runs &&
           std::ranges::binary_search(wanted, characters_of(token).front());
}

// On one line, around the place where most of the wanted tokens are near each other.
std::string snippet_of(sqlite3* database, const std::string& body,
                       const std::vector<std::string>& wanted) {
    const std::string text = base::to_utf8(std::string_view(body).substr(0, kSnippetBytesMax));
    std::vector<std::size_t> places;
    if (const auto tokens = tokens_of(database, text))
        for (const auto& token : *tokens)
            if (is_wanted(wanted, token.text)) places.push_back(token.begin);
    std::size_t best = 0;
    std::size_t most = 0;
    for (std::size_t first = 0, last = 0; first < places.size(); ++first) {
        while (last < places.size() && places[last] < places[first] + kSnippetChars - kSnippetLead)
            ++last;
        if (last - first > most) {
            most = last - first;
            best = places[first];
        }
    }
    const auto before = base::last_chars(std::string_view(text).substr(0, best), kSnippetLead);
    const auto begin = best - before.size();
    const auto shown = base::collapse_whitespace(
        base::first_chars(std::string_view(text).substr(begin), kSnippetChars));
    const bool is_cut = body.size() > begin + shown.size() + kSnippetLead;
    return (begin > 0 ? "…" : "") + shown + (is_cut ? "…" : "");
}

}  // namespace

struct Index::Ranking {
    Weights weights{};
};

Index::Index(std::unique_ptr<sqlite::Connection> connection)
    : connection_(std::move(connection)), ranking_(std::make_unique<Ranking>()) {}
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;
Index::~Index() {
    connection_.reset();
}

Status Index::set_up() {
    auto& connection = *connection_;
    TRY(connection.set_durability(store::Durability::Process));
    // What is erased does not stay in free pages: an agent's text goes with the agent.
    TRY(connection.run_script("PRAGMA secure_delete = ON"));
    TRY(add_tokenizer(connection.handle()));
    TRY(add_ranking(connection.handle(), &ranking_->weights));
    const auto version = TRY(number(connection, "PRAGMA user_version", {}));
    if (version == kVersion) return {};
    if (version != 0 || TRY(number(connection, "SELECT count(*) FROM sqlite_schema", {})) != 0)
        return fail(ErrorCode::Corrupt, "the index is of another version");
    return write([](Index& index) -> Status {
        // Another process may have made the tables meanwhile.
        if (TRY(number(*index.connection_, "PRAGMA user_version", {})) == kVersion) return {};
        TRY(index.connection_->run_script(kSchema));
        return index.connection_->run_script(fmt::format("PRAGMA user_version = {}", kVersion));
    });
}

Result<Index> Index::open(const fs::path& file) {
    TRY(remove_link(file));
    for (bool is_second = false;; is_second = true) {
        auto opened = sqlite::Connection::open({.file = file});
        if (opened) {
            Index index(std::move(*opened));
            auto ready = index.set_up();
            if (ready) return index;
            opened = std::unexpected(std::move(ready).error());
        }
        if (is_second || opened.error().code != ErrorCode::Corrupt)
            return std::unexpected(std::move(opened).error());
        TRY(remove_index(file));
    }
}

Status Index::write(const std::function<Status(Index&)>& change) {
    TRY(connection_->begin(sql::Access::Write));
    auto status = change(*this);
    if (status) status = connection_->commit();
    if (!status) connection_->rollback();
    return status;
}

Result<std::int64_t> Index::name_id(const std::string& name, bool create) {
    if (name.empty()) return 0;
    const auto id = TRY(number(*connection_, "SELECT id FROM names WHERE name = $1", {name}));
    if (id != 0) return id;
    if (!create) return kNoSuchName;
    TRY(connection_->execute("INSERT INTO names (name) VALUES ($1)", {name}));
    return number(*connection_, "SELECT last_insert_rowid()", {});
}

Status Index::count_change(std::int64_t documents, std::int64_t bytes) {
    TRY(connection_->execute("UPDATE totals SET documents = documents + $1, bytes = bytes + $2",
                             {documents, bytes}));
    return {};
}

Status Index::put(const Document& document) {
    TRY(erase(document.source_ref));
    const auto kind = TRY(name_id(document.kind, true));
    const auto scope = TRY(name_id(document.scope, true));
    TRY(connection_->execute(
        "INSERT INTO documents (source_ref, kind, scope, sequence, details, title, original_body)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7)",
        {document.source_ref, kind, scope, document.sequence, document.details, document.title,
         document.body}));
    const auto id = TRY(number(*connection_, "SELECT last_insert_rowid()", {}));
    const auto bytes =
        static_cast<std::int64_t>(document.title.size() + indexed(document.body).size());
    TRY(connection_->execute(
        "INSERT INTO document_ranks (id, bytes, updated_at, weight, scope)"
        " VALUES ($1, $2, $3, $4, $5)",
        {id, bytes, base::to_micros(document.updated_at), document.weight, scope}));
    TRY(connection_->execute("INSERT INTO documents_fts (rowid, title, body) VALUES ($1, $2, $3)",
                             {id, document.title, indexed(document.body)}));
    return count_change(1, bytes);
}

Status Index::erase(const std::string& source_ref) {
    std::int64_t id = 0;
    std::string title;
    std::string body;
    TRY(connection_->query("SELECT id, title, original_body FROM documents WHERE source_ref = $1",
                           {source_ref}, [&](const sql::Row& row) -> Status {
                               id = row.integer(0);
                               title = row.text(1);
                               body = row.text(2);
                               return {};
                           }));
    if (id == 0) return {};
    // The index keeps no text of its own; what is taken out has to be said.
    TRY(
        connection_->execute("INSERT INTO documents_fts (documents_fts, rowid, title, body)"
                             " VALUES ('delete', $1, $2, $3)",
                             {id, title, indexed(body)}));
    TRY(connection_->execute("DELETE FROM documents WHERE id = $1", {id}));
    TRY(connection_->execute("DELETE FROM document_ranks WHERE id = $1", {id}));
    return count_change(-1, -static_cast<std::int64_t>(title.size() + indexed(body).size()));
}

Status Index::erase_below(const std::string& kind, const std::optional<std::string>& scope,
                          std::int64_t sequence) {
    std::vector<std::string> refs;
    const auto add = [&](const sql::Row& row) -> Status {
        refs.emplace_back(row.text(0));
        return {};
    };
    const auto kind_id = TRY(name_id(kind, false));
    if (scope)
        TRY(
            connection_->query("SELECT source_ref FROM documents WHERE kind = $1 AND scope = $2"
                               " AND sequence < $3",
                               {kind_id, TRY(name_id(*scope, false)), sequence}, add));
    else
        TRY(connection_->query("SELECT source_ref FROM documents WHERE kind = $1 AND sequence < $2",
                               {kind_id, sequence}, add));
    for (const auto& ref : refs) TRY(erase(ref));
    return {};
}

Status Index::set_cursor(const std::string& name, const std::string& value) {
    TRY(
        connection_->execute("INSERT INTO cursors (name, value) VALUES ($1, $2)"
                             " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                             {name, value}));
    return {};
}

Status Index::erase_cursor(const std::string& name) {
    TRY(connection_->execute("DELETE FROM cursors WHERE name = $1", {name}));
    return {};
}

Result<std::string> Index::cursor(const std::string& name) {
    std::string value;
    TRY(connection_->query("SELECT value FROM cursors WHERE name = $1", {name},
                           [&](const sql::Row& row) -> Status {
                               value = row.text(0);
                               return {};
                           }));
    return value;
}

Result<std::vector<std::pair<std::string, std::string>>> Index::cursors(const std::string& prefix) {
    std::vector<std::pair<std::string, std::string>> list;
    TRY(connection_->query("SELECT name, value FROM cursors WHERE name >= $1 ORDER BY name",
                           {prefix}, [&](const sql::Row& row) -> Status {
                               if (row.text(0).starts_with(prefix))
                                   list.emplace_back(row.text(0), row.text(1));
                               return {};
                           }));
    return list;
}

Result<std::optional<Document>> Index::get(const std::string& source_ref) {
    std::optional<Document> found;
    TRY(connection_->query(
        "SELECT (SELECT name FROM names WHERE id = d.kind),"
        " (SELECT name FROM names WHERE id = d.scope), d.details, d.title, d.original_body, "
        "r.updated_at, r.weight,"
        " d.sequence"
        " FROM documents d JOIN document_ranks r ON r.id = d.id WHERE d.source_ref = $1",
        {source_ref}, [&](const sql::Row& row) -> Status {
            found = Document{.source_ref = source_ref,
                             .kind = std::string(row.text(0)),
                             .scope = std::string(row.text(1)),
                             .title = std::string(row.text(3)),
                             .body = std::string(row.text(4)),
                             .details = std::string(row.text(2)),
                             .updated_at = base::from_micros(row.integer(5)),
                             .sequence = row.integer(7),
                             .weight = row.integer(6)};
            return {};
        }));
    return found;
}

Result<std::vector<std::string>> Index::refs(const std::string& kind, const std::string& after,
                                             std::int64_t limit) {
    const auto kind_id = TRY(name_id(kind, false));
    std::vector<std::string> list;
    TRY(
        connection_->query("SELECT source_ref FROM documents WHERE kind = $1 AND source_ref > $2"
                           " ORDER BY source_ref LIMIT $3",
                           {kind_id, after, limit}, [&](const sql::Row& row) -> Status {
                               list.emplace_back(row.text(0));
                               return {};
                           }));
    return list;
}

Result<std::int64_t> Index::count() {
    return number(*connection_, "SELECT documents FROM totals", {});
}

Status Index::compact() {
    TRY(connection_->execute("INSERT INTO documents_fts (documents_fts) VALUES ('optimize')", {}));
    return {};
}

// What a query asks for, with how common each part of it is.
struct Index::Plan {
    struct Weighed {
        Term term;
        double matching{0};
    };
    std::vector<Weighed> terms{};       // Rarest first, without those that are too common.
    bool finds_all{false};              // Every term of the query is in some document.
    std::vector<std::string> wanted{};  // Tokens for the snippet, sorted.
    double documents{0};
    double average_bytes{1};
    std::int64_t newest{0};  // The highest id.
};

struct Index::Candidate {
    std::int64_t id{0};
    double score{0};
};

Result<Index::Plan> Index::plan(std::string_view text) {
    Plan plan;
    const auto asked = text.substr(0, kQueryBytesMax);
    const auto tokens = TRY(tokens_of(connection_->handle(), asked));
    for (const auto& token : tokens) plan.wanted.push_back(token.text);
    std::ranges::sort(plan.wanted);
    TRY(connection_->query(
        "SELECT documents, bytes FROM totals", {}, [&](const sql::Row& row) -> Status {
            plan.documents = static_cast<double>(row.integer(0));
            const auto bytes = static_cast<double>(row.integer(1));
            plan.average_bytes = std::max(1.0, bytes / std::max(1.0, plan.documents));
            return {};
        }));
    plan.newest = TRY(number(*connection_, "SELECT max(id) FROM document_ranks", {}));
    const auto add = [&](const Term& term) -> Status {
        const auto count =
            TRY(matching(*connection_, term.expression, plan.documents, plan.newest));
        plan.terms.push_back({term, count});
        return {};
    };
    for (const auto& term : terms_of(asked, tokens)) {
        TRY(add(term));
        // Words that stand side by side in the query may be apart in the text.
        if (plan.terms.back().matching == 0)
            for (const auto& pair : pairs_of(term))
                if (plan.terms.size() < kTermsMax) TRY(add(pair));
    }
    std::ranges::sort(plan.terms, [](const auto& a, const auto& b) {
        return std::tie(a.matching, a.term.expression) < std::tie(b.matching, b.term.expression);
    });
    plan.finds_all = !plan.terms.empty() && plan.terms.front().matching > 0;
    std::erase_if(plan.terms, [](const auto& weighed) { return weighed.matching == 0; });
    if (plan.documents < kFrequentFrom) return plan;
    while (plan.terms.size() > 1 && plan.terms.back().matching > kFrequentShare * plan.documents)
        plan.terms.pop_back();
    return plan;
}

// The oldest id that documents with all terms are looked for from. Where every term is common, all
// of their lists would be read to the end; the newest part of them has hits enough.
std::int64_t Index::oldest_considered(const Plan& plan) {
    if (plan.terms.front().matching <= static_cast<double>(kCandidatesMax)) return 0;
    double sum = 0;
    for (const auto& weighed : plan.terms) sum += weighed.matching;
    return plan.newest - static_cast<std::int64_t>(kEntriesMax * plan.documents / sum);
}

// Newest first, so that the bound leaves out the oldest. Of documents with some of the terms, those
// with the rarest come first: common terms may not crowd them out.
Result<std::vector<Index::Candidate>> Index::candidates(const Query& query, const Plan& plan,
                                                        bool need_all) {
    std::vector<Term> terms;
    auto& weights = ranking_->weights;
    weights = {.average_bytes = plan.average_bytes};
    double sum = 0;
    for (const auto& [term, matching] : plan.terms) {
        sum += matching;
        if (!need_all && !terms.empty() && sum > static_cast<double>(kCandidatesMax)) break;
        const auto inverse = inverse_frequency(plan.documents, matching);
        weights.phrases.push_back(inverse);
        for (std::size_t part = 1; part < term.phrases; ++part)
            weights.phrases.push_back(inverse / static_cast<double>(term.phrases - 1));
        terms.push_back(term);
    }
    constexpr std::int64_t kEveryScope = -2;
    const auto scope = query.scope ? TRY(name_id(*query.scope, false)) : kEveryScope;
    const auto since = query.since ? base::to_micros(*query.since) : 0;
    const auto now = base::to_micros(query.now);
    std::vector<Candidate> list;
    TRY(connection_->query(
        "SELECT documents_fts.rowid, holon_rank(documents_fts, r.bytes), r.updated_at, r.weight"
        " FROM documents_fts CROSS JOIN document_ranks r ON r.id = documents_fts.rowid"
        " WHERE documents_fts MATCH $1 AND ($2 = -2 OR r.scope = 0 OR r.scope = $2)"
        " AND r.updated_at >= $3 AND documents_fts.rowid >= $5"
        " ORDER BY documents_fts.rowid DESC LIMIT $4",
        {match_expression(terms, need_all ? Join::All : Join::Any), scope, since, kCandidatesMax,
         need_all ? oldest_considered(plan) : 0},
        [&](const sql::Row& row) -> Status {
            const auto age = static_cast<double>(now - row.integer(2)) / kMicrosPerHour;
            list.push_back({row.integer(0), static_cast<double>(row.integer(1)) / kMicro *
                                                recency(age) * static_cast<double>(row.integer(3)) /
                                                100});
            return {};
        }));
    const auto best = std::min<std::size_t>(list.size(), static_cast<std::size_t>(query.limit));
    std::ranges::partial_sort(list, list.begin() + static_cast<std::ptrdiff_t>(best),
                              [](const Candidate& a, const Candidate& b) {
                                  return a.score != b.score ? a.score > b.score : a.id > b.id;
                              });
    list.resize(best);
    return list;
}

Result<Hit> Index::hit(const Candidate& candidate, const Plan& plan) {
    std::string ref;
    TRY(connection_->query("SELECT source_ref FROM documents WHERE id = $1", {candidate.id},
                           [&](const sql::Row& row) -> Status {
                               ref = row.text(0);
                               return {};
                           }));
    auto document = TRY(get(ref));
    if (!document)
        return fail(ErrorCode::Corrupt, "the index finds a document that it does not have");
    auto snippet = snippet_of(connection_->handle(), document->body, plan.wanted);
    return Hit{std::move(*document), candidate.score, std::move(snippet)};
}

Result<std::vector<Hit>> Index::search(const Query& query) {
    auto bounded = query;
    bounded.limit = std::clamp<std::int64_t>(query.limit, 1, kHitsMax);
    std::vector<Hit> hits;
    const auto plan = TRY(this->plan(bounded.text));
    if (plan.terms.empty()) return hits;
    std::vector<Candidate> found;
    if (plan.finds_all) found = TRY(candidates(bounded, plan, true));
    if (std::ssize(found) < bounded.limit && (plan.terms.size() > 1 || !plan.finds_all))
        for (const auto& candidate : TRY(candidates(bounded, plan, false)))
            if (std::ssize(found) < bounded.limit &&
                std::ranges::find(found, candidate.id, &Candidate::id) == found.end())
                found.push_back(candidate);
    for (const auto& candidate : found) hits.push_back(TRY(hit(candidate, plan)));
    return hits;
}

Status remove_index(const fs::path& file) {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
        std::error_code error;
        fs::remove(file.string() + suffix, error);
        if (error)
            return fail(ErrorCode::Io,
                        "cannot remove {}{}: {}. Remove it yourself; it is made again.",
                        file.string(), suffix, error.message());
    }
    return {};
}

Status with_index(const fs::path& file, const std::function<Status(Index&)>& use) {
    {
        auto index = TRY(Index::open(file));
        auto status = use(index);
        if (status || status.error().code != ErrorCode::Corrupt) return status;
    }
    TRY(remove_index(file));
    auto index = TRY(Index::open(file));
    return use(index);
}

}  // namespace fts
