#include "surfaces/cli/view/transcript_view.h"

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/diff.h"
#include "surfaces/show/times.h"
#include "surfaces/show/words.h"

namespace cli {
namespace {

constexpr std::size_t kResultLines = 12;  // Of a result; the rest is counted.
constexpr std::size_t kWhoColumns = 8;
constexpr std::size_t kMargin = 14 + 2 + kWhoColumns + 2;  // Time, sender, and their gaps.
constexpr std::size_t kNarrowMargin = 2;
constexpr std::size_t kTextMin = 20;

// Who sent a message. Only the operator's own prompts are "you".
std::string sender(const json::value& data) {
    const auto* origin = base::find(data, "origin");
    const std::string kind = origin ? base::string_at(*origin, "kind") : "operator";
    if (kind == "operator") return "you";
    return kind == "system" ? "runtime" : base::printable(kind);
}

std::string body_text(const json::value& data) {
    const auto* body = base::find(data, "body");
    if (!body) return "";
    if (const auto* value = base::find(*body, "value")) return base::json_text(*value);
    return base::string_at(*body, "text");
}

// What an external system sent with a hint.
std::string hint_text(const json::value& data) {
    const auto* metadata = base::find(data, "metadata");
    const auto* hint = metadata ? base::find(*metadata, "wake_hint") : nullptr;
    const std::string text = hint ? body_text(*hint) : "";
    return text.empty() ? "" : "\n" + text;
}

// The command of a call, or its arguments in one line.
std::string call_text(const json::value& block) {
    const std::string name = base::string_at(block, "name");
    const auto* input = base::find(block, "input");
    if (!input) return name;
    if (const std::string cmd = base::string_at(*input, "cmd"); !cmd.empty()) return "$ " + cmd;
    const bool is_empty = input->is_object() && input->get_object().empty();
    return is_empty ? name : name + " " + base::json_text(*input);
}

std::string patch_of(const json::value& block) {
    const auto* input = base::find(block, "input");
    return input ? base::string_at(*input, "patch") : "";
}

// The first lines, and how many follow.
std::string beginning(std::string_view text) {
    const auto lines = base::split_lines(text);
    std::string out;
    for (std::size_t i = 0; i < std::min(lines.size(), kResultLines); ++i)
        out += (i == 0 ? "" : "\n") + std::string(lines[i]);
    if (lines.size() > kResultLines)
        out += fmt::format("\n… {} more lines; --json shows all", lines.size() - kResultLines);
    return out;
}

}  // namespace

TranscriptView::TranscriptView(const Terminal& terminal)
    : terminal_(terminal), columns_(out_columns(terminal)) {}

void TranscriptView::print(std::span<const domain::TranscriptEntry> entries) {
    for (const auto& entry : entries) print(entry);
}

void TranscriptView::print(const domain::TranscriptEntry& entry) {
    if (const std::string day = show::local_day(entry.created_at); day != day_) {
        terminal_.print_line((day_.empty() ? "" : "\n") + styled(terminal_, Style::Dim, day));
        day_ = day;
    }
    clock_ = show::local_clock(entry.created_at);
    switch (entry.kind) {
        case domain::TranscriptKind::IncomingMessage:
            return say(sender(entry.data), body_text(entry.data) + hint_text(entry.data));
        case domain::TranscriptKind::AssistantRound:
            return show_calls(entry.data);
        case domain::TranscriptKind::ToolResults:
            return show_results(entry.data);
        case domain::TranscriptKind::RuntimeFailure:
            return say("failure", show::failure_text(base::string_at(entry.data, "text")));
        case domain::TranscriptKind::ContinuationPrompt:
            return say("runtime", base::string_at(entry.data, "text"));
    }
}

void TranscriptView::show_calls(const json::value& data) {
    const auto* blocks = base::find(data, "blocks");
    if (!blocks || !blocks->is_array()) return;
    for (const auto& block : blocks->get_array()) {
        if (base::string_at(block, "type") == "text") say("agent", base::string_at(block, "text"));
        if (base::string_at(block, "type") != "tool_use") continue;
        if (const std::string patch = patch_of(block); !patch.empty()) {
            say("patch", base::string_at(block, "name"));
            show_diff(patch);
        } else {
            say("calls", call_text(block));
        }
    }
}

void TranscriptView::show_results(const json::value& data) {
    const auto* results = base::find(data, "results");
    if (!results || !results->is_array()) return;
    for (const auto& result : results->get_array())
        say(base::bool_at(result, "is_error") ? "error" : "result",
            beginning(base::string_at(result, "content")));
}

void TranscriptView::show_diff(std::string_view patch) {
    const std::string margin(columns_ < kMargin + kTextMin ? kNarrowMargin : kMargin, ' ');
    const std::size_t room = columns_ > margin.size() ? columns_ - margin.size() : 1;
    for (const auto& line : show::diff_lines(patch, room))
        terminal_.print_line(margin + styled(terminal_, line));
}

void TranscriptView::say(std::string_view who, std::string_view text) {
    // On a narrow terminal the text has the whole line below its heading.
    const bool is_narrow = columns_ < kMargin + kTextMin;
    const std::size_t margin = is_narrow ? kNarrowMargin : kMargin;
    std::string lines;
    if (is_narrow) lines = fmt::format("{} {}\n", clock_, who);
    bool is_first = !is_narrow;
    for (const auto line : base::split_lines(text.empty() ? std::string_view("-") : text))
        for (const auto& part :
             show::wrapped(base::printable(base::to_utf8(line)), columns_ - margin)) {
            lines += is_first ? fmt::format("{:<14}  {:>{}}  {}\n", clock_, who, kWhoColumns, part)
                              : std::string(margin, ' ') + part + "\n";
            is_first = false;
        }
    terminal_.print(lines);
    clock_.clear();
}

}  // namespace cli
