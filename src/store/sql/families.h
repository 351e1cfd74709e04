// Every table that holds records, with what its records are: for checks over all rows.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace sql {

struct Family {
    std::string_view table;
    std::string_view key;     // An SQL expression that names a row to people.
    std::string_view column;  // The one that holds the record.
    std::int64_t since{0};    // The migration that makes the table.
    // Corrupt when the bytes are not a record of this family.
    base::Status (*check)(std::string_view bytes);
};

std::span<const Family> families();

}  // namespace sql
