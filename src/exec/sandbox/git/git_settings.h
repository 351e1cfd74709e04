// What is read from git's settings before a command is confined. Text in, values out: pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sandbox {

// Git settings with the user's name and address from the text `settings`; empty if it has neither.
// A commit needs them, and nothing else of the user's settings is for a confined command.
std::string git_identity(std::string_view settings);

// The words of `settings` that name files or folders which git executes or obeys: the folder of
// hooks, included settings, programs of filters, editors, pagers and aliases. In the order of the
// text; words that are plainly no paths are left out.
struct ObeyedPath {
    std::string path;  // As written: relative or absolute, `~` not expanded.
    bool is_hooks_folder{false};
    friend bool operator==(const ObeyedPath&, const ObeyedPath&) = default;
};
std::vector<ObeyedPath> obeyed_paths(std::string_view settings);

}  // namespace sandbox
