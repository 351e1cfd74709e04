// Brings a database to the schema this program was built for.
//
// Each step is one transaction that also writes its number to schema_migrations, so a crash between
// or inside steps loses nothing and the next start goes on where it stopped. Steps are never edited
// once released: a change of the schema is a new step.
#pragma once

#include <span>
#include <string_view>

#include "store/sql/connection.h"

namespace migrations {

struct Step {
    std::int64_t number;  // Rising; a number that is left out may be filled in later.
    std::string_view name;
    std::string_view script;
};

// All steps of this program, in order.
std::span<const Step> steps();

// Applies what is missing. Refused, with nothing changed, when the database has a step that this
// program does not know: it was written by a newer one.
base::Status migrate(sql::Connection& connection, std::span<const Step> known = steps());

}  // namespace migrations
