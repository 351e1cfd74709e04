// The answer to a prompt that an agent of the daemon was sent.
#include "base/text.h"
#include "domain/events/messages.h"
#include "domain/events/turn.h"
#include "surfaces/cli/actions/actions.h"
#include "surfaces/cli/actions/follow.h"
#include "surfaces/cli/view/run_view.h"

namespace cli {
namespace {

using namespace domain::events;

// Finds the turn that handles a message among the events of its agent, and how that ended.
class AnswerFinder {
public:
    explicit AnswerFinder(std::string message) : message_(std::move(message)) {}

    // False while the answer is not there yet.
    bool see(const domain::Event& event) {
        if (const auto started = read<TurnStarted>(event);
            started && started->message_id.value == message_)
            run_ = started->run_id.value;
        // It joined a turn that was under way.
        if (const auto joined = read<OperatorInterjectionAdmitted>(event);
            joined && joined->message_id.value == message_)
            run_ = joined->run_id.value;
        if (run_.empty()) return false;
        if (const auto brief = read<BriefCreated>(event);
            brief && brief->kind != domain::BriefKind::Ack)
            text_ = brief->text;
        const auto end = read<TurnTerminal>(event);
        if (!end || end->run_id.value != run_) return false;
        if (text_.empty()) text_ = end->last_assistant_message.value_or("");
        is_good_ = end->kind == domain::TerminalKind::Completed;
        return true;
    }
    bool is_under_way() const { return !run_.empty(); }
    bool is_good() const { return is_good_; }
    const std::string& text() const { return text_; }

private:
    std::string message_;
    std::string run_{};
    std::string text_{};
    bool is_good_{false};
};

}  // namespace

Exit wait_for_answer(const Awaited& awaited, const Context& context) {
    AnswerFinder answer_of(awaited.message);
    RunView view(context.terminal, context.clock);
    const Exit followed =
        follow_until(awaited.agent, awaited.after_seq, context, [&](const domain::Event& event) {
            const bool is_over = answer_of.see(event);
            if (answer_of.is_under_way() && !awaited.json) view.on_event(event);
            return is_over;
        });
    if (followed != Exit::Success) return followed;
    if (awaited.json)
        context.terminal.print_line(
            base::pretty_json(json::object{{"ok", answer_of.is_good()},
                                           {"agent_id", awaited.agent},
                                           {"message_id", awaited.message},
                                           {"final_text", answer_of.text()}}));
    else if (!answer_of.text().empty())
        context.terminal.print_line(base::printable(answer_of.text(), true));
    return answer_of.is_good() ? Exit::Success : Exit::Failed;
}

}  // namespace cli
