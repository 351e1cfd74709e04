#include "exec/tools/dispatcher.h"

#include "base/hash.h"
#include "base/text.h"
#include "exec/tools/fake_tool_for_test.h"

#include <gmock/gmock.h>

namespace tools {
namespace {

using domain::ProfilePreset;
using domain::ResultStatus;
using domain::ToolError;

class DispatcherTest : public testing::Test {
protected:
    DispatcherTest() {
        auto tool = std::make_unique<FakeTool>("EchoText");
        tool_ = tool.get();
        registry_.add(std::move(tool));
        auto creator = std::make_unique<FakeTool>("Expand", Family::AuthorityExpanding);
        creator->spec_to_change().repeatable = true;
        creator_ = creator.get();
        registry_.add(std::move(creator));
        dispatcher_.emplace(
            tools::DispatcherParts{.registry = registry_, .clock = clock_, .ids = ids_});
    }

    Asked asked(std::string tool, json::value args) const {
        return {.call_id = {"call-1"},
                .run_id = {"run-1"},
                .step_id = "round-1.1",
                .source = domain::CallSource::PlanStep,
                .tool = std::move(tool),
                .args = std::move(args),
                .authority_class = domain::AuthorityClass::RuntimeInstruction};
    }
    domain::ToolCall call(std::string tool, json::value args) const {
        return dispatcher_->describe(asked(std::move(tool), std::move(args)), place_);
    }
    domain::ToolCall echo() const { return call("EchoText", {{"text", "hi"}}); }

    // Dispatches and expects an end before dispatch() returns: a refusal.
    Dispatched refused(const domain::ToolCall& call,
                       ProfilePreset profile = ProfilePreset::PublicNamed) {
        std::optional<Dispatched> end;
        EXPECT_EQ(
            dispatcher_->dispatch(call, profile, place_, [&](Dispatched d) { end = std::move(d); }),
            nullptr);
        EXPECT_TRUE(end.has_value());
        return std::move(end).value();
    }
    // Dispatches echo() and lets the tool end with `outcome`.
    Dispatched ended(Outcome outcome) {
        std::optional<Dispatched> end;
        const auto running = dispatcher_->dispatch(echo(), ProfilePreset::PublicNamed, place_,
                                                   [&](Dispatched d) { end = std::move(d); });
        EXPECT_NE(running, nullptr);
        EXPECT_FALSE(end.has_value());
        tool_->dones.back()(std::move(outcome));
        return std::move(end).value();
    }

    // The result of echo() as far as every outcome shares it.
    static domain::ToolResult result_base() {
        return {.call_id = {"call-1"},
                .run_id = {"run-1"},
                .step_id = "round-1.1",
                .tool = "EchoText",
                .attempt = 1};
    }

