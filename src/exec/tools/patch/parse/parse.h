// Patch text becomes FilePatches. Pure: no file is read.
#pragma once

#include <string_view>
#include <vector>

#include "exec/tools/patch/errors.h"
#include "exec/tools/patch/model.h"

namespace patch {

// What is returned points into `text`.
Outcome<Parsed> parse_unified(std::string_view text);
Outcome<Parsed> parse_freeform(std::string_view text);

// Strictly as `expected`; when that fails and the text looks like the other format, as that one,
// with the diagnostic `apply_patch_compatibility_fallback`.
Outcome<Parsed> parse(std::string_view text, Format expected);

bool looks_unified(std::string_view text);
bool looks_freeform(std::string_view text);

struct TextLine {
    std::string_view text{};  // Without its line ending.
    bool carriage_return{false};
};

// The lines of a patch; leading spaces of the first written line are dropped. Where all lines end
// in CR LF that comes from the transport, and no line is marked.
std::vector<TextLine> read_lines(std::string_view text);

bool is_blank(std::string_view text);

// The diagnostic `hunk_empty_line_as_context`, for `count` lines of the hunk at `patch_line`.
Diagnostic empty_lines_as_context(std::string_view path, std::size_t patch_line, std::size_t count);

}  // namespace patch
