#include "record/telemetry/otlp.h"

#include <algorithm>
#include <utility>

#include "base/log/log.h"

namespace telemetry {
namespace {

constexpr std::chrono::milliseconds kRetryFirst{1000};
constexpr int kSpanKindInternal = 1;
constexpr int kStatusError = 2;

std::string nanoseconds(domain::Time time) {
    return std::to_string(
        std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

// OTLP writes 64-bit integers as text.
json::object value_of(const Attribute& attribute) {
    struct Visitor {
        json::object operator()(const std::string& text) const { return {{"stringValue", text}}; }
        json::object operator()(std::int64_t number) const {
            return {{"intValue", std::to_string(number)}};
        }
        json::object operator()(bool flag) const { return {{"boolValue", flag}}; }
    };
    return std::visit(Visitor{}, attribute);
}

json::object span_json(const Span& span) {
    json::array attributes;
    for (const auto& [key, value] : span.attributes)
        attributes.push_back(json::object{{"key", key}, {"value", value_of(value)}});
    json::object object{{"traceId", span.trace_id},
                        {"spanId", span.span_id},
                        {"name", span.name},
                        {"kind", kSpanKindInternal},
                        {"startTimeUnixNano", nanoseconds(span.start)},
                        {"endTimeUnixNano", nanoseconds(span.end)},
                        {"attributes", std::move(attributes)}};
    if (!span.parent_span_id.empty()) object["parentSpanId"] = span.parent_span_id;
    if (span.failed) object["status"] = {{"code", kStatusError}, {"message", span.failure}};
    return object;
}

}  // namespace

json::object export_request(std::span<const Span> spans, std::string_view service_name) {
    json::array list;
    for (const auto& span : spans) list.push_back(span_json(span));
    const auto attribute = [](std::string_view key, std::string_view value) {
        return json::object{{"key", key}, {"value", json::object{{"stringValue", value}}}};
    };
    json::object resource{{"attributes", json::array{attribute("service.name", service_name),
                                                     attribute("service.version", HOLON_VERSION)}}};
    json::object scope{{"scope", json::object{{"name", "holon"}, {"version", HOLON_VERSION}}},
                       {"spans", std::move(list)}};
    return {{"resourceSpans",
             json::array{json::object{{"resource", std::move(resource)},
                                      {"scopeSpans", json::array{std::move(scope)}}}}}};
}

// Outlives the exporter only as long as a request of it is on its way.
class OtlpExporter::Core : public std::enable_shared_from_this<Core> {
public:
    Core(OtlpOptions options, provider::HttpClient& client)
        : options_(std::move(options)), client_(client), loop_(client.loop()) {}

    void follow(events::Feed& feed) {
        subscription_ = feed.subscribe([self = weak_from_this()](const events::Committed& event) {
            if (const auto core = self.lock()) core->add(spans_of(event));
        });
    }
    void stop() {
        subscription_.reset();
        loop_.cancel(timer_);
        timer_ = base::Loop::TimerHandle::None;
        is_over_ = true;
        // The request keeps this object until its end, which may never come: the loop may be gone.
        if (const auto exchange = std::exchange(exchange_, nullptr)) exchange->cancel();
        sending_.insert(sending_.end(), std::make_move_iterator(waiting_.begin()),
                        std::make_move_iterator(waiting_.end()));
        if (!sending_.empty()) send_last();
    }
    std::uint64_t dropped() const { return dropped_; }

private:
    void add(std::vector<Span> spans) {
        for (auto& span : spans) waiting_.push_back(std::move(span));
        while (waiting_.size() > kWaitingSpansMax) {
            waiting_.pop_front();
            ++dropped_;
        }
        if (!waiting_.empty()) arm(options_.flush_interval);
    }
    void arm(std::chrono::milliseconds delay) {
        if (timer_ != base::Loop::TimerHandle::None || exchange_ || is_over_) return;
        timer_ = loop_.after(delay, [self = weak_from_this()] {
            const auto core = self.lock();
            if (!core || core->is_over_) return;
            core->timer_ = base::Loop::TimerHandle::None;
            core->send();
        });
    }
    provider::HttpRequest request_of(std::span<const Span> spans) const {
        provider::HttpRequest request{
            .url = options_.url,
            .headers = options_.headers,
            .body = base::json_text(export_request(spans, options_.service_name))};
        request.headers.push_back({"Content-Type", "application/json"});
        return request;
    }
    void send_last() {
        base::AsioLoop loop;
        provider::HttpClient client(loop, options_.http);
        const auto last = client.send(request_of(sending_), {}, [&](const auto&) { loop.stop(); });
        loop.after(kLastSendMax, [&] { loop.stop(); });
        loop.run();
    }
    void send() {
        const std::size_t count = std::min(waiting_.size(), kBatchSpansMax);
        sending_.assign(std::make_move_iterator(waiting_.begin()),
                        std::make_move_iterator(waiting_.begin() + static_cast<long>(count)));
        waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<long>(count));
        exchange_ =
            client_.send(request_of(sending_), {}, [self = shared_from_this()](auto outcome) {
                self->exchange_.reset();
                if (!self->is_over_) self->on_outcome(outcome);
            });
    }
    void on_outcome(const provider::HttpOutcome& outcome) {
        const bool is_taken = outcome && outcome->status / 100 == 2;
        // What a collector calls bad stays bad: only a failing one is asked again.
        const bool is_bad = outcome && outcome->status / 100 == 4 && outcome->status != 429;
        if (is_taken || is_bad) {
            if (is_bad) drop(sending_.size(), fmt::format("HTTP {}", outcome->status));
            sending_.clear();
            retry_ = kRetryFirst;
            if (!waiting_.empty()) arm(is_bad ? kRetryFirst : std::chrono::milliseconds(0));
            return;
        }
        waiting_.insert(waiting_.begin(), std::make_move_iterator(sending_.begin()),
                        std::make_move_iterator(sending_.end()));
        sending_.clear();
        arm(retry_);
        retry_ = std::min(retry_ * 2, kRetryMax);
    }
    void drop(std::size_t count, const std::string& why) {
        dropped_ += count;
        base::log_warn("the OpenTelemetry collector refused {} spans ({})", count, why);
    }

    OtlpOptions options_;
    provider::HttpClient& client_;
    base::Loop& loop_;
    std::shared_ptr<void> subscription_;
    std::deque<Span> waiting_;
    std::vector<Span> sending_;
    std::shared_ptr<provider::Exchange> exchange_;
    base::Loop::TimerHandle timer_{base::Loop::TimerHandle::None};
    std::chrono::milliseconds retry_{kRetryFirst};
    std::uint64_t dropped_{0};
    bool is_over_{false};
};

OtlpExporter::OtlpExporter(OtlpOptions options, provider::HttpClient& client, events::Feed& feed)
    : core_(std::make_shared<Core>(std::move(options), client)) {
    core_->follow(feed);
}

OtlpExporter::~OtlpExporter() {
    core_->stop();
}

std::uint64_t OtlpExporter::dropped() const {
    return core_->dropped();
}

}  // namespace telemetry
