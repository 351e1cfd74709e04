// Plans in a resident runtime: its loop on a thread of its own, tools of the plan cases, and a
// server in front of it.
#pragma once

#include <thread>

#include "base/os/asio_loop.h"
#include "exec/tools/builtin/commands/shell.h"
#include "service/local/local_plans.h"
#include "tests/http/fixture.h"
#include "tests/plans/case_tools.h"

namespace plans_test {

class NoProcesses final : public base::ProcessRunner {
public:
    base::Result<std::shared_ptr<Handle>> start(
        base::ProcessSpec, std::move_only_function<void(base::ProcessExit)>) override {
        return base::fail(base::ErrorCode::Unavailable, "tests start no processes");
    }
};

// One resident process. The next one in the same folder finds what it left open.
class Resident {
public:
    explicit Resident(const std::filesystem::path& folder);
    ~Resident();
    service::LocalPlans& plans() { return *service_; }
    plans::Host& host() { return plans_->host(); }
    std::filesystem::path vault() const { return folder_ / "vault"; }
    // Shuts down in order.
    void drain();

private:
    const tools::Registry& with_tools();

    std::filesystem::path folder_;
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    events::Feed feed_;
    base::AsioLoop loop_;
    std::unique_ptr<store::Store> store_;
    NoProcesses processes_;
    builtin::Shell shell_{loop_, processes_, {}};
    ToolWorld world_;
    tools::Registry registry_;
    tools::Dispatcher dispatcher_;
    std::optional<plans::Plans> plans_;
    std::optional<service::LocalPlans> service_;
    std::jthread thread_;
};

// A server whose plans are real.
class PlanServerTest : public test_http::ServerTest {
protected:
    void SetUp() override { serve({}); }
    void TearDown() override {
        server_.reset();
        resident_.reset();
    }
    void serve(http_surface::Options options);

    service::LocalPlans& plans() { return resident_->plans(); }
    // A plan that goes over `count` items with `tool`.
    static json::object loop_plan(std::string_view tool, std::int64_t count, std::int64_t ms = 1);
    static json::object write_plan(std::string_view path, std::string_view content);

    std::unique_ptr<Resident> resident_;
};

}  // namespace plans_test
