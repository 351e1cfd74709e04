#include "exec/tools/web_tools/fetch.h"

#include "base/text.h"
#include "exec/tools/web_tools/host_rules.h"

namespace web_tools {
namespace {

constexpr std::int64_t kRedirects[] = {301, 302, 303, 307, 308};
constexpr std::size_t kFetchHeaderBytesMax = 64 * 1024;

std::string shown(const Url& url) {
    return base::ellipsize(provider::public_url(url.text), 200);
}

FetchFailure denied(const Url& url, std::string_view why) {
    return {{.kind = "network_denied",
             .message = fmt::format("{} may not be fetched: {}.", shown(url), why),
             .details = json::object{{"host", url.host}},
             .recovery_hint = "Use another source. Only the operator can allow a host, with "
                              "web.fetch.allowed_hosts; metadata services stay out of reach."}};
}

FetchFailure bad_redirect(std::string kind, std::string message) {
    return {{.kind = std::move(kind),
             .message = std::move(message),
             .recovery_hint = "Use another source."}};
}

FetchFailure failed(const Url& url, const provider::Failure& failure) {
    using Kind = provider::FailureKind;
    if (failure.kind == Kind::Cancelled)
        return {{.kind = "cancelled", .message = "The fetch was cancelled."},
                domain::ResultStatus::Cancelled};
    const bool is_late = failure.kind == Kind::Timeout;
    return {{.kind = "tool_execution_failed",
             .message = fmt::format("{} could not be fetched: {}", shown(url),
                                    base::printable(base::to_utf8(failure.message))),
             .recovery_hint = "Try again later, or use another source.",
             .retryable = is_late || failure.kind == Kind::Connection},
            is_late ? domain::ResultStatus::Timeout : domain::ResultStatus::Error};
}

class Fetch final : public tools::Running, public std::enable_shared_from_this<Fetch> {
public:
    Fetch(FetchParts parts, Url url, std::chrono::milliseconds hop_timeout,
          std::move_only_function<void(Fetched)> done)
        : parts_(std::move(parts)),
          first_(url),
          url_(std::move(url)),
          hop_timeout_(hop_timeout),
          sender_(parts_.http.sender()),
          done_(std::move(done)) {}

    void begin() {
        // Posted, so that `done` never comes before fetch() has returned.
        sender_.loop().post([self = shared_from_this()] { self->hop(); });
    }

    void cancel() override {
        is_cancelled_ = true;
        if (exchange_) exchange_->cancel();
    }

private:
    void hop() {
        if (is_cancelled_) return end(std::unexpected(failed(url_, cancelled())));
        if (const auto why = host_refusal(url_, parts_.settings))
            return end(std::unexpected(denied(url_, *why)));
        provider::HttpRequest request{.url = url_.text, .method = provider::HttpMethod::Get};
        request.headers = {{"User-Agent", "holon/" HOLON_VERSION},
                           {"Accept",
                            "text/html,application/xhtml+xml,text/plain,application/json;q=0.9,"
                            "*/*;q=0.5"}};
        request.timeouts = {.connect = hop_timeout_,
                            .first_byte = hop_timeout_,
                            .idle = hop_timeout_,
                            .total = hop_timeout_};
        request.body_bytes_max = static_cast<std::size_t>(parts_.settings.max_response_bytes);
        request.cut_body = true;
        request.header_bytes_max = kFetchHeaderBytesMax;
        was_refused_ = std::make_shared<bool>(false);
        request.may_connect = [refused = was_refused_, url = url_, settings = parts_.settings,
                               may = parts_.may_connect](const sockaddr& address) {
            const bool is_allowed = may(url, address, settings);
            *refused |= !is_allowed;
            return is_allowed;
        };
        exchange_ = sender_.send(std::move(request), {},
                                 [self = shared_from_this()](provider::HttpOutcome outcome) {
                                     self->exchange_.reset();
                                     self->on_outcome(std::move(outcome));
                                 });
    }

    void on_outcome(provider::HttpOutcome outcome) {
        if (!outcome) {
            const bool is_refused =
                *was_refused_ && outcome.error().kind == provider::FailureKind::Connection;
            return end(std::unexpected(
                is_refused ? denied(url_,
                                    "its address belongs to this machine, a private network "
                                    "or a metadata service")
                           : failed(url_, outcome.error())));
        }
        if (std::ranges::find(kRedirects, outcome->status) != std::end(kRedirects))
            return follow(*outcome);
        Page page{.url = first_,
                  .final_url = url_,
                  .status = outcome->status,
                  .body = std::move(outcome->body),
                  .is_cut = outcome->is_cut,
                  .fetched_at = parts_.clock.now()};
        if (const auto* type = provider::find_header(outcome->headers, "Content-Type"))
            page.content_type = base::ellipsize(base::printable(base::to_utf8(*type)), 200);
        end(std::move(page));
    }

    void follow(const provider::HttpResponse& response) {
        const auto* location = provider::find_header(response.headers, "Location");
        if (!location)
            return end(std::unexpected(
                bad_redirect("redirect_without_location",
                             fmt::format("{} answered {} without saying where to go.", shown(url_),
                                         response.status))));
        if (++redirects_ > parts_.settings.max_redirects)
            return end(std::unexpected(bad_redirect(
                "too_many_redirects", fmt::format("{} redirected more than {} times.",
                                                  shown(first_), parts_.settings.max_redirects))));
        auto next = join_url(url_, *location);
        if (!next)
            return end(std::unexpected(
                bad_redirect("invalid_redirect_location",
                             fmt::format("{} redirects to something that is no http or https URL.",
                                         shown(url_)))));
        url_ = std::move(*next);
        hop();
    }

    static provider::Failure cancelled() { return {.kind = provider::FailureKind::Cancelled}; }

    void end(Fetched fetched) {
        if (auto done = std::exchange(done_, nullptr)) done(std::move(fetched));
    }

    FetchParts parts_;
    const Url first_;
    Url url_;
    const std::chrono::milliseconds hop_timeout_;
    provider::HttpSender sender_;
    std::move_only_function<void(Fetched)> done_;
    std::shared_ptr<provider::Exchange> exchange_;
    std::shared_ptr<bool> was_refused_;
    std::int64_t redirects_{0};
    bool is_cancelled_{false};
};

}  // namespace

std::shared_ptr<tools::Running> fetch(const FetchParts& parts, Url url,
                                      std::chrono::milliseconds hop_timeout,
                                      std::move_only_function<void(Fetched)> done) {
    auto started = std::make_shared<Fetch>(parts, std::move(url), hop_timeout, std::move(done));
    started->begin();
    return started;
}

}  // namespace web_tools
