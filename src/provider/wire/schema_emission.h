// How a tool's input schema is written for vendors that speak the OpenAI function form.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "provider/provider.h"

namespace provider {

// Relaxed keeps the true shape and only closes objects; it is what goes out. Strict is the form of
// "structured outputs": every field required, optional ones nullable. It serves tests and checks.
enum class SchemaMode { Relaxed, Strict };

// A rewritten copy of `source`. In both modes the root loses allOf, anyOf, oneOf, enum and not,
// which these vendors refuse there, and every object has `properties` and is closed. Objects that
// are maps, with a schema for members of any name, stay maps in Relaxed. Relaxed never fails;
// Strict does for maps and for places that take any JSON, as those have no strict form.
base::Result<json::object> emit_schema(const json::object& source, SchemaMode mode);

// {"type":"function","function":{name, description, parameters, strict}}
base::Result<json::object> declare_function(const ToolDeclaration& tool, SchemaMode mode);

}  // namespace provider
