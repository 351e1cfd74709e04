// What the name of a value says of the value.
#pragma once

#include <string_view>

namespace scan {

enum class NameKind {
    Other,     // max_tokens, primary_key, secret_name
    Weak,      // key, auth, session: often something else
    Secret,    // api_key, accessToken, client-secret
    Password,  // Chosen by a person: it may be short, and hold words.
};

// `name` is an identifier in any spelling: API_KEY, apiKey, x-api-key, settings.api.key. `prior` is
// the word before it, if any: a "cache key" is no secret.
NameKind name_kind(std::string_view name, std::string_view prior = {});

}  // namespace scan
