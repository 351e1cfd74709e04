#include "record/telemetry/metrics.h"

#include <set>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "domain/events/tools.h"
#include "domain/events/turn.h"

namespace telemetry {
namespace {

namespace kinds = domain::events;

// Names come from models and configurations, so their number is bounded.
constexpr std::size_t kLabelValuesMax = 64;
constexpr const char* kOther = "(other)";

const prometheus::Histogram::BucketBoundaries kSeconds{0.01, 0.05, 0.1, 0.5, 1,   2.5,
                                                       5,    10,   30,  60,  300, 900};

class BoundedLabel {
public:
    std::string operator()(const std::string& value) {
        if (known_.contains(value)) return value;
        if (known_.size() >= kLabelValuesMax) return kOther;
        known_.insert(value);
        return value;
    }

private:
    std::set<std::string> known_;
};

double seconds(std::int64_t milliseconds) {
    return static_cast<double>(milliseconds) / 1000.0;
}

}  // namespace

class Metrics::Series {
public:
    void count(const events::Committed& committed) {
        const auto& event = committed.event;
        if (kinds::is<kinds::ProviderRoundCompleted>(event)) {
            if (const auto round = base::from_json<kinds::ProviderRoundCompleted>(event.data))
                on_round(*round);
        } else if (kinds::is<kinds::TurnTerminal>(event)) {
            if (const auto turn = base::from_json<kinds::TurnTerminal>(event.data)) on_turn(*turn);
        } else if (kinds::is<kinds::ToolExecuted>(event)) {
            if (const auto call = base::from_json<kinds::ToolExecuted>(event.data))
                on_call(*call, "ok");
        } else if (kinds::is<kinds::ToolExecutionFailed>(event)) {
            if (const auto call = base::from_json<kinds::ToolExecutionFailed>(event.data))
                on_call(*call, "error");
        }
    }
    std::string text() const { return prometheus::TextSerializer().Serialize(registry_.Collect()); }

private:
    prometheus::Family<prometheus::Counter>& counter(const char* name, const char* help) {
        return prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
    }
    prometheus::Family<prometheus::Histogram>& histogram(const char* name, const char* help) {
        return prometheus::BuildHistogram().Name(name).Help(help).Register(registry_);
    }

    void on_round(const kinds::ProviderRoundCompleted& round) {
        const std::string model = model_(round.active_model);
        for (const auto& attempt : round.provider_attempt_timeline.attempts)
            calls_
                .Add({{"model", model_(attempt.model_ref)},
                      {"outcome", std::string(base::enum_name(attempt.outcome))}})
                .Increment();
        const auto tokens = [&](const char* direction, std::int64_t count) {
            tokens_.Add({{"model", model}, {"direction", direction}})
                .Increment(static_cast<double>(count));
        };
        tokens("input", round.input_tokens);
        tokens("output", round.output_tokens);
        if (round.provider_cache_usage)
            tokens("cache_read", round.provider_cache_usage->read_input_tokens);
        if (round.cost_usd) cost_.Add({{"model", model}}).Increment(*round.cost_usd);
        round_seconds_.Add({{"model", model}}, kSeconds).Observe(seconds(round.provider_round_ms));
    }
    void on_turn(const kinds::TurnTerminal& turn) {
        const std::string kind(base::enum_name(turn.kind));
        turns_.Add({{"kind", kind}}).Increment();
        turn_seconds_.Add({{"kind", kind}}, kSeconds).Observe(seconds(turn.duration_ms));
    }
    void on_call(const kinds::ToolFinished& call, const char* status) {
        const std::string tool = tool_(call.tool_name);
        tools_.Add({{"tool", tool}, {"status", status}}).Increment();
        tool_seconds_.Add({{"tool", tool}}, kSeconds).Observe(seconds(call.duration_ms));
    }

    prometheus::Registry registry_;
    prometheus::Family<prometheus::Counter>& calls_{
        counter("holon_model_requests_total", "Requests to models, by outcome.")};
    prometheus::Family<prometheus::Counter>& tokens_{
        counter("holon_model_tokens_total", "Tokens as the providers counted them.")};
    prometheus::Family<prometheus::Counter>& cost_{
        counter("holon_model_cost_usd_total", "Cost of models whose prices are configured.")};
    prometheus::Family<prometheus::Counter>& turns_{
        counter("holon_turns_total", "Turns that ended, by how.")};
    prometheus::Family<prometheus::Counter>& tools_{
        counter("holon_tool_calls_total", "Tool calls that ended, by status.")};
    prometheus::Family<prometheus::Histogram>& round_seconds_{
        histogram("holon_model_round_seconds", "From the request to the whole reply.")};
    prometheus::Family<prometheus::Histogram>& turn_seconds_{
        histogram("holon_turn_seconds", "From the opening of a turn to its end.")};
    prometheus::Family<prometheus::Histogram>& tool_seconds_{
        histogram("holon_tool_seconds", "From the start of a tool call to its result.")};
    BoundedLabel model_, tool_;
};

Metrics::Metrics(events::Feed& feed)
    : series_(std::make_unique<Series>()),
      subscription_(feed.subscribe(
          [this](const events::Committed& committed) { series_->count(committed); })) {}

Metrics::~Metrics() = default;

std::string Metrics::text() const {
    return series_->text();
}

std::string Metrics::text(const std::vector<Gauge>& gauges) {
    prometheus::Registry registry;
    for (const auto& gauge : gauges)
        prometheus::BuildGauge()
            .Name(gauge.name)
            .Help(gauge.help)
            .Register(registry)
            .Add({})
            .Set(gauge.value);
    return prometheus::TextSerializer().Serialize(registry.Collect());
}

}  // namespace telemetry
