// The login of the Codex command line, which this transport borrows.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace provider {

// `access_token` is a secret: it is never printed or logged.
struct CodexLogin {
    std::string access_token;
    std::string account_id;
    friend bool operator==(const CodexLogin&, const CodexLogin&) = default;
};

// Reads the text of auth.json. The account is tokens.account_id, else a claim of the id token, else
// of the access token. No error repeats any of the text. Pure.
base::Result<CodexLogin> parse_codex_login(std::string_view text);

// The login in `codex_home`/auth.json. The file is read at every call and never written; the Codex
// command line renews a token that has expired.
base::Result<CodexLogin> read_codex_login(const std::filesystem::path& codex_home);

}  // namespace provider
