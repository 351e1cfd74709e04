// What crosses service::Plans as JSON, both ways, in the camelCase of the plan surface: one form
// for the HTTP surface, its clients and the command line.
#pragma once

#include "service/plans.h"

namespace service {

// Names of members become camelCase at the top; what is inside is a document of its own.
json::object camel_members(const json::value& record);
json::object snake_members(const json::value& shown);
// Every name that a schema gives becomes camelCase.
json::object camel_schema(json::object schema);

template <class T>
json::object plan_json(const T& value) {
    return camel_members(base::to_json(value));
}
json::object plan_json(const domain::PlanRun& run);
json::object plan_json(const PlanCreated& created);
json::object plan_json(const PlanReverted& reverted);

template <class T>
base::Result<T> plan_from(const json::value& value, base::Unknown unknown = base::Unknown::Ignore) {
    if (!value.is_object())
        return base::fail(base::ErrorCode::InvalidInput, "it has to be an object");
    return base::from_json<T>(snake_members(value), unknown);
}
template <>
base::Result<domain::PlanRun> plan_from(const json::value& value, base::Unknown unknown);
template <>
base::Result<PlanCreated> plan_from(const json::value& value, base::Unknown unknown);
template <>
base::Result<PlanReverted> plan_from(const json::value& value, base::Unknown unknown);

}  // namespace service
