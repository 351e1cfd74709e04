// The input schema a server gives for a tool, cut down to what is checked here and shown to models.
#pragma once

#include "base/json.h"

namespace mcp {

inline constexpr std::size_t kSchemaDepthMax = 12;
inline constexpr std::size_t kSchemaPartsMax = 400;
inline constexpr std::size_t kSchemaBytesMax = 16 * 1024;
inline constexpr std::size_t kSchemaNameCharsMax = 64;
inline constexpr std::size_t kSchemaTextCharsMax = 300;
inline constexpr std::size_t kSchemaChoicesMax = 128;

// Keeps the keywords that tools::check_schema knows, descriptions and plain defaults. References
// inside the schema are put in place; one that leads back to itself admits anything there. oneOf
// becomes anyOf. Every other keyword is dropped, which can only admit more: the server checks its
// input itself. Fails, with the reason, for what is no object schema or beyond the bounds above.
base::Result<json::object> usable_schema(const json::value& schema);

}  // namespace mcp
