// The two tools by which an agent searches its memory and reads what it has found.
#pragma once

#include <memory>

#include "base/os/loop.h"
#include "base/time.h"
#include "exec/tools/registry.h"
#include "exec/tools/tool.h"
#include "store/store.h"

namespace memory_tools {

// All of them outlive the tools.
struct Parts {
    store::Store& store;
    base::Loop& loop;
    base::Clock& clock;
};

// The kind of the error for a handle that is well-formed and leads nowhere.
inline constexpr std::string_view kSourceNotFound = "memory_source_not_found";

// Adds MemorySearch and MemoryGet, in this order.
void add_all(tools::Registry& registry, Parts parts);

}  // namespace memory_tools