    TickingClock clock_;
    base::RandomIds ids_{clock_, 7};
    Registry registry_;
    FakeTool* tool_{nullptr};
    FakeTool* creator_{nullptr};
    std::optional<Dispatcher> dispatcher_;
    ExecutionContext place_{.agent_id = {"default"},
                            .agent_home = "/home/default",
                            .workspace = {.execution_root = "/repo", .cwd = "/repo/src"}};
};

// contract: CALL-05, CALL-07
TEST_F(DispatcherTest, DescribesACallWithItsProvenanceRiskAndPolicy) {
    const domain::ToolCall expected{.call_id = {"call-1"},
                                    .run_id = {"run-1"},
                                    .step_id = "round-1.1",
                                    .agent_id = {"default"},
                                    .source = domain::CallSource::PlanStep,
                                    .tool = "EchoText",
                                    .args = {{"text", "hi"}},
                                    .args_hash = "sha256:" + base::sha256_hex(R"({"text":"hi"})"),
                                    .attempt = 1,
                                    .cancellable = true,
                                    .created_at = base::from_micros(5'000'000),
                                    .executor_version = HOLON_VERSION,
                                    .tool_registry_version = registry_.version(),
                                    .risk_level = domain::RiskLevel::Writes,
                                    .category = "echo",
                                    .policy = {.sandbox = {.allowed_roots = {"/repo"}}},
                                    .authority_class = domain::AuthorityClass::RuntimeInstruction};
    clock_.next = base::from_micros(5'000'000);
    EXPECT_EQ(echo(), expected);
}

// contract: CALL-02
TEST_F(DispatcherTest, HashesArgsWhateverTheOrderOfTheirKeys) {
    const auto hash = [&](std::string_view args) {
        return call("EchoText", base::parse_json(args).value()).args_hash;
    };
    const std::string one = hash(R"({"text":"hi","more":{"a":[1,2],"b":null}})");
    EXPECT_EQ(hash(R"({"more":{"b":null,"a":[1,2]},"text":"hi"})"), one);
    EXPECT_NE(hash(R"({"text":"hi","more":{"a":[2,1],"b":null}})"), one);
    EXPECT_NE(hash(R"({"text":"hi"})"), one);
}

TEST_F(DispatcherTest, RefusesAToolThatDoesNotExistAndNamesTheNearest) {
    EXPECT_EQ(dispatcher_->refuse(call("EchoTxt", {}), ProfilePreset::PublicNamed),
              (ToolError{.kind = "tool_not_exposed_for_round",
                         .message = "There is no tool named EchoTxt in this round.",
                         .details = json::object{{"tool_name", "EchoTxt"}},
                         .recovery_hint = "Did you mean EchoText? Use only the tools offered."}));
    // A tool the profile lacks is not suggested.
    EXPECT_EQ(dispatcher_->refuse(call("Expands", {}), ProfilePreset::PrivateChild)->recovery_hint,
              "Use only the tools offered in this round.");
}

TEST_F(DispatcherTest, ShowsOnlyTheBeginningOfAForeignName) {
    const auto end = refused(call(std::string(100'000, 'x') + "\x1b", {}));
    EXPECT_EQ(end.envelope.tool_name(), std::string(59, 'x') + "…");
    EXPECT_LT(end.receipt.size(), 1000u);
}

TEST_F(DispatcherTest, RefusesAFamilyThatTheProfileLacks) {
    const auto spawn = call("Expand", {{"text", "hi"}});
    EXPECT_EQ(dispatcher_->refuse(spawn, ProfilePreset::PublicNamed), std::nullopt);
    EXPECT_EQ(dispatcher_->refuse(spawn, ProfilePreset::PrivateChild),
              (ToolError{.kind = "unsupported_agent_profile_capability",
                         .message = "This agent's profile does not include Expand.",
                         .details = json::object{{"tool_name", "Expand"},
                                                 {"required_family", "authority_expanding"},
                                                 {"profile_preset", "private_child"}},
                         .recovery_hint =
                             "Ask an agent whose profile has this family, or do without it."}));
    EXPECT_EQ(refused(spawn, ProfilePreset::PrivateChild).result.error->code, "POLICY_DENIED");
    EXPECT_TRUE(creator_->calls.empty());
}

// contract: CALL-08, ENV-07, TERR-06
TEST_F(DispatcherTest, NeverHandsInputToAToolThatDoesNotFitItsSchema) {
    const auto end = refused(call("EchoText", {{"times", "two"}}));
    const std::string faults = R"(/text: is required; /times: expected integer, got "two")";
    const ToolError error{
        .kind = "invalid_tool_input",
        .message = "The input does not fit EchoText's schema: " + faults,
        .details =
            json::object{{"tool_name", "EchoText"}, {"parse_error", faults}, {"field", "text"}},
        .recovery_hint = "Send the input again exactly as the tool's schema describes it."};
    EXPECT_EQ(end.envelope, results::Envelope::failure("EchoText", error));
    EXPECT_EQ(end.receipt, results::render_error(end.envelope));
    domain::ToolResult expected = result_base();
    expected.status = ResultStatus::Error;
    expected.ok = false;
    auto details = error.details->get_object();
    details["hint"] = *error.recovery_hint;
    expected.error = {.code = "VALIDATION_ERROR",
                      .message = error.message,
                      .details = std::move(details),
                      .retryable = false};
    expected.started_at = expected.ended_at = end.result.started_at;
    expected.user_message = error.message;
    expected.debug_message = "EchoText error (round-1.1)";
    EXPECT_EQ(end.result, expected);
    EXPECT_TRUE(tool_->calls.empty());
}

TEST_F(DispatcherTest, KeepsTheParseErrorHoweverManyFaultsThereAre) {
    json::object args{{"text", "hi"}};
    for (int i = 0; i < 50; ++i) args[std::string(200, '"') + std::to_string(i)] = i;
    const auto error = dispatcher_->refuse(call("EchoText", args), ProfilePreset::PublicNamed);
    ASSERT_TRUE(error.has_value());
    const auto envelope = results::Envelope::failure("EchoText", *error);
    EXPECT_EQ(envelope.error(), *error);
    EXPECT_LE(base::char_count(base::string_at(*error->details, "parse_error")), 400u);
}

TEST_F(DispatcherTest, AsksTheToolForFaultsThatASchemaCannotExpress) {
    const auto end = refused(call("EchoText", {{"text", "forbidden"}}));
    EXPECT_EQ(
        end.envelope,
        results::Envelope::failure(
            "EchoText", {.kind = "invalid_tool_input",
                         .message = "text must not be forbidden",
                         .details = json::object{{"tool_name", "EchoText"},
                                                 {"validation_error", "text must not be forbidden"},
                                                 {"field", "text"}},
                         .recovery_hint = "Say another word."}));
    EXPECT_TRUE(tool_->calls.empty());
}

TEST_F(DispatcherTest, HandsAnObjectOnlyAndNothingElseToATool) {
    for (const json::value& args :
         {json::value(nullptr), json::value("hi"), json::value(json::array{})}) {
        const auto end = refused(call("EchoText", args));
        EXPECT_EQ(end.result.error->code, "VALIDATION_ERROR") << base::json_text(args);
    }
    EXPECT_TRUE(tool_->calls.empty());
}

// contract: RES-01, RES-05
TEST_F(DispatcherTest, ReportsASuccessWithDataTimesEffectsAndRequests) {
    const domain::Effects effects{.side_effects_observed = true, .created = {{"a.txt"}}};
    clock_.next = base::from_micros(0);  // describe() takes 0, the start 1500, the end 3000.
    const auto end = ended({.completed = std::make_unique<EchoOutput>("hi"),
                            .effects = effects,
                            .mutations = {FollowUp{.text = "again"}}});
    domain::ToolResult expected = result_base();
    expected.data = json::object{{"text", "hi"}};
    expected.data_hash = "sha256:" + base::sha256_hex(R"({"text":"hi"})");
    expected.started_at = base::from_micros(1500);
    expected.ended_at = base::from_micros(3000);
    expected.duration_ms = 1;
    expected.effects = effects;
    expected.user_message = "Echoed hi";
    expected.debug_message = "EchoText ok (round-1.1)";
    EXPECT_EQ(end.result, expected);
    EXPECT_EQ(end.envelope, results::Envelope::success("EchoText", "Echoed hi", {{"text", "hi"}}));
    EXPECT_EQ(end.receipt, "Echo: hi");
    EXPECT_EQ(end.mutations, (std::vector<Mutation>{FollowUp{.text = "again"}}));
}

// contract: RES-02, RES-04
TEST_F(DispatcherTest, HasAnErrorForEveryStatusButOk) {
    const ToolError broken{.kind = "x", .message = "It broke.", .retryable = true};
    struct Case {
        ResultStatus told;  // By the tool.
        bool has_output;
        ResultStatus status;
        std::optional<domain::ResultError> error;
    };
    const std::vector<Case> cases{
        {ResultStatus::Ok, true, ResultStatus::Ok, std::nullopt},
        {ResultStatus::Ok, false, ResultStatus::Error, {{"INTERNAL_ERROR", "It broke.", {}, true}}},
        {ResultStatus::Timeout, true, ResultStatus::Timeout, {{"TIMEOUT", "Echoed hi", {}, false}}},
        {ResultStatus::Timeout, false, ResultStatus::Timeout, {{"TIMEOUT", "It broke.", {}, true}}},
        {ResultStatus::Cancelled,
         true,
         ResultStatus::Cancelled,
         {{"CANCELLED", "Echoed hi", {}, false}}},
        {ResultStatus::Cancelled,
         false,
         ResultStatus::Cancelled,
         {{"CANCELLED", "It broke.", {}, true}}},
    };
    for (const auto& [told, has_output, status, error] : cases) {
        Outcome outcome{.completed = std::unexpected(broken), .status = told};
        if (has_output) outcome.completed = std::make_unique<EchoOutput>("hi");
        const auto end = ended(std::move(outcome));
        const std::string_view name = base::enum_name(status);
        EXPECT_EQ(end.result.status, status) << name;
        EXPECT_EQ(end.result.ok, status == ResultStatus::Ok) << name;
        EXPECT_EQ(end.result.data.has_value(), end.result.ok) << name;
        EXPECT_EQ(end.result.error, error) << name;
        EXPECT_EQ(end.envelope.ok(), has_output) << name;
    }
}

// contract: RES-02
TEST_F(DispatcherTest, MakesAResultForACallThatDidNotRun) {
    const ToolError error{.kind = "step_skipped", .message = "An earlier step failed."};
    clock_.next = base::from_micros(0);
    const auto end = dispatcher_->without_running(echo(), error, ResultStatus::Skipped);
    domain::ToolResult expected = result_base();
    expected.status = ResultStatus::Skipped;
    expected.ok = false;
    expected.error = {.code = "INTERNAL_ERROR", .message = error.message, .retryable = false};
    expected.started_at = expected.ended_at = base::from_micros(1500);
    expected.user_message = "An earlier step failed.";
    expected.debug_message = "EchoText skipped (round-1.1)";
    EXPECT_EQ(end.result, expected);
    EXPECT_EQ(end.envelope, results::Envelope::failure("EchoText", error));
    EXPECT_TRUE(tool_->calls.empty());
}

TEST_F(DispatcherTest, GivesEachKindOfErrorItsCode) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"invalid_tool_input", "VALIDATION_ERROR"},
        {"invalid_patch_syntax", "VALIDATION_ERROR"},
        {"unsupported_git_patch_feature", "VALIDATION_ERROR"},
        {"missing_file", "NOT_FOUND"},
        {"execution_root_violation", "POLICY_DENIED"},
        {"path_escape", "POLICY_DENIED"},
        {"tool_not_exposed_for_round", "POLICY_DENIED"},
        {"unsupported_agent_profile_capability", "POLICY_DENIED"},
        {"existing_file", "CONFLICT"},
        {"file_changed", "CONFLICT"},
        {"context_not_found", "PRECONDITION_FAILED"},
        {"ambiguous_context", "PRECONDITION_FAILED"},
        {"unsupported_file_type", "PRECONDITION_FAILED"},
        {"command_spawn_failed", "INTERNAL_ERROR"},
        {"artifact_write_failed", "INTERNAL_ERROR"}};
    for (const auto& [kind, code] : cases)
        EXPECT_EQ(dispatcher_
                      ->without_running(echo(), {.kind = kind, .message = "m"}, ResultStatus::Error)
                      .result.error->code,
                  code)
            << kind;
}

// contract: RES-07
TEST_F(DispatcherTest, KeepsTheUserMessageShortAndSafeToShow) {
    const auto end =
        ended({.completed = std::make_unique<EchoOutput>("\x1b[31m" + std::string(1000, 'x'))});
    EXPECT_THAT(end.result.user_message, testing::StartsWith(R"(Echoed \x1b[31mxxx)"));
    EXPECT_LE(base::char_count(end.result.user_message), 210u);
}

TEST_F(DispatcherTest, NamesArtifactsAfterTheTool) {
    ended({.completed = std::make_unique<EchoOutput>("hi")});
    EXPECT_EQ(tool_->artifact.parent_path(), "/home/default/tool-artifacts");
    EXPECT_THAT(tool_->artifact.filename().string(),
                testing::MatchesRegex("echo-text-[0-9a-f]{32}-stdout\\.log"));
}

TEST_F(DispatcherTest, RepeatsOnlyWhatTouchesNothing) {
    EXPECT_FALSE(dispatcher_->is_repeatable("EchoText"));
    EXPECT_TRUE(dispatcher_->is_repeatable("Expand"));
    EXPECT_TRUE(dispatcher_->is_repeatable("Unknown"));
}

TEST_F(DispatcherTest, ACallOfAToolThatIsGoneMayHaveRun) {
    auto call = echo();
    call.tool = "Unknown";
    EXPECT_TRUE(dispatcher_->is_repeatable(call));  // Made with these tools, it was refused.
    call.tool_registry_version = "another";
    EXPECT_FALSE(dispatcher_->is_repeatable(call));
    EXPECT_FALSE(dispatcher_->is_repeatable(echo()));
}

// contract: RES-03
TEST_F(DispatcherTest, ASuccessThatBreaksTheToolsOwnPromiseIsAFaultOfTheTool) {
    tool_->spec_to_change().output_schema = {{"type", "object"}, {"required", {"count"}}};
    const auto end = ended({.completed = std::make_unique<EchoOutput>("hi")});
    EXPECT_EQ(end.result.status, ResultStatus::Error);
    ASSERT_TRUE(end.result.error);
    EXPECT_EQ(end.result.error->code, "INTERNAL_ERROR");
    EXPECT_EQ(end.envelope.error().kind, "invalid_tool_output");
    EXPECT_FALSE(end.result.data);
}

// Answers when the test says so.
class FakeGate final : public ResultGate {
public:
    domain::GatePolicy policy(const domain::ToolCall&, Family family, RunsBehind) const override {
        return family == Family::CoreAgent ? domain::GatePolicy::Enforce : domain::GatePolicy::Off;
    }
    void judge(FinishedCall call, std::move_only_function<void(GateAnswer)> done) override {
        asked.push_back(call.call.tool);
        behind.push_back(call.runs_behind);
        dones.push_back(std::move(done));
    }
    std::vector<std::string> asked;
    std::vector<RunsBehind> behind;
    std::vector<std::move_only_function<void(GateAnswer)>> dones;
};

class GatedDispatcher : public DispatcherTest {
protected:
    GatedDispatcher() {
        dispatcher_.emplace(
            DispatcherParts{.registry = registry_, .clock = clock_, .ids = ids_, .gate = &gate_});
    }
    FakeGate gate_;
};

TEST_F(GatedDispatcher, AResultWaitsForItsVerdictAndCarriesIt) {
    tool_->spec_to_change().runs_behind = RunsBehind::SharedBoundary;
    std::optional<Dispatched> end;
    const auto running = dispatcher_->dispatch(echo(), ProfilePreset::PublicNamed, place_,
                                               [&](Dispatched d) { end = std::move(d); });
    tool_->dones.back()({.completed = std::make_unique<EchoOutput>("hi")});
    EXPECT_FALSE(end);
    EXPECT_EQ(gate_.behind, std::vector{RunsBehind::SharedBoundary});
    gate_.dones.at(0)({.mark = {.outcome = domain::GateOutcome::Accept, .document_ids = {"TS-1"}}});
    ASSERT_TRUE(end);
    EXPECT_EQ(end->receipt, "Echo: hi");
    EXPECT_EQ(end->result.gate->document_ids, std::vector<std::string>{"TS-1"});
}

TEST_F(GatedDispatcher, OfARejectedResultOnlyItsEffectsAndWishesGoOn) {
    std::optional<Dispatched> end;
    const auto running = dispatcher_->dispatch(echo(), ProfilePreset::PublicNamed, place_,
                                               [&](Dispatched d) { end = std::move(d); });
    tool_->dones.back()({.completed = std::make_unique<EchoOutput>("top secret"),
                         .effects = {.created = {{.path = "made"}}},
                         .mutations = {FollowUp{"later"}, ResultRead{{"t1"}}}});
    gate_.dones.at(0)(
        {.instead = ToolError{.kind = std::string(kResultRejected), .message = "rejected"}});
    ASSERT_TRUE(end);
    EXPECT_FALSE(end->result.ok);
    EXPECT_EQ(end->result.error->code, "POLICY_DENIED");
    EXPECT_FALSE(end->result.data);
    EXPECT_EQ(end->result.effects.created.size(), 1U);
    EXPECT_EQ(end->mutations, (std::vector<Mutation>{FollowUp{"later"}}));
    for (const auto& text : {base::json_text(base::to_json(end->result)), end->receipt,
                             base::json_text(end->envelope.to_json())})
        EXPECT_EQ(text.find("top secret"), std::string::npos) << text;
}

TEST_F(GatedDispatcher, FamiliesThatAreOffAndCallsThatNeverRanAreNotAsked) {
    refused(call("EchoText", {{"text", 1}}));
    std::optional<Dispatched> end;
    const auto running =
        dispatcher_->dispatch(call("Expand", {{"text", "x"}}), ProfilePreset::PublicNamed, place_,
                              [&](Dispatched d) { end = std::move(d); });
    creator_->dones.back()({.completed = std::make_unique<EchoOutput>("x")});
    EXPECT_TRUE(end);
    EXPECT_FALSE(end->result.gate);
    EXPECT_TRUE(gate_.asked.empty());
}

// Offloaded work waits until the test runs it.
class SteppedLoop final : public base::Loop {
public:
    void post(base::Job job) override { jobs.push_back(std::move(job)); }
    TimerHandle after(std::chrono::microseconds, base::Job) override { return TimerHandle::None; }
    TimerHandle at(base::Time, base::Job) override { return TimerHandle::None; }
    void cancel(TimerHandle) override {}
    void offload(base::Job work, base::Job done) override {
        post([work = std::move(work), done = std::move(done)]() mutable {
            work();
            done();
        });
    }
    void run() {
        for (auto& job : std::exchange(jobs, {})) job();
    }
    std::vector<base::Job> jobs;
};

// Stores its text as an artifact, or fails as a broken tool does.
struct StoredOutput final : results::Output {
    explicit StoredOutput(bool broken) : broken(broken) {}
    bool broken;
    base::Result<results::Canonical> project(results::ArtifactSink& sink,
                                             const results::OutputPolicy&) const override {
        if (broken) throw std::runtime_error("no such member");
        return results::Canonical{"Stored", {{"text", TRY(sink.store("stdout", "whole"))}}};
    }
};

class BackgroundResult : public DispatcherTest {
protected:
    BackgroundResult() {
        place_.agent_home = testing::TempDir() + "holon_background_result";
        std::filesystem::remove_all(place_.agent_home);
        dispatcher_.emplace(
            DispatcherParts{.registry = registry_, .clock = clock_, .ids = ids_, .loop = &loop_});
        running_ = dispatcher_->dispatch(echo(), ProfilePreset::PublicNamed, place_,
                                         [this](Dispatched d) { end_ = std::move(d); });
    }
    SteppedLoop loop_;
    std::optional<Dispatched> end_;
    std::shared_ptr<Running> running_;
};

TEST_F(BackgroundResult, ArtifactsAreWrittenThereAndTheResultIsDeliveredOnTheLoop) {
    tool_->dones.back()({.completed = std::make_unique<StoredOutput>(false)});
    EXPECT_FALSE(end_);
    EXPECT_FALSE(std::filesystem::exists(place_.agent_home)) << "nothing is written yet";
    running_->cancel();  // Too late: the tool is done.
    loop_.run();
    ASSERT_TRUE(end_);
    EXPECT_EQ(end_->result.status, ResultStatus::Ok);
    EXPECT_TRUE(std::filesystem::exists(base::string_at(end_->envelope.result(), "text")));
    EXPECT_GT(end_->result.ended_at, end_->result.started_at);
}

TEST_F(BackgroundResult, AProjectionThatFailsIsAFailedCallAndNotALostOne) {
    tool_->dones.back()({.completed = std::make_unique<StoredOutput>(true)});
    loop_.run();
    ASSERT_TRUE(end_);
    EXPECT_EQ(end_->envelope.error().kind, "tool_execution_failed");
    EXPECT_THAT(end_->envelope.error().message, testing::HasSubstr("no such member"));
}

}  // namespace
}  // namespace tools
