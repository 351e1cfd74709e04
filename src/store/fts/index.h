// Documents in, hits out: a full-text index in a file of its own.
//
// The index is no truth. Its owner can fill it again from records at any time, so a power cut may
// undo its newest commits, and a file that is damaged is replaced by an empty one.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "store/sql/sqlite/connection.h"

namespace fts {

using base::Result;
using base::Status;

// So many of the newest documents that match are ranked, so that a common word stays fast.
inline constexpr std::int64_t kCandidatesMax = 8000;
inline constexpr std::int64_t kHitsMax = 200;
// Of a longer text, the rest is stored, but not found.
inline constexpr std::size_t kIndexedBytesMax = 256 * 1024;
// A document of this age counts three quarters of a new one; a very old one half.
inline constexpr std::chrono::hours kRecencyHalfLife{24 * 30};

struct Document {
    std::string source_ref;  // Unique in the index.
    std::string kind;
    std::string scope;  // Empty: found in every scope.
    std::string title;
    std::string body;     // Any bytes; returned as they are.
    std::string details;  // JSON; the index does not read it.
    base::Time updated_at{};
    std::int64_t sequence{0};  // The owner's order within kind and scope; see erase_below().
    // How much a match in this source counts, in percent of an ordinary one.
    std::int64_t weight{100};
    friend bool operator==(const Document&, const Document&) = default;
};

struct Query {
    std::string text;
    std::optional<std::string> scope{};  // Only documents of this scope and of none; empty: all.
    std::optional<base::Time> since{};
    std::int64_t limit{10};
    base::Time now{};  // For the age of documents.
};

struct Hit {
    Document document;
    double score{0};      // BM25 x recency x source; higher is better.
    std::string snippet;  // The part of the body that matches best, on one line.
};

// One connection to an index. One thread at a time uses it; other processes may use the file at the
// same time.
class Index {
public:
    // Opens or creates the file, whose folder must exist. A file that is damaged, or of another
    // version, is replaced. A link at its place is removed, never followed.
    static Result<Index> open(const std::filesystem::path& file);
    Index(Index&&) noexcept;
    Index& operator=(Index&&) noexcept;
    ~Index();

    // Runs `change` in one transaction: all of it is committed or nothing.
    Status write(const std::function<Status(Index&)>& change);

    // Inside write(). ---------------------------------------------------------------------------
    Status put(const Document& document);  // Replaces the one with this source_ref.
    Status erase(const std::string& source_ref);
    // All of a kind, and of a scope where it is given, with a sequence below this one.
    Status erase_below(const std::string& kind, const std::optional<std::string>& scope,
                       std::int64_t sequence);
    // How far the owner has read one of its sources; empty when it was never set.
    Status set_cursor(const std::string& name, const std::string& value);
    Status erase_cursor(const std::string& name);

    Result<std::string> cursor(const std::string& name);
    // All cursors whose names begin with `prefix`, with their values.
    Result<std::vector<std::pair<std::string, std::string>>> cursors(const std::string& prefix);
    Result<std::optional<Document>> get(const std::string& source_ref);
    // All documents of a kind, by source_ref, after `after`.
    Result<std::vector<std::string>> refs(const std::string& kind, const std::string& after,
                                          std::int64_t limit);
    Result<std::int64_t> count();
    // Of the file.
    Result<sql::Size> size() { return connection_->size(); }

    // Best first. Documents with all terms come first; when they are fewer than `limit`, those with
    // some of them follow. Terms that are in a large part of all documents are left out while a
    // rarer one is there. A text without a word finds nothing.
    Result<std::vector<Hit>> search(const Query& query);

    // Rewrites the index into one piece. Worth it after very many writes.
    Status compact();

private:
    struct Ranking;
    struct Plan;
    struct Candidate;
    explicit Index(std::unique_ptr<sqlite::Connection> connection);
    Status set_up();
    Result<std::int64_t> name_id(const std::string& name, bool create);
    Status count_change(std::int64_t documents, std::int64_t bytes);
    Result<Plan> plan(std::string_view text);
    static std::int64_t oldest_considered(const Plan& plan);
    Result<std::vector<Candidate>> candidates(const Query& query, const Plan& plan, bool need_all);
    Result<Hit> hit(const Candidate& candidate, const Plan& plan);

    std::unique_ptr<sqlite::Connection> connection_;
    std::unique_ptr<Ranking> ranking_;  // Used by the connection, which is destroyed first.
};

// Removes the files of an index. No file: no error.
Status remove_index(const std::filesystem::path& file);

// Opens the index and calls `use`. When the file turns out to be damaged, it is replaced by an
// empty one and `use` is called once more.
Status with_index(const std::filesystem::path& file, const std::function<Status(Index&)>& use);

}  // namespace fts
