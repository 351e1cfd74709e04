#include "exec/tools/policy/flow_policy.h"

#include <set>

#include <gmock/gmock.h>

#include "base/os/asio_loop.h"
#include "base/scan/secrets.h"
#include "exec/tools/fake_tool_for_test.h"

namespace tools {
namespace {

using domain::AuthorityClass;
using domain::ExternalCalls;
using domain::RiskLevel;
using testing::HasSubstr;

constexpr AuthorityClass kClasses[] = {
    AuthorityClass::OperatorInstruction, AuthorityClass::RuntimeInstruction,
    AuthorityClass::IntegrationSignal, AuthorityClass::ExternalEvidence};

template <class T>
concept HasTrust = requires(T call) { call.trust; };

std::string verdict(AuthorityClass authority, RiskLevel risk, ExternalCalls policy,
                    std::optional<std::string> confirmation = {}) {
    const domain::ToolCall call{
        .tool = "T", .confirmation_id = std::move(confirmation), .authority_class = authority};
    const auto error = flow_refusal(call, risk, policy);
    return error ? error->kind : "runs";
}

// contract: TRUST-22
TEST(FlowPolicy, OnlyAChangeThatTheOutsideAsksForIsHeldBack) {
    struct Row {
        ExternalCalls policy;
        std::string_view for_change;
    };
    for (const auto& [policy, for_change] :
         {Row{ExternalCalls::Allow, "runs"}, Row{ExternalCalls::Refuse, "untrusted_instructions"},
          Row{ExternalCalls::Ask, "needs_operator_approval"}})
        for (const auto authority : kClasses)
            for (const auto risk : {RiskLevel::ReadOnly, RiskLevel::Writes, RiskLevel::Commands}) {
                const bool is_outside = authority == AuthorityClass::IntegrationSignal ||
                                        authority == AuthorityClass::ExternalEvidence;
                EXPECT_EQ(verdict(authority, risk, policy),
                          is_outside && risk != RiskLevel::ReadOnly ? for_change : "runs")
                    << base::enum_name(authority) << " " << base::enum_name(risk);
            }
}

// A call has no trust level that a policy could switch on; what it may do follows from the class.
// contract: TRUST-20
TEST(FlowPolicy, SwitchesOnTheAuthorityClassAndOnNoTrustLevel) {
    static_assert(!HasTrust<domain::ToolCall>);
    std::set<std::string> verdicts;
    for (const auto authority : kClasses)
        verdicts.insert(verdict(authority, RiskLevel::Writes, ExternalCalls::Ask));
    EXPECT_THAT(verdicts, testing::UnorderedElementsAre("runs", "needs_operator_approval"));
}

TEST(FlowPolicy, ACallThatTheOperatorHasAgreedToRuns) {
    for (const auto policy : {ExternalCalls::Refuse, ExternalCalls::Ask})
        EXPECT_EQ(verdict(AuthorityClass::ExternalEvidence, RiskLevel::Commands, policy, "c-1"),
                  "runs");
}

TEST(FlowPolicy, ARefusalSaysWhatWhyAndWhoCanAllowIt) {
    const auto error =
        flow_refusal({.tool = "ExecCommand", .authority_class = AuthorityClass::ExternalEvidence},
                     RiskLevel::Commands, ExternalCalls::Refuse)
            .value();
    EXPECT_THAT(error.message, testing::AllOf(HasSubstr("ExecCommand was not run"),
                                              HasSubstr("external_evidence")));
    EXPECT_THAT(*error.recovery_hint, HasSubstr("policy.external_calls"));
    EXPECT_FALSE(error.retryable);
}

class FakeProposals final : public Proposals {
public:
    base::Result<std::string> propose(const domain::ToolCall& call,
                                      const ExecutionContext&) override {
        asked.push_back(call);
        if (fails) return base::fail(base::ErrorCode::Refused, "too many questions wait already");
        return "run-7";
    }
    std::vector<domain::ToolCall> asked;
    bool fails{false};
};

class ProposalTest : public testing::Test {
protected:
    ProposalTest() {
        auto tool = std::make_unique<FakeTool>("EchoText");
        tool_ = tool.get();
        registry_.add(std::move(tool));
    }
    Dispatched dispatched(Proposals* proposals, AuthorityClass authority) {
        Dispatcher dispatcher({.registry = registry_,
                               .clock = clock_,
                               .ids = ids_,
                               .external_calls = [](const auto&) { return ExternalCalls::Ask; },
                               .proposals = proposals,
                               .loop = &loop_});
        const ExecutionContext place{.agent_id = {"main"}, .agent_home = "/home/main"};
        std::optional<Dispatched> end;
        const auto running =
            dispatcher.dispatch(dispatcher.describe({.call_id = {"call-1"},
                                                     .tool = "EchoText",
                                                     .args = {{"text", "hi"}},
                                                     .authority_class = authority},
                                                    place),
                                domain::ProfilePreset::PublicNamed, place, [&](Dispatched done) {
                                    end = std::move(done);
                                    loop_.stop();
                                });
        if (running) running->cancel();
        while (!end) loop_.run();
        return std::move(end).value();
    }

