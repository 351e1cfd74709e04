// Request bodies as types: decoding, checking and the OpenAPI document come from these.
#pragma once

#include <optional>
#include <string>

#include "base/typed.h"
#include "domain/labels.h"
#include "domain/message.h"
#include "service/service.h"

namespace http_surface {

struct PromptBody {
    std::string text;
};
BOOST_DESCRIBE_STRUCT(PromptBody, (), (text))

struct WakeBody {
    std::string reason;
    std::optional<std::string> source{};
    std::optional<std::string> correlation_id{};
    std::optional<std::string> causation_id{};
};
BOOST_DESCRIBE_STRUCT(WakeBody, (), (reason, source, correlation_id, causation_id))

struct ControlBody {
    service::LifecycleAction action{service::LifecycleAction::Start};
    std::optional<domain::TrustLevel> trust{};
};
BOOST_DESCRIBE_STRUCT(ControlBody, (), (action, trust))

struct AbortBody {
    std::optional<std::string> run_id{};
    std::optional<std::string> mode{};
    std::optional<domain::TrustLevel> trust{};
};
BOOST_DESCRIBE_STRUCT(AbortBody, (), (run_id, mode, trust))

struct InterruptBody {
    std::string reason;
};
BOOST_DESCRIBE_STRUCT(InterruptBody, (), (reason))

struct CreateBody {
    std::optional<std::string> template_{};
    std::optional<domain::TrustLevel> trust{};
};
BOOST_DESCRIBE_STRUCT(CreateBody, (), (template_, trust))

struct TaskInputBody {
    std::string text;
    std::optional<domain::TrustLevel> trust{};
};
BOOST_DESCRIBE_STRUCT(TaskInputBody, (), (text, trust))

struct MoveBody {
    std::string path;
    std::optional<domain::TrustLevel> trust{};
};
BOOST_DESCRIBE_STRUCT(MoveBody, (), (path, trust))

struct TaskBody {
    std::string summary;
    std::string cmd;
    std::optional<std::string> workdir{};
    std::optional<std::string> shell{};
    bool login{true};
    bool tty{false};
    std::optional<std::int64_t> yield_time_ms{};
    std::optional<std::int64_t> max_output_tokens{};
    bool accepts_input{false};
    std::optional<domain::TrustLevel> trust{};
};
BOOST_DESCRIBE_STRUCT(TaskBody, (),
                      (summary, cmd, workdir, shell, login, tty, yield_time_ms, max_output_tokens,
                       accepts_input, trust))
constexpr auto describe_fields(const TaskBody*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "login", .keywords = R"("default":true)", .has_default = true},
         {.field = "tty", .keywords = R"("default":false)", .has_default = true},
         {.field = "yield_time_ms", .keywords = R"("default":10000,"minimum":0)"},
         {.field = "max_output_tokens", .keywords = R"("minimum":0)"},
         {.field = "accepts_input", .keywords = R"("default":false)", .has_default = true}});
}

struct TimerBody {
    std::int64_t duration_ms{0};
    std::optional<std::int64_t> interval_ms{};
    std::optional<std::string> summary{};
    std::optional<domain::TrustLevel> trust{};
    std::optional<base::Time> at{};
    std::optional<std::string> cron{};
    std::optional<std::string> time_zone{};
};
BOOST_DESCRIBE_STRUCT(TimerBody, (),
                      (duration_ms, interval_ms, summary, trust, at, cron, time_zone))
constexpr auto describe_fields(const TimerBody*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "duration_ms",
          .text = "Until it first fires.",
          .keywords = R"("minimum":0,"maximum":31536000000)",
          .has_default = true},
         {.field = "interval_ms",
          .text = "Between further firings.",
          .keywords = R"("minimum":1000,"maximum":31536000000)"},
         {.field = "at", .text = "Instead of duration_ms: when it first fires."},
         {.field = "cron",
          .text = "Instead of both times: fires whenever this expression fits (five fields)."},
         {.field = "time_zone", .text = "Of the cron expression, such as Europe/Berlin."}});
}

struct WorkItemBody {
    std::string objective;
    std::optional<domain::PlanStatus> plan_status{};
    std::optional<std::string> plan{};
    std::optional<domain::TrustLevel> trust{};
};
BOOST_DESCRIBE_STRUCT(WorkItemBody, (), (objective, plan_status, plan, trust))
constexpr auto describe_fields(const WorkItemBody*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "objective", .text = "What is to be achieved.", .keywords = R"("minLength":1)"},
         {.field = "plan", .text = "The first text of its plan file."}});
}

