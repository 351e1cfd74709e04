#include "provider/openai_codex/codec.h"

#include "provider/openai_codex/login.h"
#include "provider/openai_codex/wire.h"
#include "provider/openai_responses/stream.h"

namespace provider::openai_codex {
namespace {

Outcome decode_refusal(const HttpResponse& response, base::Time now) {
    return std::unexpected(parse_refusal(response, now));
}

class CodexCodec final : public Codec {
public:
    explicit CodexCodec(Options options) : options_(std::move(options)) {}

    std::expected<EncodedRequest, Failure> encode(const Request& request) override {
        auto login = read_codex_login(options_.codex_home);
        if (!login)
            return std::unexpected(
                Failure{.kind = FailureKind::AuthError, .message = login.error().message});
        return EncodedRequest{
            .url = endpoint_url(options_.base_url),
            .headers = {{"Content-Type", "application/json"},
                        {"Accept", "text/event-stream"},
                        bearer(login->access_token),
                        {"chatgpt-account-id", login->account_id},
                        {"OpenAI-Beta", "responses=experimental"},
                        {"originator", "codex_cli_rs"}},
            .body = encode_request(request, options_.reasoning_effort),
            .secret = std::move(login->access_token),
            .request_diagnostics = request_diagnostics(request, options_.reasoning_effort),
            .decoder =
                make_decoder(&decode_refusal, std::make_unique<openai_responses::StreamReader>())};
    }

private:
    Options options_;
};

}  // namespace

std::unique_ptr<Codec> make_codec(Options options) {
    return std::make_unique<CodexCodec>(std::move(options));
}

}  // namespace provider::openai_codex
