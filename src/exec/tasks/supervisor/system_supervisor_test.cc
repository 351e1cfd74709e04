#include "exec/tasks/supervisor/system_supervisor.h"

#include <gmock/gmock.h>

namespace supervisor {
namespace {
TEST(X, Y) {
    base::AsioLoop loop;
    SystemSupervisor s(loop, "/tmp/supx");
    std::filesystem::remove_all("/tmp/supx");
    for (int i = 0; i < 20; ++i) {
        const auto t = std::chrono::steady_clock::now();
        const std::string id = "a" + std::to_string(i);
        std::filesystem::remove("/tmp/supx.log");
        auto c = s.start({.id = id, .argv = {"sh", "-c", "echo out; echo err >&2; exit 3"}, .cwd = "/tmp", .environment = {}, .log = "/tmp/supx.log"},
                [&](End end) {
                    auto* e = std::get_if<Ended>(&end);
                    if (auto* l = std::get_if<Lost>(&end)) ADD_FAILURE() << l->evidence;
                    if (auto* l = std::get_if<NotStarted>(&end)) ADD_FAILURE() << l->reason;
                    ASSERT_TRUE(e);
                    EXPECT_EQ(e->exit_code, 3);
                    s.collect(id, "/tmp/supx.log", *e, {}, [&](auto captured) {
                        EXPECT_EQ(captured->out.head, "out\n");
                        EXPECT_EQ(captured->err.head, "err\n");
                        s.forget(id);
                        loop.stop();
                    });
                });
        ASSERT_TRUE(c) << c.error().message;
        loop.run();
        fmt::print("{} us\n", std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - t).count());
    }
}
}
}
