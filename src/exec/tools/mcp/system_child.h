// Real servers, tethered: when this process ends, even by SIGKILL, they do.
#pragma once

#include "base/os/asio_loop.h"
#include "exec/tools/mcp/child.h"

namespace mcp {

// Used on the loop only; must be gone before it.
class SystemChildRunner final : public ChildRunner {
public:
    explicit SystemChildRunner(base::AsioLoop& loop) : loop_(loop) {}
    base::Result<std::unique_ptr<Child>> start(const base::ProcessSpec& spec,
                                               ChildEvents events) override;

private:
    base::AsioLoop& loop_;
};

}  // namespace mcp
