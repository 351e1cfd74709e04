// What of a server's list of tools is offered, under which name, and what is left out and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/typed.h"
#include "config/sections/mcp.h"

namespace mcp {

// At most this many tools of one server are read; further ones are left out.
inline constexpr std::size_t kToolsMax = 128;
// The length of a tool's name that every provider accepts.
inline constexpr std::size_t kNameCharsMax = 64;
inline constexpr std::size_t kDescriptionCharsMax = 1024;

// What a call of a tool becomes: a call of one of the server's, or a question about its resources.
enum class Asks { Tool, ResourceList, Resource };

// The server's own names for the two tools by which its resources are read, if it has any.
inline constexpr std::string_view kListResources = "list_resources";
inline constexpr std::string_view kReadResource = "read_resource";

// What a server has said about itself.
struct Listed {
    std::vector<json::value> tools{};
    bool has_resources{false};
    friend bool operator==(const Listed&, const Listed&) = default;
};

// One tool as it is offered.
struct Offer {
    std::string name;         // mcp__<server>__<tool>
    std::string remote_name;  // The server's own.
    std::string description;
    json::object input_schema;
    std::optional<json::object> output_schema{};  // Of its structured content.
    Asks asks{Asks::Tool};
    friend bool operator==(const Offer&, const Offer&) = default;
};

struct LeftOut {
    std::string tool;
    std::string reason;
    friend bool operator==(const LeftOut&, const LeftOut&) = default;
};
BOOST_DESCRIBE_STRUCT(LeftOut, (), (tool, reason))

struct Catalogue {
    std::vector<Offer> offers;  // By name, so that the order of the server's list does not matter.
    std::vector<LeftOut> left_out;
    friend bool operator==(const Catalogue&, const Catalogue&) = default;
};

// Every other character than letters, digits, '_' and '-' becomes '_'; a name that is too long is
// cut and ends with a digest of the whole.
std::string offered_name(std::string_view server, std::string_view tool);

// From what it listed. Only the operator's choice is followed; what a server claims about its
// tools' risk is ignored. Two tools with one name are both left out. A server with resources has
// two more tools, unless it uses their names itself.
Catalogue catalogue(const config::McpServer& server, const Listed& listed);

}  // namespace mcp
