// What the record families of a transaction have in common.
//
// A family's functions are called as store.h says: inside the work that received the transaction,
// on its thread. Arguments are copied; what is returned belongs to the caller and does not change
// with the database. A read sees what the same transaction wrote before.
//
// Where a function says nothing else: a read of one record that is not there is empty, and a list
// is empty for an agent that is not there. A list with a `limit` has at most so many rows, and none
// for a negative one. A list without one is whole, or Refused beyond 16,384 rows. Corrupt means
// that a stored record cannot be read; it stays as it is, for a repair.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "domain/ids.h"

namespace store {

using base::Result;
using base::Status;
using domain::AgentId;
using domain::MessageId;
using domain::RunId;
using domain::ToolCallId;

// A bounded page of an agent's records, oldest first unless `newest_first`. Both bounds are
// exclusive, so the number of the last record that was read is where the next page begins.
struct Page {
    std::int64_t after_seq{0};   // Only records after this one (0: from the start).
    std::int64_t before_seq{0};  // Only records before this one (0: no bound).
    std::int64_t limit{128};
    bool newest_first{false};
};

// A record and its place among its kind in the history of its agent. Numbers begin at 1 and rise in
// the order of the commits; that of a removed record is not used again while the agent is there.
template <class T>
struct Numbered {
    std::int64_t seq{0};
    T record;
};

}  // namespace store
