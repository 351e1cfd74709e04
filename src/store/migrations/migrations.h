// Brings a database to the schema this program was built for.
//
// A step is SQL, applied in one transaction, or code that works in batches, each one transaction;
// a new database gets all of them in one.
// Every transaction also stores how far the step is, so a crash between or inside transactions
// loses nothing, and the next start continues there. Steps are never edited once released: a change
// of the schema is a new step.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "store/sql/connection.h"

namespace migrations {

// What one batch of a code step has done.
struct Batch {
    // Where the next batch starts, in the step's own words (the last key, a count). Stored in the
    // transaction of the batch. Must differ from the one the batch received unless it was the last.
    std::string progress;
    bool is_last{false};  // Nothing is left to do.
};

// Does a bounded part of the work, so that other processes never wait long for the database, and
// says where the next call starts. `progress` is empty in the first call. It runs inside a write
// transaction that migrate() owns: it neither begins nor commits one. A failure undoes this batch
// only; the batches before it stay, and the next start calls it with the same `progress`.
using BatchFunction = base::Result<Batch> (*)(sql::Connection& connection,
                                              std::string_view progress);

struct Step {
    // Rising, but with gaps where steps come in from elsewhere: a step that is missing is applied
    // although a later one is there, so it may not depend on its neighbours.
    std::int64_t number;
    std::string_view name;
    std::variant<std::string_view, BatchFunction> work;  // A script in SQL, or code.
};

// All steps of this program, in order.
std::span<const Step> steps();

// Called with the highest step that the database has.
using BeforeChange = std::function<base::Status(std::int64_t version)>;

// Applies what is missing and continues what is begun. On return the database has all of `known`.
// Refused, with nothing changed, when the database has a step that this program does not know. Any
// other failure names the step; what was committed before stays, and a repeated call continues
// there. Several processes may call this on one database at the same time.
//
// `before` is called once, outside of a transaction, when a database that has steps is about to get
// more, and before the first of them; a failure of it is returned, and no step is applied. It is
// not called again when an interrupted step continues.
base::Status migrate(sql::Connection& connection, std::span<const Step> known = steps(),
                     const BeforeChange& before = {});

}  // namespace migrations
