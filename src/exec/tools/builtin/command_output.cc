#include "exec/tools/builtin/command_output.h"

#include <algorithm>

#include "base/text.h"
#include "exec/tools/builtin/command_text.h"

namespace builtin {
namespace {

constexpr std::size_t kMarkerCharsReserved = 160;  // For the line that names what is left out.

std::size_t count_lines(std::string_view text) {
    if (text.empty()) return 0;
    return static_cast<std::size_t>(std::ranges::count(text, '\n')) + (text.back() == '\n' ? 0 : 1);
}

// The longest prefix of whole lines within `chars`; of a first line longer than that, its start.
std::string_view head_lines(std::string_view text, std::size_t chars) {
    const std::string_view cut = base::first_chars(text, chars);
    const std::size_t end = cut.size() == text.size() ? cut.size() : cut.rfind('\n');
    return end == std::string_view::npos ? cut : cut.substr(0, end);
}

std::string_view tail_lines(std::string_view text, std::size_t chars) {
    const std::string_view cut = base::last_chars(text, chars);
    if (cut.size() == text.size()) return cut;
    const std::size_t start = cut.find('\n');
    return start == std::string_view::npos || start + 1 == cut.size() ? cut : cut.substr(start + 1);
}

// Without empty lines before and blanks behind; the first line keeps its indentation.
std::string_view without_blank_edges(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {};
    const std::size_t line = text.rfind('\n', first);
    text.remove_prefix(line == std::string_view::npos ? 0 : line + 1);
    return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

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

json::object diagnostics(const CommandOutput& output, std::int64_t tokens) {
    const std::size_t chars = base::char_count(output.cmd);
    return {{"cmd_preview", command_preview(output.cmd)},
            {"cmd_char_count", chars},
            {"cmd_estimated_tokens", (chars + 3) / 4},
            {"contains_heredoc", contains_heredoc(output.cmd)},
            {"contains_inline_script", contains_inline_script(output.cmd)},
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
    if (const auto* artifacts = base::find(result, "artifacts");
        artifacts && artifacts->is_array()) {
        text += "\n\nArtifacts:";
        for (const auto& artifact : artifacts->get_array())
            text += "\n" + base::string_at(artifact, "path");
    }
    return text;
}

}  // namespace

std::int64_t effective_output_tokens(std::optional<std::int64_t> asked,
                                     const results::OutputPolicy& policy) {
    const std::int64_t wanted = asked.value_or(0) > 0 ? *asked : policy.output_tokens_default;
    return std::min(wanted, policy.output_tokens_max);
}

Preview preview(const base::CapturedStream& stream, std::size_t chars) {
    const std::string head = base::to_utf8(stream.head), tail = base::to_utf8(stream.tail);
    if (!stream.spilled) {
        const std::string_view whole = without_blank_edges(head);
        if (base::char_count(whole) <= chars) return {std::string(whole), false};
    }
    const std::size_t room = chars > kMarkerCharsReserved ? chars - kMarkerCharsReserved : 0;
    const std::string_view first = head_lines(head, room / 2);
    const std::string_view last = tail_lines(
        stream.spilled ? std::string_view(tail) : std::string_view(head), room - room / 2);
    return {
        fmt::format("{}\n[output cut: first {} and last {} of {} lines shown, {} bytes in all]\n{}",
                    first, count_lines(first), count_lines(last), stream.lines, stream.bytes,
                    last.ends_with('\n') ? last.substr(0, last.size() - 1) : last),
        true};
}

base::Result<results::Canonical> CommandOutput::project(results::ArtifactSink& sink,
                                                        const results::OutputPolicy& policy) const {
    const std::int64_t tokens = effective_output_tokens(max_output_tokens, policy);
    const bool both = !is_blank(exit.out) && !is_blank(exit.err);
    const auto chars = static_cast<std::size_t>(tokens * kCharsPerToken / (both ? 2 : 1));
    const Preview out = preview(exit.out, chars), err = preview(exit.err, chars);
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
    if (out.truncated) TRY(keep_whole(exit.out, stdout_spill, "stdout", sink, result));
    if (err.truncated) TRY(keep_whole(exit.err, stderr_spill, "stderr", sink, result));
    result["command_diagnostics"] = diagnostics(*this, tokens);
    return results::Canonical{fmt::format("{}: {}", outcome_line(result), command_preview(cmd)),
                              std::move(result)};
}

std::string render_command(const results::Envelope& envelope) {
    const json::value result(envelope.result());
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
    json::object result{{"item_count", items.size()},     {"completed_count", completed},
                        {"failed_count", failed},         {"skipped_count", skipped},
                        {"stop_on_error", stop_on_error}, {"items", std::move(list)}};
    return results::Canonical{fmt::format("{} of {} commands completed", completed, items.size()),
                              std::move(result)};
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
