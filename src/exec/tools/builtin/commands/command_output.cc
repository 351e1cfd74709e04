#include "exec/tools/builtin/commands/command_output.h"

#include <algorithm>

#include "base/text.h"
#include "exec/results/preview.h"
#include "exec/tasks/snapshot/description.h"
#include "exec/tasks/snapshot/snapshot.h"
#include "exec/tasks/spec.h"
#include "exec/tools/builtin/commands/command_text.h"

namespace builtin {
namespace {

constexpr std::string_view kStartAnother =
    "Check it with TaskStatus or TaskOutput. To run the command once more at the same time, set "
    "duplicate_policy to start_new.";

bool is_blank(const base::CapturedStream& stream) {
    return !stream.spilled && base::trim(stream.head).empty();
}

json::value exit_status(const base::ProcessExit& exit) {
    return exit.exit_code ? json::value(*exit.exit_code) : json::value(nullptr);
}

std::string outcome_line(const json::value& result) {
    const auto* status = base::find(result, "exit_status");
    const std::string ended_by = base::string_at(result, "ended_by");
    if (ended_by == "timeout") return "Process was ended: it ran into its time limit";
    if (ended_by == "cancelled") return "Process was ended: it was cancelled";
    if (ended_by == "signal")
        return fmt::format("Process was ended by signal {}", base::int_at(result, "signal"));
    return fmt::format("Process exited with code {}",
                       status && status->is_int64() ? status->get_int64() : -1);
}

json::object diagnostics(const std::string& cmd, std::int64_t tokens) {
    const std::size_t chars = base::char_count(cmd);
    return {{"cmd_preview", command_preview(cmd)},
            {"cmd_char_count", chars},
            {"cmd_estimated_tokens", (chars + 3) / 4},
            {"contains_heredoc", contains_heredoc(cmd)},
            {"contains_inline_script", contains_inline_script(cmd)},
            {"exceeds_soft_threshold", chars > kCommandSoftCharsMax},
            {"effective_max_output_tokens", tokens},
            {"output_char_budget", tokens * kCharsPerToken}};
}

// Keeps the whole stream as a file when its preview does not show all of it. Bytes that the spill
// lost are a failure: a reference to them would lead nowhere.
base::Status keep_whole(const base::CapturedStream& stream, const std::filesystem::path& spill,
                        std::string_view role, results::ArtifactSink& sink, json::object& result) {
    if (!stream.spill_error.empty())
        return base::fail(base::ErrorCode::Io, "{}: {}", role, stream.spill_error);
    std::string path = spill.string();
    if (!stream.spilled) path = TRY(sink.store(role, stream.head));
    if (!result.contains("artifacts")) result["artifacts"] = json::array{};
    auto& artifacts = result["artifacts"].as_array();
    result[fmt::format("{}_artifact", role)] = artifacts.size();
    artifacts.push_back(json::object{{"path", path}});
    return {};
}

void add_stream(std::string& text, std::string_view label, const json::value& result,
                std::string_view field) {
    const std::string stream = base::string_at(result, field);
    if (!stream.empty()) text += fmt::format("\n\n{}:\n{}", label, stream);
}

// Outcome, streams and artifacts of one command, as lines.
std::string command_lines(const json::value& result, std::string headline) {
    std::string text = std::move(headline);
    add_stream(text, "stdout", result, "stdout_preview");
    add_stream(text, "stderr", result, "stderr_preview");
    if (base::bool_at(result, "output_cut_off"))
        text +=
            "\n\nA background process kept the output open; it was ended and later output was not "
            "read.";
    if (const auto dropped = base::int_at(result, "output_dropped_bytes"))
        text += fmt::format("\n\nIt printed {} bytes more than are kept of a command.", dropped);
    if (const auto* artifacts = base::find(result, "artifacts");
        artifacts && artifacts->is_array()) {
        text += "\n\nArtifacts:";
        for (const auto& artifact : artifacts->get_array())
            text += "\n" + base::string_at(artifact, "path");
    }
    return text;
}

std::string promoted_lines(const json::value& result) {
    std::string text = fmt::format(
        "Process still runs and continues in the background; its result will come back by itself\n"
        "Task: {}\n\n",
        base::string_at(result.at("task_handle"), "task_id"));
    const std::string initial = base::string_at(result, "initial_output_preview");
    return text +
           (initial.empty() ? "It has printed nothing so far." : "Output so far:\n" + initial);
}

std::string running_lines(const json::value& result) {
    const auto& handle = result.at("task_handle");
    const auto& command = result.at("command");
    std::string text = fmt::format(
        "The same command is already running; nothing was started\n"
        "Task: {}\nStatus: {}",
        base::string_at(handle, "task_id"), base::string_at(handle, "status"));
    for (const std::string_view field : {"workdir", "shell"})
        if (const std::string value = base::string_at(command, field); !value.empty())
            text += fmt::format("\n{}={}", field, value);
    return text + "\n\n" + base::string_at(result, "instructions");
}

}  // namespace

namespace {

void allow_null(json::object& schema, std::initializer_list<std::string_view> names) {
    auto& properties = schema["properties"].as_object();
    for (const auto name : names) {
        auto& type = properties.at(name).as_object()["type"];
        type = json::array{type, "null"};
    }
}

}  // namespace

json::object command_schema() {
    json::object schema = base::schema_of<CommandResult>();
    allow_null(schema, {"exit_status", "stdout_preview", "stderr_preview"});
    return schema;
}

json::object batch_schema() {
    json::object schema = base::schema_of<BatchResult>();
    schema["properties"]
        .as_object()["items"]
        .as_object()["items"]
        .as_object()["properties"]
        .as_object()["result"] = command_schema();
    return schema;
}

std::string command_message(const results::Envelope& envelope) {
    const json::value result = envelope.result();
    if (base::string_at(result, "disposition") == "completed") return outcome_line(result) + ".";
    if (const auto* items = base::find(result, "items"); items && items->is_array())
        return fmt::format("{} of {} commands were completed.",
                           base::int_at(result, "completed_count"), items->get_array().size());
    return "The command continues in the background.";
}

std::int64_t effective_output_tokens(std::optional<std::int64_t> asked,
                                     const results::OutputPolicy& policy) {
    const std::int64_t wanted = asked.value_or(0) > 0 ? *asked : policy.output_tokens_default;
    return std::min(wanted, policy.output_tokens_max);
}

base::Result<results::Canonical> CommandOutput::project(results::ArtifactSink& sink,
                                                        const results::OutputPolicy& policy) const {
    const std::int64_t tokens = effective_output_tokens(max_output_tokens, policy);
    const bool both = !is_blank(exit.out) && !is_blank(exit.err);
    const auto chars = static_cast<std::size_t>(tokens * kCharsPerToken / (both ? 2 : 1));
    const auto out = results::preview(exit.out, chars), err = results::preview(exit.err, chars);
    json::object result{
        {"disposition", "completed"},
        {"exit_status", exit_status(exit)},
        {"stdout_preview", out.text.empty() ? json::value(nullptr) : json::value(out.text)},
        {"stderr_preview", err.text.empty() ? json::value(nullptr) : json::value(err.text)},
        {"truncated", out.truncated || err.truncated}};
    if (exit.timed_out || exit.cancelled)
        result["ended_by"] = exit.timed_out ? "timeout" : "cancelled";
    else if (exit.signal)
        result["ended_by"] = "signal";
    if (exit.signal) result["signal"] = *exit.signal;
    if (exit.output_cut_off) result["output_cut_off"] = true;
    if (dropped_bytes > 0) result["output_dropped_bytes"] = dropped_bytes;
    if (out.truncated) TRY(keep_whole(exit.out, stdout_spill, "stdout", sink, result));
    if (err.truncated) TRY(keep_whole(exit.err, stderr_spill, "stderr", sink, result));
    result["command_diagnostics"] = diagnostics(cmd, tokens);
    return results::Canonical{fmt::format("{}: {}", outcome_line(result), command_preview(cmd)),
                              std::move(result)};
}

std::vector<results::Evidence> CommandOutput::evidence() const {
    return {{.command = cmd,
             .exit = exit,
             .stdout_spill = stdout_spill,
             .stderr_spill = stderr_spill,
             .dropped_bytes = dropped_bytes,
             .network_log = network_log}};
}

base::Result<results::Canonical> PromotedOutput::project(
    results::ArtifactSink&, const results::OutputPolicy& policy) const {
    const auto detail = tasks::detail_of(task);
    json::object handle = tasks::handle(task);
    handle.erase("initial_output");
    json::object result{{"disposition", "promoted_to_task"}, {"task_handle", std::move(handle)}};
    if (const auto& shown = detail.output_withheld ? detail.output_withheld : detail.initial_output)
        result["initial_output_preview"] = *shown;
    result["initial_output_truncated"] = detail.output_truncated.value_or(false);
    result["command_diagnostics"] =
        diagnostics(detail.cmd, effective_output_tokens(detail.max_output_tokens, policy));
    return results::Canonical{
        fmt::format("The command continues as task {}: {}", task.id, command_preview(detail.cmd)),
        std::move(result)};
}

base::Result<results::Canonical> AlreadyRunningOutput::project(
    results::ArtifactSink&, const results::OutputPolicy& policy) const {
    const auto detail = tasks::detail_of(task);
    json::object handle = tasks::handle(task);
    handle.erase("initial_output");
    json::object result{{"disposition", "already_running"},
                        {"task_handle", std::move(handle)},
                        {"command", tasks::command_identity(task)},
                        {"instructions", kStartAnother}};
    if (task.summary) result["summary"] = *task.summary;
    result["command_diagnostics"] =
        diagnostics(detail.cmd, effective_output_tokens(detail.max_output_tokens, policy));
    return results::Canonical{fmt::format("The same command already runs as task {}: {}", task.id,
                                          command_preview(detail.cmd)),
                              std::move(result)};
}

std::string render_command(const results::Envelope& envelope) {
    const json::value result(envelope.result());
    const std::string disposition = base::string_at(result, "disposition");
    if (disposition == "promoted_to_task") return promoted_lines(result);
    if (disposition == "already_running") return running_lines(result);
    return command_lines(result, outcome_line(result));
}

base::Result<results::Canonical> BatchOutput::project(results::ArtifactSink& sink,
                                                      const results::OutputPolicy& policy) const {
    json::array list;
    std::int64_t completed = 0, failed = 0, skipped = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const BatchItem& item = items[i];
        json::object entry{
            {"index", i + 1}, {"cmd", command_preview(item.cmd)}, {"status", item.status}};
        if (item.output) {
            auto canonical = TRY(item.output->project(sink, policy));
            entry["summary_text"] = canonical.summary_text;
            entry["result"] = std::move(canonical.result);
        }
        if (item.error_kind) entry["error_kind"] = *item.error_kind;
        if (item.error_message) entry["error_message"] = *item.error_message;
        if (item.duration_ms) entry["duration_ms"] = *item.duration_ms;
        completed += item.status == "completed" ? 1 : 0;
        failed += item.status == "failed" ? 1 : 0;
        skipped += item.status == "skipped" ? 1 : 0;
        list.push_back(std::move(entry));
    }
    json::object result{{"item_count", items.size()}, {"completed_count", completed},
                        {"failed_count", failed},     {"rejected_count", 0},
                        {"skipped_count", skipped},   {"stop_on_error", stop_on_error},
                        {"items", std::move(list)}};
    return results::Canonical{fmt::format("{} of {} commands completed", completed, items.size()),
                              std::move(result)};
}

