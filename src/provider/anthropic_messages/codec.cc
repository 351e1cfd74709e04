#include "provider/anthropic_messages/codec.h"

#include "provider/anthropic_messages/stream.h"

namespace provider::anthropic_messages {
namespace {

constexpr std::string_view kApiVersion = "2023-06-01";

class MessagesCodec final : public Codec {
public:
    explicit MessagesCodec(Options options)
        : options_(std::move(options)),
          url_(endpoint_url(options_.base_url)),
          credential_(trimmed_credential(options_.credential)) {}

    std::expected<EncodedRequest, Failure> encode(const Request& request) override {
        json::object body = encode_request(request, options_.context_management, options_.stream);
        json::object diagnostics = request_diagnostics(request, body, options_.context_management);
        return EncodedRequest{
            .url = url_,
            .headers = headers(),
            .body = std::move(body),
            .secret = credential_,
            .request_diagnostics = std::move(diagnostics),
            .decoder = make_decoder(&parse_response,
                                    options_.stream ? std::make_unique<StreamReader>() : nullptr),
            .may_be_document = true};
    }

private:
    std::vector<HttpHeader> headers() const {
        std::vector<HttpHeader> list{{"Content-Type", "application/json"},
                                     {"anthropic-version", std::string(kApiVersion)}};
        if (options_.context_management)
            list.push_back({"anthropic-beta", std::string(kContextManagementBeta)});
        if (credential_.empty()) return list;
        const bool is_key = options_.credential_header == CredentialHeader::ApiKey;
        list.push_back(is_key ? HttpHeader{"x-api-key", credential_} : bearer(credential_));
        return list;
    }

    Options options_;
    std::string url_;
    std::string credential_;  // Empty: none.
};

}  // namespace

std::unique_ptr<Codec> make_codec(Options options) {
    return std::make_unique<MessagesCodec>(std::move(options));
}

}  // namespace provider::anthropic_messages
