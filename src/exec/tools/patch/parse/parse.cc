#include "exec/tools/patch/parse/parse.h"

#include "base/text.h"

namespace patch {
namespace {

constexpr std::size_t kDetectionLines = 40;

Outcome<Parsed> parse_as(std::string_view text, Format format) {
    switch (format) {
        case Format::UnifiedDiff:
            return parse_unified(text);
        case Format::Freeform:
            return parse_freeform(text);
    }
    CHECK(false, "every format has a parser");
}

bool looks_like_other(std::string_view text, Format expected) {
    return expected == Format::UnifiedDiff ? looks_freeform(text) : looks_unified(text);
}

}  // namespace

bool is_blank(std::string_view text) {
    return base::trim(text).empty();
}

std::vector<TextLine> read_lines(std::string_view text) {
    const auto raw = base::split_lines(text);
    std::vector<TextLine> lines;
    lines.reserve(raw.size());
    bool from_transport = true;
    bool begun = false;
    for (std::size_t i = 0; i < raw.size(); ++i) {
        std::string_view line = raw[i];
        const bool ended = line.ends_with('\r');
        if (ended) line.remove_suffix(1);
        if (!ended && i + 1 < raw.size()) from_transport = false;
        if (!begun && !is_blank(line)) {
            line.remove_prefix(line.find_first_not_of(" \t\v\f"));
            begun = true;
        }
        lines.push_back({line, ended});
    }
    if (from_transport) {
        for (auto& line : lines) line.carriage_return = false;
    }
    return lines;
}

bool looks_freeform(std::string_view text) {
    while (!text.empty()) {
        const auto end = text.find('\n');
        const std::string_view line = base::trim(text.substr(0, end));
        if (!line.empty() && !line.starts_with("<<")) return line == "*** Begin Patch";
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return false;
}

bool looks_unified(std::string_view text) {
    bool from = false;
    bool to = false;
    bool hunk = false;
    for (std::size_t i = 0; i < kDetectionLines && !text.empty(); ++i) {
        const auto end = text.find('\n');
        from |= text.starts_with("--- ");
        to |= text.starts_with("+++ ");
        hunk |= text.starts_with("@@ ");
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return from && to && hunk;
}

Outcome<Parsed> parse(std::string_view text, Format expected) {
    if (text.size() > kPatchBytesMax) {
        return syntax_failure("patch_too_large",
                              fmt::format("The patch has {} bytes; at most {} are accepted.",
                                          text.size(), kPatchBytesMax));
    }
    auto parsed = parse_as(text, expected);
    if (!parsed && looks_like_other(text, expected)) {
        const bool unified = expected == Format::UnifiedDiff;
        parsed = parse_as(text, unified ? Format::Freeform : Format::UnifiedDiff);
        if (parsed) {
            parsed->diagnostics.push_back(
                {"", "apply_patch_compatibility_fallback",
                 unified ? "The patch was in the `*** Begin Patch` format and was applied as such; "
                           "send a unified diff next time."
                         : "The patch was a unified diff and was applied as such; send the "
                           "`*** Begin Patch` format next time."});
        }
    }
    if (parsed && parsed->files.size() > kPatchFilesMax) {
        return syntax_failure("patch_too_large",
                              fmt::format("The patch changes {} files; at most {} are accepted.",
                                          parsed->files.size(), kPatchFilesMax));
    }
    return parsed;
}

Diagnostic empty_lines_as_context(std::string_view path, std::size_t patch_line,
                                  std::size_t count) {
    return {
        std::string(path), "hunk_empty_line_as_context",
        fmt::format("The hunk at line {} of the patch has {} without a leading space; read as "
                    "unchanged empty {}.",
                    patch_line, count == 1 ? "an empty line" : fmt::format("{} empty lines", count),
                    count == 1 ? "line" : "lines")};
}

}  // namespace patch
