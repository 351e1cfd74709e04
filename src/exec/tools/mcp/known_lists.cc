#include "exec/tools/mcp/known_lists.h"

#include "base/hash.h"
#include "base/os/files.h"
#include "exec/tools/mcp/session.h"

namespace mcp {
namespace {

constexpr std::size_t kFileBytesMax = 2 * kListBytesMax;
constexpr mode_t kFolderMode = 0700;
constexpr mode_t kListMode = 0600;

// What makes a server another one. The values of its variables and headers are secrets, and stay
// out.
std::string fingerprint(const config::McpServer& server) {
    json::array words{json::string(server.command), json::string(server.url),
                      json::string(server.cwd.string())};
    for (const auto& word : server.args) words.push_back(json::string(word));
    for (const auto& [name, value] : server.environment) words.push_back(json::string(name));
    for (const auto& [name, value] : server.headers) words.push_back(json::string(name));
    return base::sha256_hex(base::json_text(words));
}

}  // namespace

std::optional<Listed> known_list(const std::filesystem::path& file,
                                 const config::McpServer& server) {
    if (file.empty()) return std::nullopt;
    const auto text = base::read_file(file, kFileBytesMax);
    if (!text) return std::nullopt;
    const auto document = base::parse_json(*text);
    if (!document || base::string_at(*document, "server") != fingerprint(server))
        return std::nullopt;
    const auto* tools = base::find(*document, "tools");
    if (!tools || !tools->is_array()) return std::nullopt;
    return Listed{.tools = {tools->get_array().begin(), tools->get_array().end()},
                  .has_resources = base::bool_at(*document, "has_resources")};
}

base::Status keep_list(const std::filesystem::path& file, const config::McpServer& server,
                       const Listed& listed) {
    TRY(base::make_folders(file.parent_path(), kFolderMode));
    const json::object document{{"server", fingerprint(server)},
                                {"tools", json::array(listed.tools.begin(), listed.tools.end())},
                                {"has_resources", listed.has_resources}};
    return base::write_file_atomic(file, base::json_text(document), kListMode);
}

}  // namespace mcp
