// The patch dialect of Codex as a grammar, for models that write patches as free text.
#pragma once

#include <string_view>

namespace provider::openai_responses {

inline constexpr std::string_view kPatchToolDescription =
    "Change files (add, update, move, delete). Write the patch itself, as free text in the format "
    "of the grammar: no JSON and no quotes around it. All of it is applied or nothing. Paths are "
    "relative to cwd and stay inside the execution root.";

inline constexpr std::string_view kPatchGrammar = R"(start: begin file_change+ end
begin: "*** Begin Patch" LF
end: "*** End Patch" LF?

file_change: add_file | delete_file | update_file
add_file: "*** Add File: " path LF added_line+
delete_file: "*** Delete File: " path LF
update_file: "*** Update File: " path LF move_to? (chunk+ end_of_file?)?
move_to: "*** Move to: " path LF

chunk: chunk_header body_line* | body_line+
chunk_header: ("@@" | "@@ " /(.+)/) LF
body_line: (" " | "+" | "-") /(.*)/ LF
added_line: "+" /(.*)/ LF
end_of_file: "*** End of File" LF

path: /(.+)/

%import common.LF
)";

}  // namespace provider::openai_responses
