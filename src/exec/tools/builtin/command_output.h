// The command family's result: what a process did, bounded for the record and rendered for the
// model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "exec/results/project.h"

namespace builtin {

// Characters shown for a budget of tokens.
inline constexpr std::int64_t kCharsPerToken = 4;

struct CommandOutput final : results::Output {
    std::string cmd;
    base::ProcessExit exit;
    std::optional<std::int64_t> max_output_tokens{};
    std::filesystem::path stdout_spill;
    std::filesystem::path stderr_spill;
    base::Result<results::Canonical> project(results::ArtifactSink& sink,
                                             const results::OutputPolicy& policy) const override;
};

struct BatchItem {
    std::string cmd;
    std::string status;  // completed, failed, skipped
    std::optional<CommandOutput> output{};
    std::optional<std::string> error_kind{};
    std::optional<std::string> error_message{};
    std::optional<std::int64_t> duration_ms{};
};

struct BatchOutput final : results::Output {
    std::vector<BatchItem> items;
    bool stop_on_error{false};
    base::Result<results::Canonical> project(results::ArtifactSink& sink,
                                             const results::OutputPolicy& policy) const override;
};

std::string render_command(const results::Envelope& envelope);
std::string render_batch(const results::Envelope& envelope);

// The tokens of output a call may show: as asked, else the default, and never above the cap.
std::int64_t effective_output_tokens(std::optional<std::int64_t> asked,
                                     const results::OutputPolicy& policy);

// The text of a stream within `chars`: whole, or its first and last lines around a line that says
// how many there are.
struct Preview {
    std::string text;
    bool truncated{false};
};
Preview preview(const base::CapturedStream& stream, std::size_t chars);

}  // namespace builtin
