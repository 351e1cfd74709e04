// Manual page and shell completions, made from the table of commands that parses them.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace cli {

std::string man_page(const CLI::App& app);

// For bash, zsh or fish; empty for any other word.
std::string completion(const CLI::App& app, std::string_view shell);

}  // namespace cli
