// A session over a service that tests play.
#pragma once

#include <atomic>
#include <condition_variable>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/remote/remote_plans.h"
#include "surfaces/tui/session/session.h"
#include "tests/support/eventually.h"
#include "tests/support/no_service.h"

namespace tui {

using test_support::eventually;

inline constexpr std::int64_t kCursor = 7;

// Agents whose records end at kCursor; remembers what it was asked.
class FakeService final : public test_support::NoService {
public:
    Json state(const std::string& agent) override {
        note(agent == "main" ? "state" : "state of " + agent);
        return json::object{{"event_seq", kCursor},
                            {"agent", {{"identity", {{"agent_id", agent}}}}}};
    }
    base::Result<std::vector<json::object>> agent_list(const service::AgentsQuery&) override {
        note("list");
        std::vector<json::object> list;
        const std::lock_guard lock(mutex_);
        for (const auto& agent : agents_)
            list.push_back({{"identity", {{"agent_id", agent}}},
                            {"status", "awake_idle"},
                            {"last_brief", "Words of " + agent}});
        return list;
    }
    base::Result<std::vector<domain::Event>> event_page(
        const std::string&, const service::EventsQuery& query) override {
        note(fmt::format("before {}", query.before_seq.value_or(0)));
        return std::vector<domain::Event>{};
    }
    base::Result<std::vector<domain::Event>> events(const std::string&, std::int64_t after,
                                                    std::int64_t) override {
        note(fmt::format("after {}", after));
        return std::vector<domain::Event>{};
    }
    base::Result<std::string> prompt(const std::string&, const std::string& text,
                                     const service::Caller&) override {
        note("prompt " + text);
        if (refuses_) return base::fail(base::ErrorCode::Conflict, "the agent is stopped");
        return "m-1";
    }
    Json compact_conversation(const std::string&, const service::Caller&) override {
        note("compact");
        return json::object{{"compacted", true},
                            {"previous_estimated_tokens", 9000},
                            {"projected_estimated_tokens", 4000}};
    }
    Json model(const std::string&) override {
        return json::object{{"source", "agent_override"},
                            {"effective_model", "b/large"},
                            {"runtime_default_model", "a/small"}};
    }
    Json set_model(const std::string&, const std::string& model) override {
        note("model " + model);
        return json::object{};
    }
    Json clear_model(const std::string&) override {
        note("no model");
        return json::object{};
    }
    std::shared_ptr<void> watch_deltas(const std::string&,
                                       std::function<void(const service::Delta&)> delta) override {
        const std::lock_guard lock(mutex_);
        delta_ = std::move(delta);
        return std::make_shared<int>();
    }
    void say(const std::string& text) { send({.text = text}); }
    void send(const service::Delta& delta) {
        const std::lock_guard lock(mutex_);
        delta_(delta);
    }
    void have(std::vector<std::string> agents) {
        const std::lock_guard lock(mutex_);
        agents_ = std::move(agents);
    }
    void refuse() { refuses_ = true; }
    std::vector<std::string> asked() {
        const std::lock_guard lock(mutex_);
        return asked_;
    }
    void forget() {
        const std::lock_guard lock(mutex_);
        asked_.clear();
    }

private:
    void note(std::string what) {
        const std::lock_guard lock(mutex_);
        asked_.push_back(std::move(what));
    }

