// The form of a plan as a JSON Schema, for authors and programs that write plans.
#pragma once

#include "base/json.h"

namespace plan {

// Derived from the types a plan decodes into, in the spelling of the plan surface. It says the
// form only: what check() finds in tools, references and order is beyond a schema.
json::object plan_schema();

}  // namespace plan
