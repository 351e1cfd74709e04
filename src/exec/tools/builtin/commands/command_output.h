// The command family's result: what a process did, bounded for the record and rendered for the
// model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/os/process.h"
#include "base/typed.h"
#include "domain/waiting.h"
#include "exec/results/project.h"
#include "exec/sandbox/denials.h"

namespace builtin {

// Characters shown for a budget of tokens.
inline constexpr std::int64_t kCharsPerToken = 4;

// The family's canonical result, field by field; the schemas that results are held to come from it.
struct ArtifactRef {
    std::string path;
};
BOOST_DESCRIBE_STRUCT(ArtifactRef, (), (path))
struct CommandDiagnostics {
    std::string cmd_preview;
    std::int64_t cmd_char_count{0};
    std::int64_t cmd_estimated_tokens{0};
    bool contains_heredoc{false};
    bool contains_inline_script{false};
    bool exceeds_soft_threshold{false};
    std::int64_t effective_max_output_tokens{0};
    std::int64_t output_char_budget{0};
};
BOOST_DESCRIBE_STRUCT(CommandDiagnostics, (),
                      (cmd_preview, cmd_char_count, cmd_estimated_tokens, contains_heredoc,
                       contains_inline_script, exceeds_soft_threshold, effective_max_output_tokens,
                       output_char_budget))
struct CommandResult {
    std::string disposition;
    std::optional<std::int64_t> exit_status{};
    std::optional<std::string> stdout_preview{};
    std::optional<std::string> stderr_preview{};
    std::optional<bool> truncated{};
    std::optional<std::string> ended_by{};
    std::optional<std::int64_t> signal{};
    std::optional<bool> output_cut_off{};
    std::optional<std::int64_t> output_dropped_bytes{};
    std::optional<std::vector<ArtifactRef>> artifacts{};
    std::optional<std::int64_t> stdout_artifact{};
    std::optional<std::int64_t> stderr_artifact{};
    std::optional<json::object> task_handle{};
    std::optional<std::string> initial_output_preview{};
    std::optional<bool> initial_output_truncated{};
    std::optional<json::object> command{};
    std::optional<std::string> summary{};
    std::optional<std::string> instructions{};
    CommandDiagnostics command_diagnostics{};
};
BOOST_DESCRIBE_STRUCT(CommandResult, (),
                      (disposition, exit_status, stdout_preview, stderr_preview, truncated,
                       ended_by, signal, output_cut_off, output_dropped_bytes, artifacts,
                       stdout_artifact, stderr_artifact, task_handle, initial_output_preview,
                       initial_output_truncated, command, summary, instructions,
                       command_diagnostics))
struct BatchItemResult {
    std::int64_t index{0};
    std::string cmd;
    std::string status;
    std::optional<std::string> summary_text{};
    std::optional<CommandResult> result{};
    std::optional<std::string> error_kind{};
    std::optional<std::string> error_message{};
    std::optional<std::int64_t> duration_ms{};
};
BOOST_DESCRIBE_STRUCT(BatchItemResult, (),
                      (index, cmd, status, summary_text, result, error_kind, error_message,
                       duration_ms))
struct BatchResult {
    std::int64_t item_count{0};
    std::int64_t completed_count{0};
    std::int64_t failed_count{0};
    std::int64_t rejected_count{0};
    std::int64_t skipped_count{0};
    bool stop_on_error{false};
    std::vector<BatchItemResult> items;
};
BOOST_DESCRIBE_STRUCT(BatchResult, (),
                      (item_count, completed_count, failed_count, rejected_count, skipped_count,
                       stop_on_error, items))

struct CommandOutput final : results::Output {
    std::string cmd;
    base::ProcessExit exit;
    std::optional<std::int64_t> max_output_tokens{};
    std::filesystem::path stdout_spill;
    std::filesystem::path stderr_spill;
    std::uint64_t dropped_bytes{0};  // Printed, but beyond what is kept of any command.
    bool confined{false};            // It ran behind a boundary that keeps something.
    // Destinations it asked for, a JSON line {host, port, outcome} each. Empty: none, or no log.
    std::filesystem::path network_log{};
    std::vector<sandbox::Denial> denials{};  // What the boundary kept it from.
    base::Result<results::Canonical> project(results::ArtifactSink& sink,
                                             const results::OutputPolicy& policy) const override;
    std::vector<results::Evidence> evidence() const override;
};

// It was not over in time, and continues as a task.
struct PromotedOutput final : results::Output {
    domain::Task task;
    base::Result<results::Canonical> project(results::ArtifactSink& sink,
                                             const results::OutputPolicy& policy) const override;
};

// Nothing was started: the same command runs as a task already.
struct AlreadyRunningOutput final : results::Output {
    domain::Task task;
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
    std::vector<results::Evidence> evidence() const override;
};

// The schema of CommandResult; what a command did not print, and the status of one that a signal
// ended, is null.
json::object command_schema();
json::object batch_schema();

// How it ended, without the command line: that may hold a secret, and people see this text.
std::string command_message(const results::Envelope& envelope);

std::string render_command(const results::Envelope& envelope);
std::string render_batch(const results::Envelope& envelope);

// The tokens of output a call may show: as asked, else the default, and never above the cap.
std::int64_t effective_output_tokens(std::optional<std::int64_t> asked,
                                     const results::OutputPolicy& policy);

}  // namespace builtin
