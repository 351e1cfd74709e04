#include "store/fts/ranking.h"

#include <cmath>

#include <sqlite3.h>

#include "store/fts/index.h"
#include "store/fts/tokenizer.h"

namespace fts {
namespace {

// The usual constants of BM25, and how much more a word in the title says.
constexpr double kSaturation = 1.2;
constexpr double kLengthShare = 0.75;
constexpr double kTitleWeight = 3.0;
constexpr int kTitleColumn = 1;  // Of documents_fts.
constexpr double kMicro = 1e6;
// A document that repeats a word more often than that is not read further.
constexpr int kInstancesMax = 512;

void rank(const Fts5ExtensionApi* api, Fts5Context* row, sqlite3_context* result, int count,
          sqlite3_value** values) {
    const auto& weights = *static_cast<const Weights*>(api->xUserData(row));
    const double bytes = count > 0 ? sqlite3_value_double(values[0]) : 0;
    std::vector<double> frequencies(weights.phrases.size(), 0);
    int instances = 0;
    int code = api->xInstCount(row, &instances);
    for (int i = 0; code == SQLITE_OK && i < std::min(instances, kInstancesMax); ++i) {
        int phrase = 0;
        int column = 0;
        int offset = 0;
        code = api->xInst(row, i, &phrase, &column, &offset);
        if (code == SQLITE_OK && static_cast<std::size_t>(phrase) < frequencies.size())
            frequencies[static_cast<std::size_t>(phrase)] +=
                column == kTitleColumn ? kTitleWeight : 1.0;
    }
    if (code != SQLITE_OK) return sqlite3_result_error_code(result, code);
    const double length =
        kSaturation * (1 - kLengthShare + kLengthShare * bytes / weights.average_bytes);
    double score = 0;
    for (std::size_t i = 0; i < frequencies.size(); ++i)
        score +=
            weights.phrases[i] * frequencies[i] * (kSaturation + 1) / (frequencies[i] + length);
    sqlite3_result_int64(result, static_cast<sqlite3_int64>(score * kMicro));
}

}  // namespace

double inverse_frequency(double documents, double matching) {
    return std::log(1 + (std::max(documents - matching, 0.0) + 0.5) / (matching + 0.5));
}

double recency(double age_hours) {
    const double half_life = static_cast<double>(kRecencyHalfLife.count());
    return 0.5 + 0.5 * std::exp2(-std::max(age_hours, 0.0) / half_life);
}

base::Status add_ranking(sqlite3* database, const Weights* weights) {
    auto* api = TRY(fts5_of(database));
    if (api->xCreateFunction(api, "holon_rank", const_cast<Weights*>(weights), rank, nullptr) !=
        SQLITE_OK)
        return base::fail(base::ErrorCode::Internal, "SQLite refused the ranking function: {}",
                          sqlite3_errmsg(database));
    return {};
}

}  // namespace fts
