#include "base/text.h"
#include "exec/tools/builtin/builtin.h"

namespace builtin {
namespace {

constexpr std::string_view kDefaultReason = "waiting for something to wake me";
constexpr std::size_t kReasonCharsMax = 500;

struct SleepArgs {
    std::optional<std::string> reason{};
    std::optional<std::int64_t> duration_ms{};
};
BOOST_DESCRIBE_STRUCT(SleepArgs, (), (reason, duration_ms))
constexpr auto describe_fields(const SleepArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"reason", "Why you sleep and what you expect to wake you, in a few words."},
         {"duration_ms",
          "Wake after this many milliseconds. Omit it to sleep until something happens; do not "
          "send "
          "0.",
          R"("minimum":0,"maximum":31536000000)"}});  // A year: no later point in time is computed.
}

struct SleepResult {
    std::string reason;
    std::optional<std::int64_t> duration_ms{};
};
BOOST_DESCRIBE_STRUCT(SleepResult, (), (reason, duration_ms))

struct SleepOutput final : results::Output {
    domain::SleepRequest request;
    base::Result<results::Canonical> project(results::ArtifactSink&,
                                             const results::OutputPolicy&) const override {
        json::object result{{"reason", request.reason}};
        result["duration_ms"] =
            request.duration_ms ? json::value(*request.duration_ms) : json::value(nullptr);
        return results::Canonical{
            request.duration_ms
                ? fmt::format("Will sleep for {} ms when nothing else is to be done: {}",
                              *request.duration_ms, request.reason)
                : fmt::format("Will sleep until woken when nothing else is to be done: {}",
                              request.reason),
            std::move(result)};
    }
};

class Sleep final : public tools::Tool {
public:
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink&, tools::Done done) override {
        const auto args = base::from_json<SleepArgs>(call.args).value();
        auto output = std::make_unique<SleepOutput>();
        const std::string_view reason = base::trim(args.reason ? *args.reason : std::string_view());
        output->request.reason =
            base::ellipsize(reason.empty() ? kDefaultReason : reason, kReasonCharsMax);
        // Zero is taken for "not given": models send it when they mean no limit.
        if (args.duration_ms.value_or(0) > 0) output->request.duration_ms = args.duration_ms;
        if (domain::is_short(output->request) && place.follow_up_refusal) {
            done({.completed = std::unexpected(domain::ToolError{
                      .kind = std::string(tools::kFollowUpRefused),
                      .message = "A sleep of less than a minute is a follow-up: " +
                                 *place.follow_up_refusal + ".",
                      .recovery_hint = "Sleep for a minute or longer, or leave out duration_ms and "
                                       "sleep until something happens.",
                      .retryable = false})});
            return nullptr;
        }
        tools::Outcome outcome{.completed = nullptr, .mutations = {output->request}};
        outcome.completed = std::move(output);
        done(std::move(outcome));
        return nullptr;
    }

private:
    const tools::ToolSpec spec_{
        .name = "Sleep",
        .description =
            "Sleep once nothing is left to do now. The turn ends when a "
            "round calls only Sleep. Omit "
            "duration_ms to sleep until a message, timer or task wakes you.",
        .family = tools::Family::CoreAgent,
        .risk = domain::RiskLevel::ReadOnly,
        .category = "agent",
        .repeatable = true,
        .sleeps = true,
        .input_schema = base::schema_of<SleepArgs>(),
        .output_schema = base::schema_of<SleepResult>(),
        .render = render_summary};
};

}  // namespace

std::unique_ptr<tools::Tool> sleep() {
    return std::make_unique<Sleep>();
}

std::string render_summary(const results::Envelope& envelope) {
    return envelope.summary_text();
}

}  // namespace builtin
