// Secrets that have to be kept, encrypted at rest.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace service {

// `secret` under a key that is derived from `key`, with AES-256-GCM, as hex. `name` is bound to it:
// under another one it does not open. The same secret twice differs.
std::string seal(std::string_view key, std::string_view name, std::string_view secret);
// Corrupt when it was sealed under another key or name, or was changed.
base::Result<std::string> unseal(std::string_view key, std::string_view name,
                                 std::string_view sealed);

}  // namespace service
