#include "provider/conformance.h"

#include "provider/scripted/scripted_provider.h"
#include "tests/support/fake_loop.h"

namespace provider::conformance {
namespace {

class ScriptedHarness {
public:
    base::Loop& loop() { return loop_; }
    bool run_until(const std::function<bool()>& condition) { return loop_.run_until(condition); }
    std::shared_ptr<Provider> that_says(std::string text) { return playing({.text = text}); }
    std::shared_ptr<Provider> that_calls(const domain::ToolUseBlock& call) {
        return playing({.tool_calls = {{call.name, call.input, call.id}}});
    }
    std::shared_ptr<Provider> that_fails(FailureKind kind) {
        return playing({.fault = ScriptedFault{.kind = kind, .message = "scripted", .times = 99}});
    }
    std::shared_ptr<Provider> that_hangs() { return playing({.delay_ms = kScenarioDelayMsMax}); }
    void wait_until_asked() {}

private:
    std::shared_ptr<Provider> playing(Round round) {
        return std::make_shared<ScriptedProvider>(Scenario{{std::move(round)}, true}, loop_);
    }
    test_support::FakeLoop loop_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Scripted, ProviderConformance, ScriptedHarness);

}  // namespace
}  // namespace provider::conformance
