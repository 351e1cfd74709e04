#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "exec/tools/work_tools/work_tool.h"

namespace work_tools {
namespace {

constexpr std::size_t kSummaryChars = 160;

struct NotifyArgs {
    std::string message;
};
BOOST_DESCRIBE_STRUCT(NotifyArgs, (), (message))
constexpr auto describe_fields(const NotifyArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"message", "What the operator has to know or decide, complete in itself.",
          R"("minLength":1)"}});
}

struct NotifyResult {
    domain::OperatorNotification notification;
};
BOOST_DESCRIBE_STRUCT(NotifyResult, (), (notification))

std::string summary_of(std::string_view message) {
    message = base::trim(message);
    return base::ellipsize(base::trim(message.substr(0, message.find('\n'))), kSummaryChars);
}

std::string render_notified(const results::Envelope& envelope) {
    return envelope.summary_text();
}

tools::ToolSpec notify_spec() {
    auto spec = spec_of("NotifyOperator",
                        "Send your operator a message now, by every channel they have set up. For "
                        "what cannot wait until they read it here: a decision you need, or a "
                        "result they asked to hear of. The reply at the end of a turn needs no "
                        "notification.",
                        true, base::schema_of<NotifyArgs>(), base::schema_of<NotifyResult>());
    spec.family = tools::Family::OperatorNotification;
    spec.category = "operator";
    spec.writes_work_items = false;
    spec.render = render_notified;
    return spec;
}

class NotifyOperator final : public WorkTool {
public:
    explicit NotifyOperator(Parts parts) : WorkTool(parts, notify_spec()) {}

    std::optional<ToolError> check(const json::value& args) const override {
        const auto message = base::string_at(args, "message");
        if (base::trim(message).empty())
            return tools::invalid_input(spec().name, "message", "message must not be blank",
                                        "Say what the operator has to know.");
        if (const auto chars = base::char_count(message); chars > kNotificationCharsMax)
            return tools::invalid_input(spec().name, "message",
                                        fmt::format("message has {} characters; the limit is {}",
                                                    chars, kNotificationCharsMax),
                                        "Send the essence, and name the file that has the rest.");
        return std::nullopt;
    }

protected:
    Answered answer(const domain::ToolCall& call,
                    const tools::ExecutionContext& place) const override {
        const auto known = TRY(load(place, {}));
        const auto now = parts_.clock.now();
        if (TRY(sent_since(place.agent_id, now - std::chrono::hours(1))) >=
            kNotificationsPerHourMax)
            return std::unexpected(ToolError{
                .kind = "notification_refused",
                .message = fmt::format("The operator has received {} notifications within an hour.",
                                       kNotificationsPerHourMax),
                .recovery_hint =
                    "Collect what you have to say, and send it later as one message."});
        const auto message =
            std::string(base::trim(base::from_json<NotifyArgs>(call.args).value().message));
        const domain::OperatorNotification made{
            .notification_id =
                base::sha256_hex("notification of " + call.call_id.value).substr(0, 32),
            .agent_id = place.agent_id,
            .requested_by_agent_id = place.agent_id,
            .message = message,
            .summary = summary_of(message),
            .work_item_id = TRY(item_of(known, place.agent_id)),
            .created_at = now};
        return Answer{"Notified the operator: " + made.summary,
                      {{"notification", base::to_json(made)}},
                      {made}};
    }

private:
    std::expected<std::int64_t, ToolError> sent_since(const domain::AgentId& agent,
                                                      base::Time since) const {
        std::int64_t count = 0;
        const auto status = parts_.store.read([&](store::Tx& tx) -> base::Status {
            count =
                std::ranges::count_if(TRY(tx.notifications(agent, kNotificationsPerHourMax)),
                                      [&](const auto& sent) { return sent.created_at > since; });
            return {};
        });
        if (!status) return std::unexpected(failed(status.error()));
        return count;
    }
    // What it is about: the item that is worked on, else the one that was blocked last.
    std::expected<std::optional<domain::WorkItemId>, ToolError> item_of(
        const Known& known, const domain::AgentId& agent) const {
        if (known.current) return known.current;
        std::optional<domain::WorkItemId> blocked;
        const auto status = parts_.store.read([&](store::Tx& tx) -> base::Status {
            blocked.reset();
            for (const auto& item : TRY(tx.work_items(
                     agent, {.readiness = domain::WorkReadiness::Blocked, .limit = 1})))
                blocked = item.id;
            return {};
        });
        if (!status) return std::unexpected(failed(status.error()));
        return blocked;
    }
};

}  // namespace

std::unique_ptr<tools::Tool> notify_operator(Parts parts) {
    return std::make_unique<NotifyOperator>(parts);
}

}  // namespace work_tools
