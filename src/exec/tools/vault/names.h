// Paths and names of a vault as text. Nothing here reads a file system.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exec/tools/vault/errors.h"

namespace vault {

inline constexpr std::size_t kPathBytesMax = 2048;
inline constexpr std::size_t kNameBytesMax = 255;  // The limit of file systems.
inline constexpr std::size_t kPathDepthMax = 64;
inline constexpr std::size_t kSlugCharsMax = 80;

// The names along a relative path; "." and empty ones are dropped, so the root itself has none.
// Absolute paths, "..", URLs and drive letters are denied, whatever they would lead to.
Outcome<std::vector<std::string>> split_path(std::string_view path);

std::string join(const std::vector<std::string>& names);
std::string join(std::string_view folder, std::string_view name);
std::string_view folder_of(std::string_view path);  // "" for a path without folders.
std::string_view name_of(std::string_view path);

// A name that every common file system and every kind of link supports: characters with a meaning
// there become "-", the length is bounded, and names that Windows reserves get a "_".
std::string safe_name(std::string_view name);

// "Title.md", 2 -> "Title (2).md".
std::string numbered_name(std::string_view name, std::size_t number);

// "Crème brûlée: a how-to" -> "creme-brulee-a-how-to". Letters of other scripts are kept.
std::string slugify_title(std::string_view title, std::size_t chars_max = kSlugCharsMax);

// Folders of version control hold programs: a file written there could be run later.
bool is_protected(const std::vector<std::string>& names);

}  // namespace vault
