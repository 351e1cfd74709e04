// The help texts: each fits a screen of 80 columns and kHelpLinesMax lines. The manual has the
// rest.
#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
class FormatterBase;
}  // namespace CLI

namespace cli {

inline constexpr std::size_t kHelpLinesMax = 24;
inline constexpr std::size_t kHelpColumns = 80;

std::shared_ptr<CLI::FormatterBase> help_formatter();

// "holon plan run"
std::string path_of(const CLI::App& app);
// The examples of this command; empty when it only has those of the commands above it.
std::string own_footer(const CLI::App& app);

}  // namespace cli
