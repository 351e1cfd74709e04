// MCP servers with one question, "q-1", and one prompt, that write down what they are asked.
#pragma once

#include <mutex>

#include "service/mcp.h"

namespace test_http {

// Any thread.
class FakeMcp final : public service::McpLive {
public:
    base::Result<std::vector<service::McpQuestion>> questions() override {
        return std::vector<service::McpQuestion>{{.id = "q-1",
                                                  .server = "s",
                                                  .mode = "form",
                                                  .message = "Who?",
                                                  .schema = json::object{{"type", "object"}}}};
    }
    base::Status answer(const std::string& id, const service::McpAnswer& answer) override {
        if (id == "gone") return base::fail(base::ErrorCode::NotFound, "no question waits");
        note(fmt::format("answer {} {} {}", id, answer.action,
                         base::json_text(answer.content.value_or(json::object{}))));
        return {};
    }
    base::Result<std::vector<service::McpPrompt>> prompts() override {
        return std::vector<service::McpPrompt>{
            {.server = "s", .name = "triage", .arguments = {{.name = "issue", .required = true}}}};
    }
    base::Result<service::McpPromptText> expand(const service::McpPromptRequest& request) override {
        note("expand " + request.server + " " + request.name);
        return service::McpPromptText{request.server, request.name, "text"};
    }
    std::vector<std::string> calls() const {
        const std::lock_guard lock(mutex_);
        return calls_;
    }

private:
    void note(std::string text) {
        const std::lock_guard lock(mutex_);
        calls_.push_back(std::move(text));
    }
    mutable std::mutex mutex_;
    std::vector<std::string> calls_;
};

}  // namespace test_http
