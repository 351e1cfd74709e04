#include "provider/openai_responses/openai_responses.h"

#include "base/text.h"
#include "provider/http/ask_once.h"
#include "provider/openai_responses/continuation.h"
#include "provider/openai_responses/stream.h"
#include "provider/openai_responses/wire.h"

namespace provider {
namespace {

using openai_responses::Continuations;
using openai_responses::PatchForm;
using openai_responses::Plan;
using openai_responses::Scope;
using openai_responses::Snapshot;

struct Parts {
    HttpClient& http;
    base::Clock& clock;
    std::shared_ptr<const OpenaiResponsesOptions> options;
    std::shared_ptr<Continuations> continuations;
};

json::object request_diagnostics(const Plan& plan) {
    json::object out{{"request_lowering_mode",
                      plan.previous_response_id ? "incremental_continuation" : "full_request"}};
    out["incremental_continuation"] = plan.incremental_continuation;
    out["openai_request_controls"] = {{"reasoning_sent", false},
                                      {"include_reasoning_encrypted_content", false},
                                      {"max_output_tokens_sent", true},
                                      {"max_output_tokens_unsupported", false}};
    return out;
}

// One question on its way: a request, and a second one if the first named a response that the
// server does not know.
class Asking final : public Exchange, public std::enable_shared_from_this<Asking> {
public:
    Asking(Parts parts, const Request& request, Progress progress,
           std::move_only_function<void(Outcome)> done)
        : parts_(std::move(parts)),
          model_ref_(request.model_ref),
          scope_(openai_responses::scope_of(request)),
          compression_epoch_(request.frame.cache ? request.frame.cache->compression_epoch : 0),
          frame_(openai_responses::encode_frame(request)),
          input_(openai_responses::encode_input(request, PatchForm::Function)),
          progress_(std::move(progress)),
          done_(std::move(done)) {}

    void start() {
        if (!scope_)
            return send(
                openai_responses::full_request("missing_continuation_scope", input_.size()));
        now_ = {.shape = openai_responses::digest(frame_),
                .compression_epoch = compression_epoch_,
                .items = openai_responses::digests(input_)};
        const auto previous = parts_.continuations->take(*scope_);
        if (parts_.continuations->is_given_up())
            return send(
                openai_responses::full_request("previous_response_not_kept", input_.size()));
        send(openai_responses::plan_request(previous, now_));
    }

    void cancel() override {
        cancelled_ = true;
        if (const auto sent = exchange_.lock()) sent->cancel();
    }

private:
    void send(Plan plan) {
        plan_ = std::move(plan);
        refused_ = false;
        const std::string secret = parts_.options->api_key.value_or("");
        auto parse = [self = shared_from_this()](const HttpResponse& response, base::Time now) {
            return self->read(response, now);
        };
        auto done = [self = shared_from_this()](Outcome outcome) {
            self->settle(std::move(outcome));
        };
        if (!parts_.options->stream) {
            exchange_ = ask_once(parts_.http, parts_.clock,
                                 {.http = http_request(),
                                  .model_ref = model_ref_,
                                  .secret = secret,
                                  .request_diagnostics = request_diagnostics(plan_),
                                  .parse = std::move(parse)},
                                 progress_, std::move(done));
            return;
        }
        events_ = std::make_shared<openai_responses::StreamReader>();
        exchange_ = ask_stream(parts_.http, parts_.clock,
                               {.http = http_request(),
                                .model_ref = model_ref_,
                                .secret = secret,
                                .request_diagnostics = request_diagnostics(plan_),
                                .events = events_,
                                .parse = std::move(parse),
                                .may_be_document = true},
                               progress_, std::move(done));
    }

    HttpRequest http_request() const {
        json::object body = frame_;
        if (parts_.options->stream) body["stream"] = true;
        if (plan_.previous_response_id) body["previous_response_id"] = *plan_.previous_response_id;
        body["input"] = json::array(input_.begin() + static_cast<std::ptrdiff_t>(plan_.first_new),
                                    input_.end());
        HttpRequest http{.url = openai_responses::endpoint_url(parts_.options->base_url),
                         .headers = {{"Content-Type", "application/json"}},
                         .body = base::json_text(body),
                         .timeouts = parts_.options->timeouts,
                         .body_bytes_max = parts_.options->body_bytes_max};
        if (parts_.options->api_key)
            http.headers.push_back({"Authorization", "Bearer " + *parts_.options->api_key});
        return http;
    }

    Outcome read(const HttpResponse& response, base::Time now) {
        refused_ =
            plan_.previous_response_id && openai_responses::refuses_previous_response(response);
        auto answer = openai_responses::parse_response(response, now);
        if (!answer) return std::unexpected(std::move(answer).error());
        now_.response_id = std::move(answer->response_id);
        return std::move(answer->reply);
    }

    void settle(Outcome outcome) {
        if (events_ && now_.response_id.empty()) now_.response_id = events_->response_id();
        if (events_ && plan_.previous_response_id)
            refused_ = refused_ || events_->refuses_previous_response();
        if (refused_ && !cancelled_) {
            parts_.continuations->note_refused();
            return send(openai_responses::full_request("previous_response_unknown", input_.size()));
        }
        if (refused_) outcome = std::unexpected(cancelled());
        if (outcome) keep(*outcome);
        std::exchange(done_, nullptr)(std::move(outcome));
    }

    // The next request is expected to hold this reply as it will be sent back then.
    void keep(const Reply& reply) {
        if (plan_.previous_response_id) parts_.continuations->note_hit();
        if (!scope_ || now_.response_id.empty()) return;
        const Request echo{.conversation = {AssistantTurn{reply.blocks}}};
        for (auto& item :
             openai_responses::digests(openai_responses::encode_input(echo, PatchForm::Function)))
            now_.items.push_back(std::move(item));
        parts_.continuations->keep(*scope_, std::move(now_));
    }

    Parts parts_;
    std::string model_ref_;
    std::optional<Scope> scope_;
    std::int64_t compression_epoch_;
    json::object frame_;
    json::array input_;
    Snapshot now_;
    Plan plan_;
    bool refused_{false};
    bool cancelled_{false};
    std::shared_ptr<openai_responses::StreamReader> events_;  // Of a streamed answer.
    Progress progress_;
    std::move_only_function<void(Outcome)> done_;
    std::weak_ptr<Exchange> exchange_;  // Weak: it holds this in its callbacks.
};

}  // namespace

OpenaiResponses::OpenaiResponses(HttpClient& http, base::Clock& clock,
                                 OpenaiResponsesOptions options)
    : http_(http), clock_(clock), continuations_(std::make_shared<Continuations>()) {
    if (options.api_key) options.api_key = std::string(base::trim(*options.api_key));
    if (options.api_key && options.api_key->empty()) options.api_key.reset();
    options_ = std::make_shared<const OpenaiResponsesOptions>(std::move(options));
}

std::shared_ptr<Exchange> OpenaiResponses::ask(Request request, Progress progress,
                                               std::move_only_function<void(Outcome)> done) {
    auto asking = std::make_shared<Asking>(Parts{http_, clock_, options_, continuations_}, request,
                                           std::move(progress), std::move(done));
    asking->start();
    return asking;
}

}  // namespace provider
