#include "base/text.h"
#include "exec/tools/builtin/builtin.h"

namespace builtin {
namespace {

struct EnqueueArgs {
    std::string text;
    std::optional<domain::Priority> priority{};
};
BOOST_DESCRIBE_STRUCT(EnqueueArgs, (), (text, priority))
constexpr auto describe_fields(const EnqueueArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"text", "What to do next, as a note to yourself. It starts a turn of its own.",
          R"("minLength":1)"},
         {"priority", "next (default) comes before ordinary messages, background after them."}});
}

struct EnqueueResult {
    bool enqueued{true};
    domain::Priority priority{domain::Priority::Next};
    std::string follow_up_text;
};
BOOST_DESCRIBE_STRUCT(EnqueueResult, (), (enqueued, priority, follow_up_text))

struct EnqueueOutput final : results::Output {
    tools::FollowUp follow_up;
    base::Result<results::Canonical> project(results::ArtifactSink&,
                                             const results::OutputPolicy&) const override {
        return results::Canonical{
            fmt::format("Queued a follow-up with priority {}: {}",
                        base::enum_name(follow_up.priority),
                        base::ellipsize(base::collapse_whitespace(follow_up.text), 120)),
            {{"enqueued", true},
             {"priority", base::enum_name(follow_up.priority)},
             {"follow_up_text", base::ellipsize(follow_up.text, 2000)}}};
    }
};

class Enqueue final : public tools::Tool {
public:
    const tools::ToolSpec& spec() const override { return spec_; }

    std::optional<domain::ToolError> check(const json::value& args) const override {
        if (!base::trim(base::string_at(args, "text")).empty()) return std::nullopt;
        return tools::invalid_input("Enqueue", "text", "text must not be blank",
                                    "Say what to do next.");
    }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink&, tools::Done done) override {
        if (place.follow_up_refusal) {
            done({.completed = std::unexpected(domain::ToolError{
                      .kind = std::string(tools::kFollowUpRefused),
                      .message = "The follow-up was not queued: " + *place.follow_up_refusal + ".",
                      .recovery_hint = "Do the work in this turn, or tell your operator what is "
                                       "left and end the turn.",
                      .retryable = false})});
            return nullptr;
        }
        const auto args = base::from_json<EnqueueArgs>(call.args).value();
        auto output = std::make_unique<EnqueueOutput>();
        output->follow_up = {std::string(base::trim(args.text)),
                             args.priority.value_or(domain::Priority::Next)};
        tools::Outcome outcome{.completed = nullptr, .mutations = {output->follow_up}};
        outcome.completed = std::move(output);
        done(std::move(outcome));
        return nullptr;
    }

private:
    const tools::ToolSpec spec_{
        .name = "Enqueue",
        .description = "Queue a follow-up for yourself that starts a new turn after this one.",
        .family = tools::Family::CoreAgent,
        .risk = domain::RiskLevel::ReadOnly,
        .category = "agent",
        .repeatable = true,
        .input_schema = base::schema_of<EnqueueArgs>(),
        .output_schema = base::schema_of<EnqueueResult>(),
        .render = render_summary};
};

}  // namespace

std::unique_ptr<tools::Tool> enqueue() {
    return std::make_unique<Enqueue>();
}

}  // namespace builtin