struct WorkBlockBody {
    std::string blocked_by;
    std::optional<std::int64_t> recheck_after{};
    std::optional<domain::TrustLevel> trust{};
};
BOOST_DESCRIBE_STRUCT(WorkBlockBody, (), (blocked_by, recheck_after, trust))
constexpr auto describe_fields(const WorkBlockBody*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "blocked_by", .text = "What it waits for.", .keywords = R"("minLength":1)"},
         {.field = "recheck_after",
          .text = "Milliseconds until the agent is reminded.",
          .keywords = R"("minimum":1)"}});
}

struct SkillInstallBody {
    service::SkillInstall kind{};
    std::optional<domain::TrustLevel> trust{};
};
BOOST_DESCRIBE_STRUCT(SkillInstallBody, (), (kind, trust))

struct SkillNameBody {
    std::string name;
    std::optional<domain::TrustLevel> trust{};
};
BOOST_DESCRIBE_STRUCT(SkillNameBody, (), (name, trust))

struct DebugPromptBody {
    std::string text;
    std::optional<domain::TrustLevel> trust{};
};
BOOST_DESCRIBE_STRUCT(DebugPromptBody, (), (text, trust))

struct ModelBody {
    std::string model;
    std::optional<std::string> reasoning_effort{};
    std::optional<domain::TrustLevel> trust{};
};
BOOST_DESCRIBE_STRUCT(ModelBody, (), (model, reasoning_effort, trust))
constexpr auto describe_fields(const ModelBody*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "model", .text = "provider/model"},
         {.field = "reasoning_effort", .keywords = R"("enum":["low","medium","high","xhigh"])"}});
}

// Only the members that every control request may have.
struct TrustBody {
    std::optional<domain::TrustLevel> trust{};
};
BOOST_DESCRIBE_STRUCT(TrustBody, (), (trust))

struct RotateWebhookBody {
    std::optional<std::string> secret{};
};
BOOST_DESCRIBE_STRUCT(RotateWebhookBody, (), (secret))

struct AttachBody {
    std::string path;
    std::optional<domain::TrustLevel> trust{};
};
BOOST_DESCRIBE_STRUCT(AttachBody, (), (path, trust))

struct DetachBody {
    std::string workspace_id;
    std::optional<domain::TrustLevel> trust{};
};
BOOST_DESCRIBE_STRUCT(DetachBody, (), (workspace_id, trust))

// Kinds, priorities and origins that this route does not accept are refused (403), not malformed,
// so they are read as plain text first.
struct EnqueueBody {
    std::optional<std::string> kind{};
    std::optional<std::string> priority{};
    std::optional<json::value> origin{};
    std::optional<json::value> trust{};
    std::optional<domain::Body> body{};
    std::optional<std::string> text{};
    std::optional<json::value> json{};
    std::optional<json::value> metadata{};
    std::optional<std::string> correlation_id{};
    std::optional<std::string> causation_id{};
};
BOOST_DESCRIBE_STRUCT(EnqueueBody, (),
                      (kind, priority, origin, trust, body, text, json, metadata, correlation_id,
                       causation_id))
constexpr auto describe_fields(const EnqueueBody*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "kind", .keywords = R"("enum":["webhook_event","channel_event"])"},
         {.field = "priority", .keywords = R"("enum":["next","normal","background"])"},
         {.field = "origin",
          .text = "{kind: webhook, source, event_type?} or {kind: channel, "
                  "channel_id, sender_id?}; default webhook from http."},
         {.field = "trust",
          .text = "Always refused: authority follows from the route, not from the body."},
         {.field = "body", .text = "Wins over `text`, which wins over `json`."}});
}

struct GateCheckBody {
    std::string file;
};
BOOST_DESCRIBE_STRUCT(GateCheckBody, (), (file))
constexpr auto describe_fields(const GateCheckBody*) {
    return std::to_array<base::FieldDoc>(
        {{"file", "A document on the machine of the runtime, by its absolute path."}});
}

struct GateReleaseBody {
    std::string reason;
};
BOOST_DESCRIBE_STRUCT(GateReleaseBody, (), (reason))
constexpr auto describe_fields(const GateReleaseBody*) {
    return std::to_array<base::FieldDoc>(
        {{"reason", "Why it may enter although it was rejected; recorded.", R"("minLength":1)"}});
}

}  // namespace http_surface
