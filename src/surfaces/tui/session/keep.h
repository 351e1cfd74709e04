// What the console remembers between starts: the agent, the display mode, the history and drafts.
// One small file of its own; a damaged one is as good as none.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/typed.h"

namespace tui {

inline constexpr std::size_t kKeptBytesMax = 4 * 1024 * 1024;
inline constexpr std::size_t kKeptHistoryMax = 200;
inline constexpr std::size_t kKeptTextMax = 16 * 1024;  // Longer entries are not kept.

struct Kept {
    std::string last_selected_agent_id{};
    std::string display{"info"};
    std::vector<std::string> history{};  // Oldest first.
    std::map<std::string, std::string> drafts{};
    friend bool operator==(const Kept&, const Kept&) = default;
};
BOOST_DESCRIBE_STRUCT(Kept, (), (last_selected_agent_id, display, history, drafts))
constexpr auto describe_fields(const Kept*) {
    return std::to_array<base::FieldDoc>({{.field = "last_selected_agent_id", .has_default = true},
                                          {.field = "display", .has_default = true},
                                          {.field = "history", .has_default = true},
                                          {.field = "drafts", .has_default = true}});
}

Kept load_kept(const std::filesystem::path& file);
// Fails silently: nothing that matters is lost.
void save_kept(const std::filesystem::path& file, Kept kept);

}  // namespace tui
