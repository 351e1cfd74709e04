#include "exec/results/project.h"

#include "base/hash.h"
#include "base/text.h"

namespace results {
namespace {

// Details may be anything a tool met; everything else of an error is small by construction.
domain::ToolError bounded(domain::ToolError error) {
    if (!error.details) return error;
    const std::string text = base::json_text(*error.details);
    const std::size_t chars = base::char_count(text);
    if (chars <= kDetailsCharsMax) return error;
    const auto* field = base::find(*error.details, "field");
    json::object preview{{"omitted", true},
                         {"reason", "details were too large"},
                         {"char_count", chars},
                         {"sha256", base::sha256_hex(text)},
                         {"preview", base::first_chars(text, kDetailsCharsMax)}};
    if (field && field->is_string()) preview["field"] = *field;
    error.details = std::move(preview);
    return error;
}

}  // namespace

Envelope project(const std::string& tool_name, const Completed& completed, ArtifactSink& sink,
                 const OutputPolicy& policy) {
    if (!completed) return Envelope::failure(tool_name, bounded(completed.error()));
    auto canonical = (*completed)->project(sink, policy);
    if (!canonical)
        return Envelope::failure(
            tool_name,
            {.kind = "artifact_write_failed",
             .message =
                 "The tool ran, but its output could not be kept: " + canonical.error().message,
             .recovery_hint = "The side effects stand. Free disk space or ask for less output."});
    return Envelope::success(tool_name, std::move(canonical->summary_text),
                             std::move(canonical->result));
}

std::string render(const Envelope& envelope, Renderer renderer) {
    return envelope.ok() ? renderer(envelope)
                         : render_error(envelope.tool_name(), envelope.error());
}

std::string render_error(const std::string& tool_name, const domain::ToolError& raw) {
    const domain::ToolError error = bounded(raw);
    json::object receipt{{"ok", false},
                         {"tool_name", tool_name},
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
