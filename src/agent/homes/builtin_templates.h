// The templates that come with the program.
#pragma once

#include <span>
#include <string_view>

namespace homes {

// Raised with every change of the texts below.
inline constexpr std::int64_t kBuiltinVersion = 1;
inline constexpr std::string_view kDefaultTemplate = "holon-default";

struct BuiltinTemplate {
    std::string_view id;
    std::string_view agents_md;
    std::string_view skills_json{};  // Empty: the template has no skills.
};

std::span<const BuiltinTemplate> builtin_templates();
// Null when there is none with this id.
const BuiltinTemplate* find_builtin(std::string_view id);

}  // namespace homes
