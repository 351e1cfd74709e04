// Ids of children. They say whose settings hold for the child, without a read of the store.
#pragma once

#include <string>
#include <string_view>

#include "domain/agent.h"

namespace children {

// The id of a child below `top`, the agent that is nobody's child: the prefix of children, a digest
// of the id of `top`, and a digest of `seed`. The same for the same values.
domain::AgentId child_id(const domain::AgentId& top, std::string_view seed);

// What the ids of all children below `top` begin with.
std::string prefix_below(std::string_view top);

}  // namespace children
