// How one search weighs its candidates. Pure, but for the function it gives to SQLite.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

struct sqlite3;

namespace fts {

// What the ranking function reads while a search runs.
struct Weights {
    std::vector<double> phrases{};  // The inverse document frequency of each phrase of the query.
    double average_bytes{1};        // Of a document.
};

// ln(1 + (documents - matching + 0.5) / (matching + 0.5)): rarer is larger, never negative.
double inverse_frequency(double documents, double matching);

// 1 for a new document, 0.75 after the half-life, towards 0.5.
double recency(double age_hours);

// Adds the SQL function `holon_rank(documents_fts, bytes)`: BM25 of the row, times a million.
// `weights` outlives the connection.
base::Status add_ranking(sqlite3* database, const Weights* weights);

}  // namespace fts
