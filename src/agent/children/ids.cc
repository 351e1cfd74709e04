#include "agent/children/ids.h"

#include "base/hash.h"

namespace children {
namespace {

constexpr std::size_t kTopDigits = 12;
constexpr std::size_t kOwnDigits = 20;

}  // namespace

domain::AgentId child_id(const domain::AgentId& top, std::string_view seed) {
    return {prefix_below(top.value) +
            base::sha256_hex(fmt::format("child {}", seed)).substr(0, kOwnDigits)};
}

std::string prefix_below(std::string_view top) {
    return std::string(domain::kChildPrefix) +
           base::sha256_hex(fmt::format("children of {}", top)).substr(0, kTopDigits);
}

}  // namespace children
