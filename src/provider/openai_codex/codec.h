// The codec of the Responses API as the Codex service speaks it: streaming, with the login of the
// Codex command line.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "provider/http/codec.h"

namespace provider::openai_codex {

struct Options {
    std::string base_url;              // See endpoint_url().
    std::filesystem::path codex_home;  // Holds auth.json; see read_codex_login().
    std::optional<std::string>
        reasoning_effort{};  // low, medium, high, xhigh; none: not asked for.
};

// The login is read from its file for each request; a request without one cannot be encoded and
// fails with FailureKind::AuthError. Tools that take a patch are offered as free text; a call to
// one has the input {"patch": "<text>"}, as everywhere.
std::unique_ptr<Codec> make_codec(Options options);

}  // namespace provider::openai_codex
