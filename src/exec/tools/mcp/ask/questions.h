// What servers want to know from the operator (elicitation), while they wait for it.
//
// A question lives as long as the call that it belongs to, in memory: when this process ends, the
// server that waits for the answer does, too.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "base/os/lifetime.h"
#include "base/time.h"
#include "base/typed.h"

namespace mcp {

// Waiting at once, of all servers and of one; more are declined at once.
inline constexpr std::size_t kQuestionsMax = 64;
inline constexpr std::size_t kQuestionsPerServerMax = 4;
// Nobody answers for so long: the question is declined.
inline constexpr std::chrono::milliseconds kQuestionPatience{300'000};
inline constexpr std::size_t kQuestionCharsMax = 2000;
inline constexpr std::size_t kQuestionUrlCharsMax = 2000;
inline constexpr std::size_t kAnswerBytesMax = std::size_t{64} * 1024;

// `message`, `schema` and `url` are the server's words, made printable; they are not to be
// believed.
struct Question {
    std::string id;
    std::string server;
    std::string mode;  // form: values for `schema`. url: an address that the operator may open.
    std::string message;
    std::optional<json::object> schema{};
    std::optional<std::string> url{};
    base::Time asked_at{};
    base::Time expires_at{};
};

// What a server asks, from the params of elicitation/create. Fails, with the reason, for a form
// that is not flat, a schema beyond the bounds of schema.h, and an address that is not https or
// http.
base::Result<Question> parse_question(const std::string& server, const json::object& params);

enum class VerdictAction { Accept, Decline, Cancel };
BOOST_DESCRIBE_ENUM(VerdictAction, Accept, Decline, Cancel)
struct Verdict {
    VerdictAction action{VerdictAction::Decline};
    json::object content{};  // Of an accepted form.
};
// As the protocol has it.
json::object verdict_json(const Question& question, const Verdict& verdict);

// Values with the defaults of the schema for those that are left out. Fails when they do not fit.
base::Result<json::object> filled(const json::object& schema, json::object values);

class Questions {
public:
    Questions(base::Loop& loop, base::Clock& clock, base::Ids& ids,
              std::chrono::milliseconds patience = kQuestionPatience)
        : loop_(loop), clock_(clock), ids_(ids), patience_(patience) {}
    Questions(const Questions&) = delete;
    Questions& operator=(const Questions&) = delete;

    using Done = std::move_only_function<void(Verdict)>;
    // On the loop. `done` comes once, on the loop, not before this returns: with the operator's
    // verdict, or declined when there are too many questions or nobody answers. The id is for
    // withdraw().
    std::string ask(Question question, Done done);
    // Nobody waits for the answer any more; `done` never comes. On the loop.
    void withdraw(const std::string& id);

    // Any thread: those that wait, the oldest first.
    std::vector<Question> list() const;
    // Any thread. NotFound when it does not wait any more; InvalidInput when the values do not fit
    // the schema, and the question still waits then.
    base::Status answer(const std::string& id, Verdict verdict);

    // Called after each change of list(): with the server that asks, or without a name when a
    // question no longer waits. On the loop, or on the thread of answer(); it returns at once. Set
    // it before anything is asked.
    std::function<void(const std::string& server)> on_change;

private:
    struct Waiting {
        Question question;
        Done done;
        base::Loop::TimerHandle timer{base::Loop::TimerHandle::None};
        bool is_over{false};  // It has its verdict, which is on its way.
    };
    void settle(const std::string& id, Verdict verdict);
    void report_change(const std::string& server) const;

    base::Loop& loop_;
    base::Clock& clock_;
    base::Ids& ids_;
    const std::chrono::milliseconds patience_;
    mutable std::mutex mutex_;
    std::map<std::string, Waiting> waiting_;
    base::Lifetime lifetime_;
};

}  // namespace mcp
