// A task's output as it is shown: the ends of its log, within a bound.
#pragma once

#include <filesystem>

#include "exec/results/preview.h"
#include "exec/tasks/spec.h"

namespace tasks {

// Shown of a task's output at most, whatever was asked for at its start.
inline constexpr std::size_t kOutputCharsMax = 8000;

// How many characters of output a task shows.
std::size_t output_chars(const std::optional<std::int64_t>& max_output_tokens);

// The first and the last part of a file, as much as a preview of `chars` can need. Blocks, but
// never for long: it reads at most two pieces.
base::Result<base::CapturedStream> read_ends(const std::filesystem::path& file, std::size_t chars);

// The newest line of a file that is not blank, without secrets, cut to `chars`; empty when there is
// none. Blocks, but never for long.
base::Result<std::string> last_line(const std::filesystem::path& file, std::size_t chars);

// What there is to show of a command task now. The file is the authority; where it cannot be read,
// what the record kept of it stands in.
struct Shown {
    std::string text;
    bool truncated{false};
    bool from_file{false};
    bool is_there{false};  // Whether there was a source at all.
};
Shown show_output(const domain::Task& task);

}  // namespace tasks
