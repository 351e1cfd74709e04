// From complete output to what is kept and what the model reads, in two fixed steps:
// complete output -> canonical envelope (bounded by its family, large payloads to artifacts)
// canonical envelope -> receipt (rendered by its family).
#pragma once

#include <expected>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/process.h"
#include "base/result.h"
#include "domain/media/media.h"
#include "domain/tool.h"
#include "exec/results/envelope.h"

namespace results {

// Where payloads too large for an envelope are kept. Paths it returns are absolute.
class ArtifactSink {
public:
    virtual ~ArtifactSink() = default;
    // Writes all of `bytes`; `role` is part of the file's name: "stdout".
    virtual base::Result<std::string> store(std::string_view role, std::string_view bytes) = 0;
    // A file for a payload that arrives piece by piece; it need not be used.
    virtual std::filesystem::path reserve(std::string_view role) = 0;
};

struct OutputPolicy {
    std::int64_t output_tokens_default{8000};
    std::int64_t output_tokens_max{64000};
};

// The member of a canonical result that names its images. No other part of a result may have it:
// project() removes one that a family wrote itself.
inline constexpr const char* kMediaMember = "media";

struct Canonical {
    std::string summary_text;
    json::object result;
    std::vector<domain::Media> media{};  // Images that models which take them are shown.
};

// One command and its complete output, for the gate that judges results before they are shown.
struct Evidence {
    std::string command;  // Exactly as it was asked for.
    base::ProcessExit exit;
    std::filesystem::path stdout_spill;
    std::filesystem::path stderr_spill;
    std::uint64_t dropped_bytes{0};       // Printed, but kept nowhere.
    std::filesystem::path network_log{};  // Destinations, a JSON line each; empty: nobody looked.
};

// The complete, typed output of a tool that did its work. Each family derives its own and bounds
// it; none of them writes a receipt.
class Output {
public:
    virtual ~Output() = default;
    virtual base::Result<Canonical> project(ArtifactSink& sink,
                                            const OutputPolicy& policy) const = 0;
    // The commands behind it; none where no command was run to its end.
    virtual std::vector<Evidence> evidence() const { return {}; }
};

using Completed = std::expected<std::unique_ptr<Output>, domain::ToolError>;

// Turns a canonical success into text for the model. A pure function of the envelope.
using Renderer = std::string (*)(const Envelope&);

// Output that cannot be kept (a full disk) is an error result: the model must know.
Envelope project(const std::string& tool_name, const Completed& completed, ArtifactSink& sink,
                 const OutputPolicy& policy);

// The images of a stored envelope, as JSON; null when it has none.
const json::value* media_of(const json::value& envelope);

// Errors have one shape on every tool; successes are the family's.
std::string render(const Envelope& envelope, Renderer renderer);

// A failed envelope as the bounded JSON a model reads: members sorted, optional ones left out.
std::string render_error(const Envelope& envelope);

}  // namespace results