    base::AsioLoop loop_;
    base::SystemClock clock_;
    base::RandomIds ids_{clock_, 7};
    Registry registry_;
    FakeTool* tool_{nullptr};
    FakeProposals proposals_;
};

TEST_F(ProposalTest, ACallIsPutToTheOperatorAndNotRun) {
    const auto end = dispatched(&proposals_, AuthorityClass::IntegrationSignal);
    EXPECT_EQ(end.envelope.error().kind, "needs_operator_approval");
    EXPECT_EQ(base::string_at(*end.envelope.error().details, "proposal_id"), "run-7");
    EXPECT_THAT(end.receipt, HasSubstr("sent to the operator for approval as run-7"));
    EXPECT_EQ(end.result.error->code, "POLICY_DENIED");
    ASSERT_EQ(proposals_.asked.size(), 1U);
    EXPECT_EQ(proposals_.asked[0].call_id.value, "call-1");
    EXPECT_TRUE(tool_->calls.empty());
}

TEST_F(ProposalTest, WhereNobodyCanBeAskedItIsRefused) {
    const auto alone = dispatched(nullptr, AuthorityClass::ExternalEvidence);
    EXPECT_EQ(alone.envelope.error().kind, "untrusted_instructions");
    proposals_.fails = true;
    const auto full = dispatched(&proposals_, AuthorityClass::ExternalEvidence);
    EXPECT_EQ(full.envelope.error().kind, "untrusted_instructions");
    EXPECT_THAT(full.envelope.error().message, HasSubstr("too many questions wait already"));
    EXPECT_TRUE(tool_->calls.empty());
}

TEST_F(ProposalTest, TheMarkOfACredentialIsNotWrittenOverIt) {
    scan::know({"sk-live-0123456789abcdef"});
    const domain::ToolCall call{.tool = "T",
                                .args = {{"text", std::string(scan::kCredentialMark)}}};
    EXPECT_EQ(mark_refusal(call, RiskLevel::Writes)->kind, "credential_withheld");
    EXPECT_EQ(mark_refusal(call, RiskLevel::ReadOnly), std::nullopt);
    scan::know_nothing();
    EXPECT_EQ(mark_refusal(call, RiskLevel::Writes), std::nullopt);
}

// What the dispatcher gives back in any form is free of them, however they are spelled.
TEST_F(ProposalTest, NoFormOfAResultHoldsAKnownCredential) {
    const std::string secret = "sk-live-0123456789abcdef";
    scan::know({secret});
    Dispatcher dispatcher({.registry = registry_, .clock = clock_, .ids = ids_});
    const ExecutionContext place{.agent_id = {"main"}, .agent_home = "/home/main"};
    std::optional<Dispatched> end;
    const auto call = dispatcher.describe(
        {.call_id = {"call-1"}, .tool = "EchoText", .args = {{"text", "hi"}}}, place);
    dispatcher.dispatch(call, domain::ProfilePreset::PublicNamed, place,
                        [&](Dispatched done) { end = std::move(done); });
    Outcome outcome{.completed = std::make_unique<EchoOutput>("key: " + secret)};
    outcome.effects.created.push_back({.path = "/tmp/" + secret});
    tool_->dones.back()(std::move(outcome));
    ASSERT_TRUE(end.has_value());
    const std::string all = end->receipt + base::json_text(end->envelope.to_json()) +
                            base::json_text(base::to_json(end->result));
    EXPECT_THAT(all, testing::Not(HasSubstr(secret)));
    EXPECT_THAT(end->receipt, HasSubstr("key: [redacted:known-credential]"));
    EXPECT_EQ(end->result.data_hash, domain::args_hash(*end->result.data));

    const auto refused = dispatcher.without_running(call, {.kind = "x", .message = "no " + secret},
                                                    domain::ResultStatus::Error);
    EXPECT_THAT(refused.receipt, testing::Not(HasSubstr(secret)));
    scan::know_nothing();
}

}  // namespace
}  // namespace tools
