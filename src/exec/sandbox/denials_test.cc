#include "exec/sandbox/denials.h"

#include <csignal>
#include <fstream>

#include <gtest/gtest.h>

#include "exec/sandbox/network_log.h"
#include "exec/sandbox/permit.h"

namespace sandbox {
namespace {

class Denials : public testing::Test {
protected:
    Denials() {
        std::string name =
            (std::filesystem::temp_directory_path() / "holon-denials-XXXXXX").string();
        folder = ::mkdtemp(name.data());
    }
    ~Denials() override { std::filesystem::remove_all(folder); }
    std::filesystem::path log(const std::string& text) const {
        std::ofstream(folder / "log") << text;
        return folder / "log";
    }
    std::filesystem::path folder;
};

TEST_F(Denials, AreTheDestinationsThatWereRefusedEachOnce) {
    const auto file = log(R"({"host":"a.com","port":443,"outcome":"connected"}
{"host":"b.com","port":443,"outcome":"refused"}
not json
{"host":"localhost","port":1,"outcome":"private_address"}
{"host":"b.com","port":443,"outcome":"refused"}
{"host":"c.com","port":443,"outcome":"unknown_host"}
)");
    EXPECT_EQ(refused_destinations(file), (std::vector<Denial>{{Rule::Network, "b.com:443", 2},
                                                               {Rule::Network, "localhost:1", 1}}));
    EXPECT_EQ(refused_destinations(""), std::vector<Denial>{});
    EXPECT_EQ(refused_destinations(folder / "none"), std::vector<Denial>{});
}

TEST_F(Denials, OfALogEveryoneReadsTheSame) {
    const auto file = log(R"({"host":"a.com","port":443,"outcome":"connected"}
{"host":"b.com","port":80,"outcome":"refused"}
[]
{"host":"a.com","port":443,"outcome":"connected"}
{"host":"a.com","port":443,"outcome":"unreachable"})");
    const auto list = read_network_log(file);
    EXPECT_EQ(list, (std::vector<Reached>{{"a.com:443", "connected", 2},
                                          {"b.com:80", "refused"},
                                          {"a.com:443", "unreachable"}}));
    EXPECT_TRUE(list[0].is_connected() && !list[0].is_forbidden());
    EXPECT_TRUE(!list[1].is_connected() && list[1].is_forbidden());
    EXPECT_TRUE(!list[2].is_connected() && !list[2].is_forbidden());
}

TEST_F(Denials, AreBoundedAndCountFurtherOnes) {
    std::string text;
    for (std::size_t i = 0; i < kDenialsMax + 9; ++i)
        text += fmt::format("{{\"host\":\"h{}\",\"port\":1,\"outcome\":\"refused\"}}\n", i);
    const auto list = refused_destinations(log(text));
    EXPECT_EQ(list.size(), kDenialsMax);
    EXPECT_EQ(list.back(), (Denial{Rule::Network, "further destinations", 10}));
}

TEST_F(Denials, RecogniseALimitByTheExitStatus) {
    EXPECT_EQ(denials_of("", 128 + SIGXCPU, {}).at(0).rule, Rule::CpuLimit);
    EXPECT_EQ(denials_of("", {}, SIGXFSZ).at(0).rule, Rule::FileSizeLimit);
    EXPECT_EQ(denials_of("", 128 + SIGSYS, {}).at(0).rule, Rule::SystemCall);
    for (const std::int64_t ordinary : {0, 1, 127, 128 + SIGKILL, 128 + SIGTERM})
        EXPECT_TRUE(denials_of("", ordinary, {}).empty()) << ordinary;
}

TEST(Permit, RefusesEachUseThatTheExecutionPolicyLacks) {
    const domain::Execution all;
    EXPECT_TRUE(permit(all, Use::Process));
    EXPECT_TRUE(permit(all, Use::BackgroundTask));
    EXPECT_TRUE(permit(all, Use::Worktree));
    const domain::Execution no_worktrees{.supports_managed_worktrees = false};
    EXPECT_TRUE(permit(no_worktrees, Use::BackgroundTask));
    const auto refused = permit(no_worktrees, Use::Worktree);
    EXPECT_EQ(refused.error().code, base::ErrorCode::Refused);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("execution.allow_worktrees"));
    const domain::Execution no_tasks{.allow_background_tasks = false};
    EXPECT_TRUE(permit(no_tasks, Use::Process));
    EXPECT_FALSE(permit(no_tasks, Use::BackgroundTask));
    const domain::Execution nothing{.process_execution_exposed = false,
                                    .supports_managed_worktrees = true};
    for (const auto use : {Use::Process, Use::BackgroundTask, Use::Worktree})
        EXPECT_EQ(permit(nothing, use).error().code, base::ErrorCode::Refused);
}

}  // namespace
}  // namespace sandbox
