// How far agents may delegate: `children` of config.json.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/typed.h"

namespace config {

struct ChildrenSection {
    std::optional<std::int64_t> max_depth{};
    std::optional<std::int64_t> max_alive{};
    std::optional<std::int64_t> max_tree_alive{};
    std::optional<std::int64_t> max_tree_tokens{};
    std::optional<std::int64_t> max_tree_wall_ms{};
    std::optional<std::int64_t> max_named{};
};
BOOST_DESCRIBE_STRUCT(ChildrenSection, (),
                      (max_depth, max_alive, max_tree_alive, max_tree_tokens, max_tree_wall_ms,
                       max_named))

struct Children {
    std::int64_t max_depth{2};        // 1: children have no children.
    std::int64_t max_alive{8};        // Of one parent.
    std::int64_t max_tree_alive{32};  // Below one agent that is nobody's child.
    // Of a child of such an agent and everything below that child.
    std::int64_t max_tree_tokens{5'000'000};
    std::int64_t max_tree_wall_ms{std::int64_t{12} * 60 * 60 * 1000};  // Time spent in turns.
    std::int64_t max_named{32};  // Named agents that agents have made, all together.
    friend bool operator==(const Children&, const Children&) = default;
};

// InvalidInput, naming the member, for a bound that is not above 0 or beyond what is supported.
base::Status check_children(const ChildrenSection& section);

// Of a section that was checked.
Children children_of(const ChildrenSection& section);

}  // namespace config
