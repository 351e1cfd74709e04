#include "exec/results/project.h"

namespace results {

Envelope project(const std::string& tool_name, const Completed& completed, ArtifactSink& sink,
                 const OutputPolicy& policy) {
    if (!completed) return Envelope::failure(tool_name, completed.error());
    auto canonical = (*completed)->project(sink, policy);
    if (!canonical)
        return Envelope::failure(
            tool_name,
            {.kind = "artifact_write_failed",
             .message =
                 "The tool ran, but its output could not be kept: " + canonical.error().message,
             .recovery_hint = "The side effects remain. Free disk space or request less output."});
    canonical->result.stable_erase(kMediaMember);
    if (!canonical->media.empty())
        canonical->result[kMediaMember] = base::to_json(canonical->media);
    return Envelope::success(tool_name, canonical->summary_text, std::move(canonical->result));
}

const json::value* media_of(const json::value& envelope) {
    const auto* result = base::find(envelope, "result");
    const auto* media = result ? base::find(*result, kMediaMember) : nullptr;
    return media && media->is_array() ? media : nullptr;
}

std::string render(const Envelope& envelope, Renderer renderer) {
    return envelope.ok() ? renderer(envelope) : render_error(envelope);
}

std::string render_error(const Envelope& envelope) {
    const domain::ToolError& error = envelope.error();
    json::object receipt{{"ok", false},
                         {"tool_name", envelope.tool_name()},
                         {"kind", error.kind},
                         {"message", error.message},
                         {"retryable", error.retryable}};
    if (error.recovery_hint) receipt["hint"] = *error.recovery_hint;
    if (error.details) {
        const auto* field = base::find(*error.details, "field");
        if (field && field->is_string()) receipt["field"] = *field;
        receipt["details"] = *error.details;
    }
    return base::pretty_json(receipt);
}

}  // namespace results
