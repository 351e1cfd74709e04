// The conversation as the store has it, for reading. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "domain/record.h"
#include "surfaces/show/line.h"

namespace tui {

// One entry: who, when and what, each call with its command or patch, each result in full.
std::vector<show::Line> transcript_lines(const domain::TranscriptEntry& entry, std::size_t columns);
// All entries as Markdown, for a file.
std::string transcript_markdown(std::span<const domain::TranscriptEntry> entries);

// Any text in lines of at most `columns`; safe for untrusted text.
std::vector<show::Line> text_lines(std::string_view text, std::size_t columns,
                                   show::Face face = show::Face::Plain, std::size_t margin = 0);

}  // namespace tui
