#include "domain/events/scheduler.h"

namespace domain::events {
namespace {

constexpr std::string_view kPrevious = "previous_status";

}  // namespace

json::object AgentStateChanged::written() const {
    json::object out = state;
    if (previous_status) out[kPrevious] = base::enum_name(*previous_status);
    return out;
}

void AgentStateChanged::read_from(const json::value& data) {
    const auto* members = data.if_object();
    if (!members) return;
    state = *members;
    previous_status = base::enum_from<AgentStatus>(base::string_at(data, kPrevious));
    state.erase(kPrevious);
}

json::object AgentStateChanged::schema() {
    return {{"type", "object"},
            {"properties",
             {{"id", {{"type", "string"}}},
              {"status", base::typed::schema(base::typed::type_of<AgentStatus>())},
              {kPrevious, base::typed::schema(base::typed::type_of<AgentStatus>())}}},
            {"required", {"id", "status"}},
            {"additionalProperties", true}};
}

}  // namespace domain::events
