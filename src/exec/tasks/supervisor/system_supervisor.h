// The real Supervisor: one small process for each command, found again through its folder.
#pragma once

#include <filesystem>
#include <memory>

#include "base/os/asio_loop.h"
#include "base/os/files.h"
#include "exec/tasks/supervisor/supervisor.h"

namespace supervisor {

// Each command has a folder below `folder` (0700) with its state and its control socket (0600). A
// supervisor holds nothing of ours but one end of a connection, leads a session of its own and
// ends when its command has ended and its state is written.
class SystemSupervisor final : public Supervisor {
public:
    SystemSupervisor(base::AsioLoop& loop, std::filesystem::path folder);
    // Hangs up; commands continue, and pending callbacks are dropped.
    ~SystemSupervisor() override;
    SystemSupervisor(const SystemSupervisor&) = delete;
    SystemSupervisor& operator=(const SystemSupervisor&) = delete;

    base::Result<std::shared_ptr<Command>> start(Spec spec, OnEnd on_end) override;
    std::shared_ptr<Command> attach(const std::string& id, OnEnd on_end) override;
    bool knows(const std::string& id) override;
    std::vector<std::string> known() override;
    bool is_in_use(const std::string& id) override;
    void collect(const std::string& id, const std::filesystem::path& log, const Ended& ended,
                 Capture capture,
                 std::move_only_function<void(base::Result<Captured>)> done) override;
    void forget(const std::string& id) override;

private:
    class Line;
    struct State;
    void watch_child(base::Fd pidfd);

    std::shared_ptr<State> state_;
};

}  // namespace supervisor