    std::mutex mutex_;
    std::vector<std::string> asked_;
    std::vector<std::string> agents_{"main"};
    std::function<void(const service::Delta&)> delta_;
    std::atomic<bool> refuses_{false};
};

// Moves when the test says so: what happens within a second depends on no machine.
class HandClock final : public base::Clock {
public:
    base::Time now() override { return base::Time(std::chrono::microseconds(now_.load())); }
    void advance(std::chrono::microseconds by) { now_ += by.count(); }

private:
    std::atomic<std::int64_t> now_{1'900'000'000'000'000};
};

// Servers that this test speaks for.
class FakeMcp final : public service::McpLive {
public:
    base::Result<std::vector<service::McpQuestion>> questions() override {
        const std::lock_guard lock(mutex_);
        return questions_;
    }
    base::Status answer(const std::string& id, const service::McpAnswer& answer) override {
        const std::lock_guard lock(mutex_);
        answers_.push_back(fmt::format("{} {} {}", id, answer.action,
                                       base::json_text(answer.content.value_or(json::object{}))));
        questions_.clear();
        return {};
    }
    base::Result<std::vector<service::McpPrompt>> prompts() override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !is_slow_; });
        return std::vector<service::McpPrompt>{
            {.server = "s",
             .name = "triage",
             .description = "Sorts an issue.",
             .arguments = {{.name = "issue", .description = "its number", .required = true}}}};
    }
    base::Result<service::McpPromptText> expand(const service::McpPromptRequest& request) override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !is_slow_; });
        const auto issue = request.arguments.find("issue");
        if (issue == request.arguments.end())
            return base::fail(base::ErrorCode::InvalidInput, "the server wants an issue");
        return service::McpPromptText{.server = request.server,
                                      .name = request.name,
                                      .text = prefix_ + "Sort issue " + issue->second + ".",
                                      .left_out = {}};
    }

    template <class... Question>
    void ask(Question... questions) {
        const std::lock_guard lock(mutex_);
        questions_ = {std::move(questions)...};
    }
    void say_first(std::string prefix) {
        const std::lock_guard lock(mutex_);
        prefix_ = std::move(prefix);
    }
    void be_slow(bool is_slow) {
        {
            const std::lock_guard lock(mutex_);
            is_slow_ = is_slow;
        }
        changed_.notify_all();
    }
    std::vector<std::string> answers() {
        const std::lock_guard lock(mutex_);
        return answers_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_slow_{false};
    std::string prefix_;
    std::vector<service::McpQuestion> questions_;
    std::vector<std::string> answers_;
};

class SessionTest : public testing::Test {
protected:
    // Ends what a test left waiting.
    ~SessionTest() override { mcp.be_slow(false); }

    SessionParts parts() {
        return {.service = service,
                .plans = plans,
                .clock = clock,
                .wake = wake,
                .inbox = inbox,
                .agent = "main",
                .models = [] { return known_models(); },
                .mcp = &mcp};
    }
    static base::Result<std::vector<service::ModelAvailability>> known_models() {
        std::vector<service::ModelAvailability> models;
        for (const auto* name : {"a/small", "b/large", "c/other"})
            models.push_back({.model = name, .display_name = name, .available = true});
        models.back().available = false;
        models.back().unavailable_reason = "no key is set for c";
        return models;
    }
    void start() {
        session->start({80, 24});
        EXPECT_TRUE(until([&] { return text().contains("connected") && has_asked("after 7"); }));
    }
    // Lets the session see what other threads bring until the condition holds.
    template <class Condition>
    bool until(Condition condition) {
        return eventually([&] {
            inbox.drain();
            session->on_news();
            return condition();
        });
    }
    bool has_asked(std::string_view what) {
        const auto asked = service.asked();
        return std::ranges::find(asked, what) != asked.end();
    }
    std::string text() {
        std::string all;
        for (const auto& line : session->draw().frame.lines) all += show::text_of(line) + "\n";
        return all;
    }
    void type(std::string_view letters) {
        for (const char letter : letters) session->on_key({.text = std::string(1, letter)});
    }
    void press(KeyName name) { session->on_key({.name = name}); }

    Wake wake;
    Inbox inbox{wake};
    HandClock clock;
    FakeService service;
    FakeMcp mcp;
    service::RemotePlans plans{{.address = {}, .vault = {}}};
    std::shared_ptr<Session> session = std::make_shared<Session>(parts());
};

}  // namespace tui