std::vector<results::Evidence> BatchOutput::evidence() const {
    std::vector<results::Evidence> all;
    for (const auto& item : items)
        if (item.output) std::ranges::move(item.output->evidence(), std::back_inserter(all));
    return all;
}

std::string render_batch(const results::Envelope& envelope) {
    const json::value result(envelope.result());
    std::string text =
        fmt::format("{} of {} commands completed", base::int_at(result, "completed_count"),
                    base::int_at(result, "item_count"));
    for (const auto& item : result.at("items").as_array()) {
        text +=
            fmt::format("\n\n[{}] {}", base::int_at(item, "index"), base::string_at(item, "cmd"));
        if (base::string_at(item, "status") == "skipped") {
            text += base::string_at(item, "error_kind") == "cancelled" ? "\nskipped=cancelled"
                                                                       : "\nskipped=stop_on_error";
        } else if (const auto* output = base::find(item, "result")) {
            const auto* status = base::find(*output, "exit_status");
            const bool known = status && status->is_int64();
            text +=
                command_lines(*output, known ? fmt::format("\nexit={}", status->get_int64())
                                             : "\nexit=unknown (" + outcome_line(*output) + ")");
        } else {
            text += fmt::format("\nfailed={}\nerror: {}", base::string_at(item, "error_kind"),
                                base::string_at(item, "error_message"));
        }
    }
    return text;
}

}  // namespace builtin
