// What an operator sees of agents that are set aside and of a store that cannot write.
#include <gmock/gmock.h>

#include "flow/scheduler/recovery.h"
#include "tests/service/fixture.h"

namespace service {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A store whose writes fail from a moment on.
class ReadOnlyStore final : public store::Store {
public:
    explicit ReadOnlyStore(std::unique_ptr<store::Store> inner) : inner_(std::move(inner)) {}
    store::Status write(store::Durability durability, store::Work work) override {
        if (error) return std::unexpected(*error);
        return inner_->write(durability, std::move(work));
    }
    void write_async(store::Durability durability, store::Work work,
                     std::move_only_function<void(store::Status)> done) override {
        if (!error) return inner_->write_async(durability, std::move(work), std::move(done));
        work = nullptr;
        done(std::unexpected(*error));
    }
    store::Status read(store::Work work) override { return inner_->read(std::move(work)); }
    std::optional<base::Error> error;

private:
    std::unique_ptr<store::Store> inner_;
};

class ServiceFaults : public ServiceTest {
protected:
    ServiceFaults()
        : ServiceTest(
              std::make_unique<ReadOnlyStore>(sqlite::open_inline({.file = ":memory:"}).value())) {}
    ReadOnlyStore& disk() { return static_cast<ReadOnlyStore&>(*store_); }
    void set_aside() {
        ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) {
            return tx.put_fault({.agent_id = {"main"},
                                 .occurred_at = loop_.now(),
                                 .phase = "turn",
                                 .reason = "a record cannot be read"});
        }));
    }
};

TEST_F(ServiceFaults, TheRuntimeIsNotReadyWhileNothingCanBeWritten) {
    auto& service = serve_main();
    EXPECT_TRUE(service.ready());
    disk().error = base::Error{.code = base::ErrorCode::Io, .message = "the disk is full"};
    EXPECT_TRUE(service.ready()) << "the last answer holds for a second";
    loop_.set_clock(loop_.now() + 1s);
    const auto full = service.ready();
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, base::ErrorCode::Unavailable);
    EXPECT_EQ(full.error().kind, "not_ready");
    EXPECT_THAT(full.error().message, HasSubstr("the disk is full"));
    disk().error.reset();
    loop_.set_clock(loop_.now() + 1s);
    EXPECT_TRUE(service.ready());
}

TEST_F(ServiceFaults, AWriteThatFailedEndsTheLastGoodAnswer) {
    auto& service = serve_main();
    EXPECT_TRUE(service.ready());
    disk().error = base::Error{.code = base::ErrorCode::Io, .message = "the disk is full"};
    EXPECT_FALSE(service.prompt("main", "hello", operator_));
    EXPECT_FALSE(service.ready()) << "although the last probe was good";
    disk().error.reset();
    loop_.set_clock(loop_.now() + 1s);
    EXPECT_TRUE(service.ready());
}

TEST_F(ServiceFaults, TheRuntimeIsNotReadyWhileItsDatabaseIsDamaged) {
    auto& service = serve_main();
    service.report_damage("table tasks: row 3 is missing from an index");
    ASSERT_FALSE(service.ready());
    EXPECT_THAT(service.ready().error().message, HasSubstr("table tasks"));
    service.report_damage("");
    EXPECT_TRUE(service.ready());
}

TEST_F(ServiceFaults, AnAgentThatIsSetAsideIsShownAsPausedWithItsReasonAndKeepsItsMessages) {
    auto& service = serve_main();
    loop_.run();
    set_aside();
    ASSERT_TRUE(service.prompt("main", "hello", operator_));
    loop_.run();
    EXPECT_EQ(model_->asked, 0U);
    const auto summary = service.status("main").value();
    EXPECT_EQ(summary.at("agent").at("status"), "paused");
    EXPECT_EQ(summary.at("agent").at("fault").at("reason"), "a record cannot be read");
    EXPECT_EQ(summary.at("lifecycle").at("fault").at("recover_cli_hint"),
              "holon agent recover main");
    EXPECT_EQ(service.agent_list({}).value().at(0).at("status"), "paused");
    EXPECT_EQ(service.activity().value().at("agents_set_aside"), (json::array{"main"}));

    ASSERT_TRUE(service.set_lifecycle("main", LifecycleAction::Recover, operator_));
    loop_.run();
    EXPECT_EQ(model_->asked, 1U);
    EXPECT_EQ(status(), "awake_idle");
    EXPECT_EQ(events_of("agent_recovered").size(), 1U);
    EXPECT_EQ(base::string_at(events_of("control_applied").back().data, "action"), "recover");
}

TEST_F(ServiceFaults, RecoveringMayDropTheMessageThatIsNext) {
    auto& service = serve_main();
    loop_.run();
    EXPECT_EQ(
        service.set_lifecycle("main", LifecycleAction::RecoverDropMessage, operator_).error().code,
        base::ErrorCode::Conflict);
    set_aside();
    ASSERT_TRUE(service.prompt("main", "bad", operator_));
    ASSERT_TRUE(service.prompt("main", "good", operator_));
    ASSERT_TRUE(service.set_lifecycle("main", LifecycleAction::RecoverDropMessage, operator_));
    loop_.run();
    EXPECT_EQ(model_->asked, 1U);
    EXPECT_EQ(status(), "awake_idle");
    EXPECT_EQ(events_of("message_quarantined").size(), 1U);
}

TEST_F(ServiceFaults, RecoveringDoesNotLiftAPause) {
    auto& service = serve_main();
    ASSERT_TRUE(service.set_lifecycle("main", LifecycleAction::Pause, operator_));
    set_aside();
    ASSERT_TRUE(service.set_lifecycle("main", LifecycleAction::Recover, operator_));
    EXPECT_EQ(status(), "paused");
    EXPECT_FALSE(service.status("main").value().at("agent").as_object().contains("fault"));
}

TEST_F(ServiceFaults, ADeathDuringAStepIsCountedForThatAgentBeforeAnythingIsResumed) {
    auto& service = open();
    ASSERT_TRUE(service.create_agent("main", std::nullopt, operator_));
    for (int i = 1; i < scheduler::kCrashesMax; ++i) service.count_crashes({"main", "unknown"});
    EXPECT_EQ(status(), "awake_idle");
    service.count_crashes({"main", "unknown"});
    EXPECT_EQ(status(), "paused");
}

}  // namespace
}  // namespace service
