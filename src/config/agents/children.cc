#include "config/agents/children.h"

#include <string_view>

namespace config {
namespace {

// The way from a child to the agent at the top is walked in each of its steps.
constexpr std::int64_t kDepthMax = 8;
constexpr std::int64_t kAliveMax = 100'000;
constexpr std::int64_t kSpendMax = std::int64_t{1} << 50;

base::Status check_limit_of_children(const std::optional<std::int64_t>& value,
                                     std::string_view member, std::int64_t max) {
    if (!value || (*value > 0 && *value <= max)) return {};
    return base::fail(base::ErrorCode::InvalidInput, "/children/{}: must be 1 to {}, got {}",
                      member, max, *value);
}

}  // namespace

base::Status check_children(const ChildrenSection& section) {
    TRY(check_limit_of_children(section.max_depth, "max_depth", kDepthMax));
    TRY(check_limit_of_children(section.max_alive, "max_alive", kAliveMax));
    TRY(check_limit_of_children(section.max_tree_alive, "max_tree_alive", kAliveMax));
    TRY(check_limit_of_children(section.max_tree_tokens, "max_tree_tokens", kSpendMax));
    TRY(check_limit_of_children(section.max_tree_wall_ms, "max_tree_wall_ms", kSpendMax));
    return check_limit_of_children(section.max_named, "max_named", kAliveMax);
}

Children children_of(const ChildrenSection& section) {
    Children set;
    set.max_depth = section.max_depth.value_or(set.max_depth);
    set.max_alive = section.max_alive.value_or(set.max_alive);
    set.max_tree_alive = section.max_tree_alive.value_or(set.max_tree_alive);
    set.max_tree_tokens = section.max_tree_tokens.value_or(set.max_tree_tokens);
    set.max_tree_wall_ms = section.max_tree_wall_ms.value_or(set.max_tree_wall_ms);
    set.max_named = section.max_named.value_or(set.max_named);
    return set;
}

}  // namespace config
