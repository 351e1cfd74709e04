#include "service/remote/remote_gate.h"

#include <gmock/gmock.h>

#include "tests/http/fake_gate.h"
#include "tests/http/fixture.h"

namespace service {
namespace {

using testing::ElementsAre;

class RemoteGateTest : public test_http::ServerTest {
protected:
    void SetUp() override {
        gate_ = &there;
        start();
    }
    test_http::FakeGate there;
};

TEST_F(RemoteGateTest, RequestsReachTheGateAndAnswersReturnWhole) {
    RemoteGate gate({.socket = socket_path()});
    const auto document = test_http::FakeGate::document();
    EXPECT_EQ(gate.list(domain::GatePlace::Quarantine, {.limit = 3}).value().items,
              std::vector{document});
    EXPECT_EQ(gate.list(std::nullopt, {.limit = 50}).value().items, std::vector{document});
    EXPECT_EQ(gate.show("TS-1")->document, document);
    EXPECT_EQ(gate.release("TS-1", "it is a \"dummy\"").value(), document);
    EXPECT_EQ(gate.purge({.document_id = "TS-1"}).value(), std::vector{document});
    EXPECT_EQ(gate.check("/a b.md")->reasons, document.reasons);
    EXPECT_THAT(there.calls(),
                ElementsAre("list quarantine 3", "list all 50", "show TS-1",
                            "release TS-1 it is a \"dummy\"", "purge TS-1 -1", "check /a b.md"));
}

TEST_F(RemoteGateTest, FailuresKeepTheirCode) {
    RemoteGate gate({.socket = socket_path()});
    EXPECT_EQ(gate.show("../x").error().code, base::ErrorCode::NotFound);
    EXPECT_EQ(gate.release("TS-9", "r").error().code, base::ErrorCode::Conflict);
    RemoteGate nobody({.socket = folder_ / "nobody"});
    EXPECT_EQ(nobody.list(std::nullopt, {.limit = 1}).error().code, base::ErrorCode::Unavailable);
}

}  // namespace
}  // namespace service
