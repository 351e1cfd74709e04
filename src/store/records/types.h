// What the record families of a transaction have in common.
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

// A bounded page of an agent's records, oldest first unless `newest_first`.
struct Page {
    std::int64_t after_seq{0};   // Only records after this one (0: from the start).
    std::int64_t before_seq{0};  // Only records before this one (0: no bound).
    std::int64_t limit{128};
    bool newest_first{false};
};

template <class T>
struct Numbered {
    std::int64_t seq{0};
    T record;
};

}  // namespace store
