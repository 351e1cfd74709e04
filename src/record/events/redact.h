// Secrets are left out of the record when it is written, so that no reader has to do it again and
// what is replayed equals what is stored.
#pragma once

#include <string_view>

#include "base/json.h"

namespace events {

// What stands where a secret would have been.
inline constexpr std::string_view kRedacted = "[redacted]";

// Replaces the text of members that are named like credentials (`bearer_token`, `Authorization`,
// `trigger_url`, …), at any depth, and the secret part of wake URLs (`cb_` and 32 hex digits) in
// any text.
void redact_secrets(json::value& data);

}  // namespace events
