// The seam to the result gate, which judges results before they leave the dispatcher.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "domain/gate.h"
#include "exec/tools/tool.h"

namespace tools {

// The kind of the error that stands in for a rejected result.
inline constexpr std::string_view kResultRejected = "result_rejected";

// A call that has ended, as its tool left it.
struct FinishedCall {
    domain::ToolCall call;
    Family family{Family::CoreAgent};
    base::Time started_at{};
    std::shared_ptr<const Outcome> outcome;
    results::OutputPolicy output{};
    RunsBehind runs_behind{RunsBehind::Nothing};
};

struct GateAnswer {
    domain::GateMark mark;
    // What stands in for the result: it must not be shown. It says nothing of what the result held.
    std::optional<domain::ToolError> instead{};
};

// Used on the loop's thread only. What is set in it comes from operators and never from a model.
class ResultGate {
public:
    virtual ~ResultGate() = default;

    // What is done with the result of `call` to a tool of this family, behind this boundary.
    virtual domain::GatePolicy policy(const domain::ToolCall& call, Family family,
                                      RunsBehind runs_behind) const = 0;

    // Judges a result whose policy is not Off. `done` comes once, on the loop, after the verdict is
    // on disk; never before judge() has returned.
    virtual void judge(FinishedCall finished, std::move_only_function<void(GateAnswer)> done) = 0;
};

}  // namespace tools
