// `holon gate …`.
#include "base/text.h"
#include "surfaces/cli/cli.h"

namespace cli {
namespace {

using domain::GateDocument;
using domain::GateReason;

std::string place_text(const GateReason& reason) {
    if (reason.artifact)
        return fmt::format("artifact {}{}", *reason.artifact,
                           reason.offset ? fmt::format(" at byte {}", *reason.offset) : "");
    if (reason.field) return "front matter " + *reason.field;
    if (!reason.section) return "document";
    return reason.line ? fmt::format("{} (line {}, column {})", *reason.section, *reason.line,
                                     reason.column.value_or(1))
                       : *reason.section;
}

std::string reasons_text(const std::vector<GateReason>& reasons) {
    std::string text;
    for (const auto& reason : reasons) {
        text += fmt::format("\n  {}: {} [{}]", place_text(reason), reason.message, reason.rule);
        if (reason.excerpt) text += "\n    " + *reason.excerpt;
    }
    return base::printable(text, true);
}

std::string line_of(const GateDocument& document) {
    std::string why;
    if (document.released_at)
        why = "released: " + document.release_reason.value_or("");
    else if (!document.reasons.empty())
        why = fmt::format("{}{}", document.reasons[0].message,
                          document.reasons.size() > 1
                              ? fmt::format(" (and {} more)", document.reasons.size() - 1)
                              : "");
    return base::printable(
        fmt::format("{:<10} {}  {}", base::enum_name(document.place), document.document_id, why));
}

json::array documents_json(const std::vector<GateDocument>& documents) {
    json::array list;
    for (const auto& document : documents) list.push_back(base::to_json(document));
    return list;
}

std::string lines_of(const std::vector<GateDocument>& documents, std::string_view none) {
    std::string text;
    for (const auto& document : documents) text += (text.empty() ? "" : "\n") + line_of(document);
    return text.empty() ? std::string(none) : text;
}

Answered on(const GateCheckCommand& command, const GateContext& context) {
    const auto verdict = TRY(context.gate.check(command.file));
    const bool is_accepted = verdict.outcome == domain::GateOutcome::Accept;
    return Answer{base::to_json(verdict),
                  (is_accepted ? "ACCEPT " : "REJECT ") + base::printable(command.file) +
                      reasons_text(verdict.reasons),
                  is_accepted ? Exit::Success : Exit::Failed};
}

Answered on(const GateListCommand& command, const GateContext& context) {
    const auto documents = TRY(context.gate.list(command.place, {command.limit, command.before}));
    tell_next(context.terminal, documents.next);
    return Answer{documents_json(documents.items), lines_of(documents.items, "No documents.")};
}

Answered on(const GateShowCommand& command, const GateContext& context) {
    const auto view = TRY(context.gate.show(command.document_id));
    std::string text = line_of(view.document);
    if (view.folder) text += "\n  folder: " + base::printable(*view.folder);
    return Answer{base::to_json(view), text + reasons_text(view.document.reasons)};
}

Answered on(const GateReleaseCommand& command, const GateContext& context) {
    const auto document = TRY(context.gate.release(command.document_id, command.reason));
    return Answer{base::to_json(document), line_of(document)};
}

Answered on(const GatePurgeCommand& command, const GateContext& context) {
    const auto documents = TRY(context.gate.purge(command.request));
    return Answer{documents_json(documents), lines_of(documents, "Nothing to delete.")};
}

}  // namespace

Exit execute(const GateCommand& command, const GateContext& context) {
    return give(
        context.terminal, command.json,
        std::visit([&](const auto& action) { return on(action, context); }, command.action));
}

}  // namespace cli
