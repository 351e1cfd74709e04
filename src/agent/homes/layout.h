// What is in a home, and how it gets there without a link being followed or a file being replaced.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/skills/tree.h"
#include "base/json.h"

namespace homes {

struct HomeContent {
    std::optional<std::string> agents_md{};
    std::vector<skills::Tree> skills{};
    std::optional<json::object> provenance{};  // For .holon/state/template-provenance.json
};

// Adds the fixed folders and files and `content` to `home`, which is made if need be. What exists
// is left as it is. On disk when it returns.
base::Status fill(const std::filesystem::path& home, const HomeContent& content);

// Is there nothing in it but what taking its lock makes? True for one that does not exist.
bool is_blank(const std::filesystem::path& home);

}  // namespace homes
