// The Responses API as the Codex service speaks it: streaming, with the login of the Codex command
// line.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "provider/http/ask_stream.h"
#include "provider/provider.h"

namespace provider {

struct OpenaiCodexOptions {
    std::string base_url;
    std::filesystem::path codex_home;  // Holds auth.json; see read_codex_login().
    std::optional<std::string>
        reasoning_effort{};  // low, medium, high, xhigh; none: not asked for.
    HttpTimeouts timeouts{kStreamTimeouts};
    std::size_t body_bytes_max{kBodyBytesMax};
    std::chrono::milliseconds close_grace{kStreamCloseGrace};
};

// The login is read anew for each question. The outcome arrives with the event that ends the
// response, even if the server leaves the stream open. Tools that take a patch are offered as free
// text; a call to one has the input {"patch": "<text>"}, as everywhere.
class OpenaiCodex final : public Provider {
public:
    // `http` and `clock` must outlive every question.
    OpenaiCodex(HttpClient& http, base::Clock& clock, OpenaiCodexOptions options);

    std::shared_ptr<Exchange> ask(Request request, Progress progress,
                                  std::move_only_function<void(Outcome)> done) override;

private:
    HttpClient& http_;
    base::Clock& clock_;
    OpenaiCodexOptions options_;
};

}  // namespace provider
