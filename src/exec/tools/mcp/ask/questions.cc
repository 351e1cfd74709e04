#include "exec/tools/mcp/ask/questions.h"

#include <algorithm>

#include "base/log/log.h"
#include "base/plain_text.h"
#include "base/text.h"
#include "exec/tools/mcp/wire/schema.h"
#include "exec/tools/schema_check.h"
#include "exec/tools/web_tools/url.h"

namespace mcp {
namespace {

using base::ErrorCode;
using base::fail;

// Forms are flat: a value is text, a number, yes or no, or a choice.
base::Status check_flat(const json::object& schema) {
    const auto* properties = base::find(schema, "properties");
    if (!properties || !properties->is_object()) return {};
    for (const auto& property : properties->get_object()) {
        const auto* type =
            property.value().is_object() ? base::find(property.value(), "type") : nullptr;
        if (type && *type == "object") return fail(ErrorCode::InvalidInput, "its form is not flat");
    }
    return {};
}

base::Result<Question> parse_address(Question question, const json::object& params) {
    const auto url = web_tools::parse_url(base::string_at(json::value(params), "url"));
    if (!url || url->text.size() > kQuestionUrlCharsMax ||
        !base::is_plain(url->text, kQuestionUrlCharsMax))
        return fail(ErrorCode::InvalidInput, "its address is not one of https or http");
    question.url = url->text;
    return question;
}

}  // namespace

base::Result<Question> parse_question(const std::string& server, const json::object& params) {
    const json::value value(params);
    Question question{
        .server = server,
        .mode = base::string_at(value, "mode", "form"),
        .message = base::plain_text(base::string_at(value, "message"), kQuestionCharsMax)};
    if (question.mode == "url") return parse_address(std::move(question), params);
    if (question.mode != "form")
        return fail(ErrorCode::InvalidInput, "its kind of question is not known");
    const auto* schema = base::find(params, "requestedSchema");
    if (!schema) return fail(ErrorCode::InvalidInput, "it has no requestedSchema");
    question.schema = TRY(usable_schema(*schema));
    TRY(check_flat(*question.schema));
    return question;
}

json::object verdict_json(const Question& question, const Verdict& verdict) {
    json::object answer{{"action", base::enum_name(verdict.action)}};
    if (verdict.action == VerdictAction::Accept && question.mode == "form")
        answer["content"] = verdict.content;
    return answer;
}

base::Result<json::object> filled(const json::object& schema, json::object values) {
    if (const auto* properties = base::find(schema, "properties");
        properties && properties->is_object())
        for (const auto& property : properties->get_object()) {
            const auto* preset =
                property.value().is_object() ? base::find(property.value(), "default") : nullptr;
            if (preset && !values.contains(property.key())) values[property.key()] = *preset;
        }
    if (const auto faults = tools::check_schema(schema, values); !faults.empty())
        return fail(ErrorCode::InvalidInput, "the answer does not fit: {} {}",
                    faults.front().pointer, faults.front().message);
    if (base::json_text(values).size() > kAnswerBytesMax)
        return fail(ErrorCode::InvalidInput, "the answer is longer than {} bytes", kAnswerBytesMax);
    return values;
}

std::string Questions::ask(Question question, Done done) {
    question.id = ids_.uuid();
    question.asked_at = clock_.now();
    question.expires_at = question.asked_at + patience_;
    const std::string id = question.id;
    const std::string server = question.server;
    bool is_crowded = false;
    {
        const std::lock_guard lock(mutex_);
        std::size_t all = 0, same = 0;
        for (const auto& [other, waiting] : waiting_) {
            if (waiting.is_over) continue;
            ++all;
            if (waiting.question.server == question.server) ++same;
        }
        is_crowded = all >= kQuestionsMax || same >= kQuestionsPerServerMax;
        const auto wait = is_crowded ? std::chrono::milliseconds(0) : patience_;
        waiting_.emplace(id,
                         Waiting{std::move(question), std::move(done),
                                 loop_.after(wait, lifetime_.guard([this, id] { settle(id, {}); })),
                                 is_crowded});
    }
    if (is_crowded) return id;
    base::log_info("the MCP server {} asks the operator something: holon mcp questions", server);
    report_change(server);
    return id;
}

void Questions::withdraw(const std::string& id) {
    {
        const std::lock_guard lock(mutex_);
        const auto found = waiting_.extract(id);
        if (!found) return;
        loop_.cancel(found.mapped().timer);
        if (found.mapped().is_over) return;
    }
    report_change("");
}

void Questions::report_change(const std::string& server) const {
    if (on_change) on_change(server);
}

void Questions::settle(const std::string& id, Verdict verdict) {
    Done done;
    bool was_listed = false;
    {
        const std::lock_guard lock(mutex_);
        auto found = waiting_.extract(id);
        if (!found) return;
        loop_.cancel(found.mapped().timer);
        done = std::move(found.mapped().done);
        was_listed = !found.mapped().is_over;
    }
    if (was_listed) report_change("");
    done(std::move(verdict));
}

std::vector<Question> Questions::list() const {
    const std::lock_guard lock(mutex_);
    std::vector<Question> questions;
    // Later ids sort after earlier ones.
    for (const auto& [id, waiting] : waiting_)
        if (!waiting.is_over) questions.push_back(waiting.question);
    return questions;
}

base::Status Questions::answer(const std::string& id, Verdict verdict) {
    {
        const std::lock_guard lock(mutex_);
        const auto found = waiting_.find(id);
        if (found == waiting_.end() || found->second.is_over)
            return fail(ErrorCode::NotFound,
                        "no question {} waits for an answer; holon mcp questions lists them",
                        base::printable(id));
        const auto& question = found->second.question;
        if (verdict.action == VerdictAction::Accept && question.schema)
            verdict.content = TRY(filled(*question.schema, std::move(verdict.content)));
        found->second.is_over = true;
    }
    report_change("");
    loop_.post(lifetime_.guard([this, id, verdict] { settle(id, verdict); }));
    return {};
}

}  // namespace mcp
