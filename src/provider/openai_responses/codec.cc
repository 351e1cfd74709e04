#include "provider/openai_responses/codec.h"

#include "provider/openai_responses/continuation.h"
#include "provider/openai_responses/stream.h"
#include "provider/openai_responses/wire.h"

namespace provider::openai_responses {
namespace {

struct Endpoint {
    std::string url;
    std::string api_key;  // Empty: none.
    Options options;
    Continuations continuations;
};

// A request of which it is not decided yet how much goes out.
struct Unsent {
    std::shared_ptr<Endpoint> endpoint;  // Shared: an exchange may outlive its codec.
    std::optional<Scope> scope;
    json::object frame;
    json::array input;
    Snapshot now;
};

json::object request_diagnostics(const Plan& plan, const Options& options) {
    json::object out{{"request_lowering_mode",
                      plan.previous_response_id ? "incremental_continuation" : "full_request"}};
    out["incremental_continuation"] = plan.incremental_continuation;
    json::object controls{{"reasoning_sent", options.reasoning_effort.has_value()},
                          {"include_reasoning_encrypted_content", false},
                          {"max_output_tokens_sent", true},
                          {"max_output_tokens_unsupported", false}};
    if (options.reasoning_effort) controls["reasoning_effort"] = *options.reasoning_effort;
    out["openai_request_controls"] = std::move(controls);
    return out;
}

json::object body_of(const Unsent& request, const Plan& plan) {
    json::object body = request.frame;
    if (request.endpoint->options.stream) body["stream"] = true;
    if (plan.previous_response_id) body["previous_response_id"] = *plan.previous_response_id;
    body["input"] = json::array(request.input.begin() + static_cast<std::ptrdiff_t>(plan.first_new),
                                request.input.end());
    return body;
}

EncodedRequest encode_planned(Unsent request, Plan plan);

// Reads the answer and notes in the continuations what it means to the next request.
class ResponsesDecoder final : public Decoder {
public:
    ResponsesDecoder(Unsent request, Plan plan)
        : request_(std::move(request)), plan_(std::move(plan)) {
        if (request_.endpoint->options.stream) events_.emplace();
    }

    Outcome decode(const HttpResponse& response, base::Time now) override {
        is_refused_ = refuses_previous_response(response, previous_id());
        auto answer = parse_response(response, now);
        if (!answer) return std::unexpected(std::move(answer).error());
        request_.now.response_id = std::move(answer->response_id);
        return std::move(answer->reply);
    }

    EventReader* events() override { return events_ ? &*events_ : nullptr; }

    std::optional<EncodedRequest> replacement(const Outcome& outcome) override {
        const bool is_refused =
            is_refused_ || (events_ && names_previous_response(events_->error(), previous_id()));
        if (plan_.previous_response_id && is_refused) {
            request_.endpoint->continuations.note_refused();
            Plan plan = full_request("previous_response_unknown", request_.input.size());
            return encode_planned(std::move(request_), std::move(plan));
        }
        if (outcome) keep(*outcome);
        return std::nullopt;
    }

private:
    std::string_view previous_id() const {
        return plan_.previous_response_id ? std::string_view(*plan_.previous_response_id) : "";
    }

    // The next request is expected to hold this reply as it will be sent back then.
    void keep(const Reply& reply) {
        auto& continuations = request_.endpoint->continuations;
        Snapshot& now = request_.now;
        if (events_ && now.response_id.empty()) now.response_id = events_->response_id();
        if (!request_.endpoint->options.keeps_state || !request_.scope || now.response_id.empty())
            return;
        const Request echo{.conversation = {AssistantTurn{reply.blocks}}};
        for (auto& item : digests(encode_input(echo, PatchForm::Function)))
            now.items.push_back(std::move(item));
        continuations.keep(*request_.scope, std::move(now));
    }

    Unsent request_;
    Plan plan_;
    std::optional<StreamReader> events_;  // Of a streamed answer.
    bool is_refused_{false};
};

EncodedRequest encode_planned(Unsent request, Plan plan) {
    const Endpoint& endpoint = *request.endpoint;
    EncodedRequest encoded{.url = endpoint.url,
                           .headers = {{"Content-Type", "application/json"}},
                           .body = body_of(request, plan),
                           .secret = endpoint.api_key,
                           .request_diagnostics = request_diagnostics(plan, endpoint.options),
                           .may_be_document = true};
    if (!endpoint.api_key.empty()) encoded.headers.push_back(bearer(endpoint.api_key));
    encoded.decoder = std::make_unique<ResponsesDecoder>(std::move(request), std::move(plan));
    return encoded;
}

Plan plan_of(Unsent& request, std::int64_t compression_epoch) {
    const std::size_t items = request.input.size();
    if (!request.scope) return full_request("missing_continuation_scope", items);
    if (!request.endpoint->options.keeps_state)
        return full_request("provider_keeps_no_state", items);
    request.now = {.shape = digest(request.frame),
                   .compression_epoch = compression_epoch,
                   .items = digests(request.input)};
    auto& continuations = request.endpoint->continuations;
    const auto previous = continuations.take(*request.scope);
    if (continuations.is_refused()) return full_request("previous_response_not_kept", items);
    return plan_request(previous, request.now);
}

class ResponsesCodec final : public Codec {
public:
    explicit ResponsesCodec(const Options& options)
        : endpoint_(std::make_shared<Endpoint>(endpoint_url(options.base_url),
                                               trimmed_credential(options.api_key), options)) {}

    std::expected<EncodedRequest, Failure> encode(const Request& request) override {
        Unsent unsent{.endpoint = endpoint_,
                      .scope = scope_of(request),
                      .frame = encode_frame(request, endpoint_->options.reasoning_effort),
                      .input = encode_input(request, PatchForm::Function)};
        unsent.frame["store"] = endpoint_->options.keeps_state;
        Plan plan =
            plan_of(unsent, request.frame.cache ? request.frame.cache->compression_epoch : 0);
        return encode_planned(std::move(unsent), std::move(plan));
    }

private:
    std::shared_ptr<Endpoint> endpoint_;
};

}  // namespace

std::unique_ptr<Codec> make_codec(const Options& options) {
    return std::make_unique<ResponsesCodec>(options);
}

}  // namespace provider::openai_responses
