// What an operator or an external sender got an answer for is on disk: the power goes right behind
// the answer.
#include <gmock/gmock.h>

#include "tests/service/fixture.h"
#include "tests/sim/faulty_store.h"

namespace service {
namespace {

struct HasDisk {
    sim::Disk disk_;
};

class PowerTest : protected HasDisk, public ServiceTest {
protected:
    PowerTest() : ServiceTest(disk_.open({})) {}

    // All until now is on disk, so that only what comes next can be lost.
    void sync() {
        ASSERT_TRUE(
            store_->write(store::Durability::Disk, [](store::Tx&) { return base::Status{}; }));
    }
    // What the next process finds.
    template <class T>
    T after_a_power_cut(const std::function<base::Result<T>(store::Tx&)>& read) {
        disk_.lose_power();
        T value{};
        EXPECT_TRUE(disk_.open({})->read([&](store::Tx& tx) -> base::Status {
            value = TRY(read(tx));
            return {};
        }));
        return value;
    }
};

TEST_F(PowerTest, AMessageThatWasTakenIsNotLost) {
    auto& service = serve_main();
    sync();
    const std::string prompt = service.prompt("main", "hi", operator_).value();
    const std::string event = service.enqueue("main", {.dedupe_key = "delivery-1"}).value();
    const auto left = after_a_power_cut<std::vector<std::string>>(
        [](store::Tx& tx) -> base::Result<std::vector<std::string>> {
            std::vector<std::string> ids;
            for (const auto& one : TRY(tx.messages({"main"}, {})))
                ids.push_back(one.record.message.id.value);
            return ids;
        });
    EXPECT_THAT(left, testing::ElementsAre(prompt, event));
}

// contract: STATE-27
TEST_F(PowerTest, AnAgentThatWasStoppedStaysStopped) {
    auto& service = serve_main();
    sync();
    ASSERT_TRUE(service.set_lifecycle("main", LifecycleAction::Stop, operator_));
    EXPECT_TRUE(after_a_power_cut<std::optional<domain::Agent>>([](store::Tx& tx) {
                    return tx.agent({"main"});
                })->stopped);
}

// contract: TRIG-40
TEST_F(PowerTest, AUrlThatWasRevokedStaysRevoked) {
    auto& service = serve_main();
    ASSERT_TRUE(service.external_trigger("main", false, operator_));
    sync();
    ASSERT_TRUE(service.revoke_trigger("main", operator_));
    EXPECT_FALSE(after_a_power_cut<std::optional<domain::ExternalTrigger>>(
        [](store::Tx& tx) { return tx.active_trigger({"main"}); }));
}

}  // namespace
}  // namespace service
