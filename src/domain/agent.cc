#include "domain/agent.h"

#include <algorithm>
#include <cctype>

namespace domain {

bool is_agent_id(std::string_view text) {
    constexpr std::size_t kAgentIdCharsMax = 64;
    const auto allowed = [](unsigned char c) {
        return c < 0x80 && (std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_');
    };
    return !text.empty() && text.size() <= kAgentIdCharsMax && std::ranges::all_of(text, allowed) &&
           text.find_first_not_of('.') != std::string_view::npos;
}

}  // namespace domain
