// config.json and credentials.json on disk: read checked, written whole.
#pragma once

#include <filesystem>

#include "base/json.h"
#include "config/file.h"

namespace config {

inline constexpr std::size_t kConfigBytesMax = 1024 * 1024;

// A missing file is an empty one. What is returned has passed check().
base::Result<ConfigFile> read_config(const std::filesystem::path& home);
// The same as it is written, for editing.
base::Result<json::object> read_document(const std::filesystem::path& home);
// Decodes and checks a document as read_config() does.
base::Result<ConfigFile> checked(const json::object& document, const std::string& file);
// Refuses what read_config() would refuse, and writes nothing then. Private to the user; readers
// see the old or the new file. Makes the home if need be.
base::Status write_document(const std::filesystem::path& home, const json::object& document);

// Refused while others can read the file. Errors never quote its content.
base::Result<CredentialsFile> read_credentials(const std::filesystem::path& home);
base::Status write_credentials(const std::filesystem::path& home, const CredentialsFile& file);

}  // namespace config
