// What a server asks while it works on a call: by a request of its own, or, in the revision without
// a handshake, by an answer that wants more input.
#include "base/plain_text.h"
#include "exec/tools/mcp/pending.h"
#include "exec/tools/mcp/session.h"

namespace mcp {
namespace {

constexpr std::size_t kReasonCharsMax = 200;

}  // namespace

json::object Session::capabilities() const {
    if (!parts_.questions) return {};
    return {{"elicitation", json::object{{"form", json::object{}}, {"url", json::object{}}}}};
}

void Session::elicit(const Request& request) {
    const auto question = parse_question(parts_.server.name, request.params);
    if (!question || ++questions_asked_ > kQuestionsPerProcessMax)
        return say(refusal(request.id, kInvalidParams,
                           question ? "too many questions" : question.error().message));
    const auto key = base::json_text(request.id);
    hold_timers();
    asking_[key] =
        parts_.questions->ask(*question, [this, weak = std::weak_ptr(self_), key, id = request.id,
                                          question = *question](const Verdict& verdict) {
            if (!weak.lock()) return;
            asking_.erase(key);
            say(answer(id, verdict_json(question, verdict)));
            resume_timers();
        });
}

void Session::stop_asking(const json::object& params) {
    const auto* id = base::find(params, "requestId");
    const auto found = asking_.find(id ? base::json_text(*id) : "");
    if (found == asking_.end()) return;
    parts_.questions->withdraw(found->second);
    asking_.erase(found);
    resume_timers();
}

void Session::withdraw_questions() {
    for (const auto& [key, id] : std::exchange(asking_, {})) parts_.questions->withdraw(id);
}

// The call is over, and nobody needs the answers.
void Session::withdraw_inputs(const Pending& call) {
    const auto prefix = fmt::format("input:{}:", call.id);
    std::erase_if(asking_, [&](const auto& entry) {
        if (!entry.first.starts_with(prefix)) return false;
        parts_.questions->withdraw(entry.second);
        return true;
    });
}

// A call does not time out while its server waits for the operator.
void Session::hold_timers() {
    for (const auto& call : sent_)
        parts_.loop.cancel(std::exchange(call->timer, base::Loop::TimerHandle::None));
}

void Session::resume_timers() {
    if (!asking_.empty()) return;
    for (const auto& call : sent_) set_timer(call);
}

bool Session::wants_input(const std::shared_ptr<Pending>& call, const Answer& answer) {
    if (!answer || !parts_.questions || !is_stateless_ ||
        base::string_at(json::value(*answer), "resultType") != "input_required" ||
        ++call->rounds > kInputRoundsMax)
        return false;
    const auto* requests = base::find(*answer, "inputRequests");
    json::object asked =
        requests && requests->is_object() ? requests->get_object() : json::object{};
    std::vector<std::pair<std::string, Question>> questions;
    for (const auto& entry : asked) {
        const auto* params =
            entry.value().is_object() ? base::find(entry.value(), "params") : nullptr;
        if (!params || !params->is_object() || questions.size() >= kQuestionsPerServerMax ||
            base::string_at(entry.value(), "method") != "elicitation/create")
            return false;
        auto question = parse_question(parts_.server.name, params->get_object());
        if (!question) {
            note("[holon] a question is refused: " +
                 base::plain_text(question.error().message, kReasonCharsMax));
            return false;
        }
        questions.emplace_back(entry.key(), std::move(*question));
    }
    ask_for_input(call, *answer, std::move(questions));
    return true;
}

void Session::ask_for_input(const std::shared_ptr<Pending>& call, const json::object& wanted,
                            std::vector<std::pair<std::string, Question>> questions) {
    call->retry = call->original;
    if (const auto* state = base::find(wanted, "requestState"))
        call->retry["requestState"] = *state;
    if (questions.empty()) return send_again(call);
    call->retry["inputResponses"] = json::object{};
    call->open_questions = questions.size();
    parts_.loop.cancel(std::exchange(call->timer, base::Loop::TimerHandle::None));
    for (auto& [name, question] : questions) {
        const auto key = fmt::format("input:{}:{}", call->id, name);
        asking_[key] = parts_.questions->ask(
            question, [this, weak = std::weak_ptr(self_), call, key, name = name,
                       question = question](const Verdict& verdict) {
                if (!weak.lock()) return;
                asking_.erase(key);
                call->retry["inputResponses"].as_object()[name] = verdict_json(question, verdict);
                if (--call->open_questions == 0 && call->done) send_again(call);
            });
    }
}

// The same call with what it wanted; it was not executed before.
void Session::send_again(const std::shared_ptr<Pending>& call) {
    std::erase(sent_, call);
    call->params = std::exchange(call->retry, {});
    set_timer(call);
    send_call(call);
}

}  // namespace mcp
