// How a tool's input schema is written for vendors, each of which takes less than JSON Schema.
#pragma once

#include <optional>

#include "base/json.h"
#include "base/result.h"
#include "provider/provider.h"

namespace provider {

// Relaxed is the OpenAI function form as it goes out: it keeps the true shape and closes objects
// that name their properties. Strict is the form of "structured outputs": every field required,
// optional ones nullable. It serves tests and checks. Open is for the Messages API, which takes
// objects as they are.
enum class SchemaMode { Relaxed, Strict, Open };

// A rewritten copy of `source`. In all modes the root is an object that has the properties of its
// allOf, anyOf and oneOf instead of those, which vendors refuse there; arrays have `items`; types
// that JSON Schema does not have are left out. In Relaxed and Strict the root also loses enum and
// not, and objects are closed, except maps, with a schema for members of any name, and objects
// below the root of which nothing is said. Fails where a schema cannot be expressed: a root that is
// no object, a reference that leads out of the document, something that is no schema; Strict also
// for maps and for places that take any JSON, as those have no strict form.
base::Result<json::object> emit_schema(const json::object& source, SchemaMode mode);

// {"type":"function","function":{name, description, parameters, strict}}
base::Result<json::object> declare_function(const ToolDeclaration& tool, SchemaMode mode);

// The same, for a request. A tool whose schema cannot be expressed is left out, so that it does not
// have every request refused; the first time, a warning is logged.
std::optional<json::object> offered_schema(const ToolDeclaration& tool, SchemaMode mode);
std::optional<json::object> offer_function(const ToolDeclaration& tool);

}  // namespace provider
