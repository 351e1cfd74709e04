// What the task tools share: results that are documents, and their one way to fail.
#pragma once

#include <memory>
#include <string>

#include "exec/tools/tool.h"

namespace builtin {

struct Document final : results::Output {
    std::string summary;
    json::object result;
    base::Result<results::Canonical> project(results::ArtifactSink&,
                                             const results::OutputPolicy&) const override {
        return results::Canonical{summary, result};
    }
};

inline results::Completed document(std::string summary, json::object result) {
    auto output = std::make_unique<Document>();
    output->summary = std::move(summary);
    output->result = std::move(result);
    return output;
}

inline results::Completed task_failure(const base::Error& error) {
    return std::unexpected(
        domain::ToolError{.kind = "tool_execution_failed", .message = error.message});
}

// The envelope as compact JSON, for results that a model reads as they are.
inline std::string render_document(const results::Envelope& envelope) {
    return base::json_text(
        json::object{{"summary_text", envelope.summary_text()}, {"result", envelope.result()}});
}

struct TaskRef {
    std::string task_id;
};
BOOST_DESCRIBE_STRUCT(TaskRef, (), (task_id))
constexpr auto describe_fields(const TaskRef*) {
    return std::to_array<base::FieldDoc>(
        {{"task_id", "The task's id, as ExecCommand or TaskList gave it.", R"("minLength":1)"}});
}

}  // namespace builtin
