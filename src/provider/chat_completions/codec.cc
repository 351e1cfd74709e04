#include "provider/chat_completions/codec.h"

#include "provider/chat_completions/stream.h"
#include "provider/chat_completions/wire.h"

namespace provider::chat_completions {
namespace {

class ChatCompletionsCodec final : public Codec {
public:
    explicit ChatCompletionsCodec(const Options& options)
        : url_(endpoint_url(options.base_url)),
          api_key_(trimmed_credential(options.api_key)),
          stream_(options.stream),
          reasoning_effort_(options.reasoning_effort) {}

    std::expected<EncodedRequest, Failure> encode(const Request& request) override {
        EncodedRequest encoded{
            .url = url_,
            .headers = {{"Content-Type", "application/json"}},
            .body = encode_request(request, stream_, reasoning_effort_),
            .secret = api_key_,
            .request_diagnostics = request_diagnostics(request),
            .decoder =
                make_decoder(&parse_response, stream_ ? std::make_unique<StreamReader>() : nullptr),
            .may_be_document = true};
        if (!api_key_.empty()) encoded.headers.push_back(bearer(api_key_));
        return encoded;
    }

private:
    std::string url_;
    std::string api_key_;  // Empty: none.
    bool stream_;
    std::optional<std::string> reasoning_effort_;
};

}  // namespace

std::unique_ptr<Codec> make_codec(const Options& options) {
    return std::make_unique<ChatCompletionsCodec>(options);
}

}  // namespace provider::chat_completions
