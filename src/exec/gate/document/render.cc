#include <algorithm>

#include "base/json.h"
#include "exec/gate/document/document.h"

namespace gate {
namespace {

// JSON text is YAML, too, and has one way to write every string.
std::string yaml_text(std::string_view text) {
    return base::json_text(json::string(text));
}

std::string front_matter_text(const FrontMatter& front) {
    std::string out = "---\n";
    const auto field = [&](std::string_view name, const std::string& value) {
        out += fmt::format("{}: {}\n", name, value);
    };
    field("result_type", front.result_type);
    field("schema_version", fmt::format("{}", front.schema_version));
    field("result_id", yaml_text(front.result_id));
    field("created_utc", yaml_text(front.created_utc));
    field("request_id", yaml_text(front.request_id));
    field("executor", yaml_text(front.executor));
    field("backend", yaml_text(front.backend));
    field("exit_code", fmt::format("{}", front.exit_code));
    field("runtime_sec", fmt::format("{}", front.runtime_sec));
    field("network_used", yaml_text(base::enum_name(front.network_used)));
    std::vector<std::string> destinations;
    for (const auto& name : front.network_destinations) destinations.push_back(yaml_text(name));
    field("network_destinations", fmt::format("[{}]", fmt::join(destinations, ", ")));
    if (front.artifacts.empty()) field("artifacts", "[]");
    if (!front.artifacts.empty()) out += "artifacts:\n";
    for (const auto& artifact : front.artifacts)
        out += fmt::format("- path: {}\n  sha256: {}\n", yaml_text(artifact.path),
                           yaml_text(artifact.sha256));
    field("stdout_sha256", yaml_text(front.stdout_sha256));
    field("stderr_sha256", yaml_text(front.stderr_sha256));
    return out + "---\n";
}

std::string provenance_text(const Provenance& provenance) {
    std::string out = fmt::format("- Command: {}\n- Backend: {}\n- Limits:\n",
                                  yaml_text(provenance.command), yaml_text(provenance.backend));
    for (const auto& [name, value] : provenance.limits)
        out += fmt::format("  - {}: {}\n", name, yaml_text(value));
    if (provenance.limits.empty()) out += "  - none\n";
    return out;
}

std::string outputs_text(const std::vector<OutputEntry>& outputs) {
    if (outputs.empty()) return "None.\n";
    std::string out;
    for (const auto& output : outputs)
        out += fmt::format("- /out/{} sha256: {}\n  Description: {}\n", output.path, output.sha256,
                           output.description);
    return out;
}

// Longer than every run of backticks inside, so that nothing shown can end the block.
std::string fence_for(std::string_view text) {
    std::size_t longest = 2, run = 0;
    for (const char c : text) {
        run = c == '`' ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    return std::string(longest + 1, '`');
}

std::string stream_text(const StreamExcerpt& stream) {
    std::string out;
    if (stream.text.empty()) {
        out = "(empty)\n";
    } else {
        const std::string fence = fence_for(stream.text);
        out = fmt::format("{}text\n{}{}\n", fence, stream.text, fence);
    }
    if (stream.whole_in)
        out += fmt::format("Truncated: this is the beginning of {} lines; all of it: /out/{}\n",
                           stream.lines_total, *stream.whole_in);
    return out;
}

}  // namespace

std::string render(const ResultDocument& document) {
    const auto& safety = document.safety;
    return front_matter_text(document.front) + "\n## Summary\n\n" + document.summary +
           "\n\n## Provenance\n\n" + provenance_text(document.provenance) + "\n## Outputs\n\n" +
           outputs_text(document.outputs) + "\n## Stdout\n\n" +
           stream_text(document.stdout_excerpt) + "\n## Stderr\n\n" +
           stream_text(document.stderr_excerpt) + "\n## Safety Notes\n\n" +
           fmt::format(
               "- Untrusted Output Statement: {}\n- Unexpected behavior: {}\n"
               "- Network confirmation: {}\n",
               safety.untrusted_output_statement, safety.unexpected_behavior,
               safety.network_confirmation);
}

}  // namespace gate
