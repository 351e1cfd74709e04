// Where a call that only the operator may allow is sent to them for approval.
#pragma once

#include <string>

#include "base/result.h"
#include "exec/tools/tool.h"

namespace tools {

// Any thread may use one; it is asked in the background, so it may wait for a commit.
class Proposals {
public:
    virtual ~Proposals() = default;
    // The id under which the operator finds it; the same for the same call, however often it is
    // asked. Nothing is run. Once the operator agrees, exactly this call is made, once, and its
    // agent receives the result with the trust of what asked for it.
    virtual base::Result<std::string> propose(const domain::ToolCall& call,
                                              const ExecutionContext& place) = 0;
};

}  // namespace tools
