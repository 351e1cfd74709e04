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

// One tool as it is offered.
struct Offer {
    std::string name;         // mcp__<server>__<tool>
    std::string remote_name;  // The server's own.
    std::string description;
    json::object input_schema;
    std::optional<json::object> output_schema{};  // Of its structured content.
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

// From the entries of tools/list. Only the operator's choice is followed; what a server claims
// about its tools' risk is ignored. Two tools with one name are both left out.
Catalogue catalogue(const config::McpServer& server, const std::vector<json::value>& listed);

}  // namespace mcp
