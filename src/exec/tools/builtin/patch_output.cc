#include "exec/tools/builtin/patch_output.h"

#include "base/text.h"

namespace builtin {
namespace {

std::string_view name_of(patch::Action action) {
    switch (action) {
        case patch::Action::Add:
            return "add";
        case patch::Action::Modify:
            return "modify";
        case patch::Action::Delete:
            return "delete";
        case patch::Action::Move:
            return "move";
    }
    return "";
}

std::string change_line(const json::value& change) {
    const std::string action = base::string_at(change, "action"),
                      path = base::string_at(change, "path");
    if (action == "move")
        return fmt::format("R {} -> {}", base::string_at(change, "from_path"), path);
    return fmt::format("{} {}", action == "add" ? 'A' : action == "delete" ? 'D' : 'M', path);
}

}  // namespace

base::Result<results::Canonical> PatchOutput::project(results::ArtifactSink&,
                                                      const results::OutputPolicy&) const {
    json::array files, paths, metadata, diagnostics;
    std::string summary;
    for (const auto& change : applied.changed_files) {
        if (files.size() == kChangedFilesShown) break;
        json::object entry{{"action", name_of(change.action)},
                           {"path", base::to_utf8(change.path)}};
        if (change.from_path) entry["from_path"] = base::to_utf8(*change.from_path);
        summary += (summary.empty() ? "" : ", ") + change_line(entry);
        files.push_back(std::move(entry));
    }
    for (const auto& path : applied.changed_paths) {
        if (paths.size() == kChangedFilesShown) break;
        paths.push_back(json::value(base::to_utf8(path)));
    }
    for (const auto& ignored : applied.ignored_metadata) {
        if (metadata.size() == kIgnoredMetadataShown) break;
        metadata.push_back(json::object{
            {"path", base::to_utf8(ignored.path)},
            {"kind", ignored.kind},
            {"value", base::ellipsize(base::to_utf8(ignored.value), kMetadataCharsMax)}});
    }
    for (const auto& diagnostic : applied.diagnostics) {
        if (diagnostics.size() == kDiagnosticsShown) break;
        diagnostics.push_back(json::object{
            {"path", base::to_utf8(diagnostic.path)},
            {"kind", diagnostic.kind},
            {"message", base::ellipsize(base::to_utf8(diagnostic.message), kDiagnosticCharsMax)}});
    }
    json::object result{{"changed_files", std::move(files)},
                        {"changed_paths", std::move(paths)},
                        {"changed_file_count", applied.changed_paths.size()}};
    if (applied.changed_files.size() > kChangedFilesShown)
        result["omitted_file_count"] = applied.changed_files.size() - kChangedFilesShown;
    if (!metadata.empty()) result["ignored_metadata"] = std::move(metadata);
    if (!diagnostics.empty()) {
        result["diagnostics"] = std::move(diagnostics);
        result["diagnostic_count"] = applied.diagnostics.size();
    }
    if (!applied.undo.files.empty() || applied.undo.not_kept)
        result["undo"] = base::to_json(applied.undo);
    return results::Canonical{"Patched " + (summary.empty() ? "nothing" : summary),
                              std::move(result)};
}

std::string render_patch(const results::Envelope& envelope) {
    const json::value result(envelope.result());
    const auto* diagnostics = base::find(result, "diagnostics");
    std::string text = diagnostics ? "Patch applied, with diagnostics" : "Patch applied";
    for (const auto& change : result.at("changed_files").as_array())
        text += "\n" + change_line(change);
    if (const std::int64_t omitted = base::int_at(result, "omitted_file_count"); omitted > 0)
        text += fmt::format("\n({} more not listed)", omitted);
    if (!diagnostics) return text;
    text += "\n\nDiagnostics:";
    for (const auto& diagnostic : diagnostics->get_array())
        text += fmt::format("\n- {} on {}: {}", base::string_at(diagnostic, "kind"),
                            base::string_at(diagnostic, "path"),
                            base::string_at(diagnostic, "message"));
    const std::int64_t omitted = base::int_at(result, "diagnostic_count") -
                                 static_cast<std::int64_t>(diagnostics->get_array().size());
    if (omitted > 0) text += fmt::format("\n({} more not listed)", omitted);
    return text + "\nRead the changed regions once more if a diagnostic surprises you.";
}

}  // namespace builtin
