// What is piped into the program becomes a part of its prompt.
#pragma once

#include "surfaces/cli/cli.h"

namespace cli {

inline constexpr std::size_t kInputBytesMax = 1024 * 1024;

// Reads standard input for a run or a prompt: all of it where the text is "-", and behind the text
// where it is a pipe or a file. Blocks until its end. InvalidInput when there is no text at all, or
// more than kInputBytesMax.
base::Status add_standard_input(Command& command, const Terminal& terminal);

}  // namespace cli
