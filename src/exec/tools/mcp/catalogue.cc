#include "exec/tools/mcp/catalogue.h"

#include <algorithm>
#include <map>

#include "base/hash.h"
#include "base/plain_text.h"
#include "base/text.h"
#include "exec/tools/mcp/wire/schema.h"

namespace mcp {
namespace {

constexpr std::size_t kDigestChars = 8;
constexpr std::size_t kRemoteNameCharsMax = 256;
constexpr std::string_view kHeaderKeyword = "\"x-mcp-header\":";

bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
}

std::string shown(std::string_view name) {
    if (name.empty()) return "(no name)";
    return base::printable(base::ellipsize(base::to_utf8(name), kNameCharsMax));
}

// The text names its server: a model must not take it for ours.
std::string description_of(std::string_view server, const json::value& tool) {
    std::string words = base::string_at(tool, "description");
    if (words.empty()) words = base::string_at(tool, "title");
    const std::string plain = base::plain_text(words, kDescriptionCharsMax);
    return plain.empty() ? fmt::format("MCP server {} does not say what this does.", server)
                         : fmt::format("MCP server {} says: {}", server, plain);
}

bool is_chosen(const config::McpServer& server, const std::string& tool) {
    if (contains(server.deny, tool)) return false;
    return !server.allow || contains(*server.allow, tool);
}

base::Result<Offer> offer_of(const config::McpServer& server, const json::value& tool) {
    const std::string name = base::string_at(tool, "name");
    if (name.empty() || base::char_count(name) > kRemoteNameCharsMax)
        return base::fail(base::ErrorCode::InvalidInput, "it has no name of 1 to {} characters",
                          kRemoteNameCharsMax);
    const auto* schema = base::find(tool, "inputSchema");
    if (!server.url.empty() && schema && base::json_text(*schema).contains(kHeaderKeyword))
        return base::fail(base::ErrorCode::InvalidInput,
                          "it wants arguments repeated as headers, which is not supported");
    Offer offer{.name = offered_name(server.name, name),
                .remote_name = name,
                .description = description_of(server.name, tool),
                .input_schema = TRY(usable_schema(schema ? *schema : json::value()))};
    // One that cannot be used checks nothing.
    if (const auto* structure = base::find(tool, "outputSchema"))
        if (auto usable = usable_schema(*structure)) offer.output_schema = std::move(*usable);
    return offer;
}

json::object one_text(std::string_view name, std::string_view description, bool is_required) {
    json::object schema{
        {"type", "object"},
        {"properties", {{name, {{"type", "string"}, {"description", description}}}}}};
    if (is_required) schema["required"] = json::array{json::value(name)};
    schema["additionalProperties"] = false;
    return schema;
}

void add_resource_tools(Catalogue& catalogue, const config::McpServer& server,
                        const std::vector<json::value>& listed) {
    const auto add = [&](std::string_view name, std::string description, json::object schema,
                         Asks asks) {
        const bool is_taken = std::ranges::any_of(
            listed, [&](const json::value& tool) { return base::string_at(tool, "name") == name; });
        if (is_taken || !is_chosen(server, std::string(name))) return;
        catalogue.offers.push_back({.name = offered_name(server.name, name),
                                    .remote_name = std::string(name),
                                    .description = std::move(description),
                                    .input_schema = std::move(schema),
                                    .asks = asks});
    };
    add(kListResources,
        fmt::format("Lists the resources of the MCP server {}, a page at a time.", server.name),
        one_text("cursor", "Of the next page, as the last answer names it.", false),
        Asks::ResourceList);
    add(kReadResource,
        fmt::format("Reads a resource of the MCP server {}, also one that a result links to.",
                    server.name),
        one_text("uri", "As the server names it.", true), Asks::Resource);
}

void leave_out_namesakes(Catalogue& catalogue) {
    std::map<std::string, std::vector<std::string>> by_name;
    for (const auto& offer : catalogue.offers) by_name[offer.name].push_back(offer.remote_name);
    for (const auto& [name, remote] : by_name) {
        if (remote.size() == 1) continue;
        for (std::size_t i = 0; i < remote.size(); ++i)
            catalogue.left_out.push_back(
                {shown(remote[i]),
                 fmt::format("'{}' and '{}' would both be named {}; deny one", shown(remote[i]),
                             shown(remote[i == 0 ? 1 : 0]), name)});
    }
    std::erase_if(catalogue.offers,
                  [&](const Offer& offer) { return by_name[offer.name].size() > 1; });
}

}  // namespace

std::string offered_name(std::string_view server, std::string_view tool) {
    std::string name = fmt::format("mcp__{}__{}", server, tool);
    for (char& c : name) {
        const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '-';
        if (!fits) c = '_';
    }
    if (name.size() <= kNameCharsMax) return name;
    return name.substr(0, kNameCharsMax - kDigestChars - 1) + "_" +
           base::sha256_hex(tool).substr(0, kDigestChars);
}

Catalogue catalogue(const config::McpServer& server, const Listed& from) {
    Catalogue out;
    const auto& listed = from.tools;
    for (std::size_t i = 0; i < std::min(listed.size(), kToolsMax); ++i) {
        const std::string name = base::string_at(listed[i], "name");
        if (!is_chosen(server, name)) {
            out.left_out.push_back({shown(name), "the configuration does not choose it"});
            continue;
        }
        auto offer = offer_of(server, listed[i]);
        if (offer)
            out.offers.push_back(std::move(*offer));
        else
            out.left_out.push_back({shown(name), offer.error().message});
    }
    if (listed.size() > kToolsMax)
        out.left_out.push_back({fmt::format("{} more", listed.size() - kToolsMax),
                                fmt::format("a server may offer {} tools", kToolsMax)});
    if (from.has_resources) add_resource_tools(out, server, listed);
    leave_out_namesakes(out);
    std::ranges::sort(out.offers, {}, &Offer::name);
    return out;
}

}  // namespace mcp
