#include "exec/tools/policy/policy.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include "exec/tools/policy/path_rules.h"

namespace tools {
namespace {

using domain::RiskLevel;
using testing::HasSubstr;

class Policy : public testing::Test {
protected:
    Policy() {
        std::string name = (std::filesystem::temp_directory_path() / "policy-XXXXXX").string();
        CHECK(mkdtemp(name.data()) != nullptr, "no folder");
        root = std::filesystem::canonical(name);
        std::filesystem::create_directories(root / "Notes");
        std::filesystem::create_directory_symlink("/etc", root / "way-out");
        call.tool = "t";
        call.policy.sandbox = {
            .enabled = true, .allowed_roots = {root}, .deny_patterns = {"://", "*.key"}};
    }
    ~Policy() override { std::filesystem::remove_all(root); }

    std::string refusal(json::object args) {
        call.args = std::move(args);
        const auto error = policy_refusal(call, root);
        if (!error) return "";
        EXPECT_EQ(error->kind, "policy_denied");
        return error->message;
    }

    std::filesystem::path root;
    domain::ToolCall call;
};

TEST_F(Policy, LetsPathsInsideTheRootsThrough) {
    EXPECT_EQ(refusal({{"path", "Notes/a.md"}}), "");
    EXPECT_EQ(refusal({{"path", "new/deep/a..b.md"}}), "");
    EXPECT_EQ(refusal({{"path", "Notes/../Notes/a.md"}}), "");
    EXPECT_EQ(refusal({{"path", (root / "a").string()}, {"content", "https://x ../.."}}), "");
}

// contract: CALL-10
TEST_F(Policy, RefusesPathsThatLeaveTheRoots) {
    for (const char* path : {"../a", "/etc/passwd", "Notes/../../a", "way-out/passwd"})
        EXPECT_THAT(refusal({{"path", path}}), HasSubstr("outside the allowed roots")) << path;
    EXPECT_THAT(refusal({{"from", "a"}, {"to", "../b"}}), HasSubstr("outside"));
    EXPECT_THAT(refusal({{"paths", json::array{"a", "/b"}}}), HasSubstr("outside"));
}

// contract: CALL-10
TEST_F(Policy, RefusesDeniedPatternsInPathsAndCommands) {
    EXPECT_THAT(refusal({{"path", "http://x"}}), HasSubstr("denied pattern '://'"));
    EXPECT_THAT(refusal({{"path", "Notes/id.key"}}), HasSubstr("denied pattern '*.key'"));
    EXPECT_THAT(refusal({{"cmd", "curl ftp://x"}}), HasSubstr("denied pattern"));
    EXPECT_EQ(refusal({{"text", "http://x"}}), "");
}

TEST_F(Policy, RepeatsNoSecretOfACommandOrAUrl) {
    EXPECT_EQ(refusal({{"cmd", "curl -H 'Authorization: Bearer s3cret' ftp://x"}}),
              "The command matches the denied pattern '://'.");
    EXPECT_EQ(refusal({{"items", json::array{json::object{{"cmd", "get ftp://me:s3cret@x"}}}}}),
              "The command matches the denied pattern '://'.");
    EXPECT_EQ(refusal({{"path", "ftp://me:s3cret@host/a"}}),
              "'ftp://…@host/a' matches the denied pattern '://'.");
    EXPECT_LT(refusal({{"path", "/" + std::string(5'000, 'a')}}).size(), 400U);
}

// contract: CALL-10
TEST_F(Policy, RefusesARiskAboveTheAllowedLevel) {
    call.policy.max_risk_level = RiskLevel::Writes;
    call.risk_level = RiskLevel::Writes;
    EXPECT_EQ(refusal({}), "");
    call.risk_level = RiskLevel::Commands;
    EXPECT_THAT(refusal({}), HasSubstr("risk commands"));
}

TEST_F(Policy, RefusesAChangeWithoutTheApprovalThatIsAskedFor) {
    call.policy.confirmations_required = true;
    EXPECT_EQ(refusal({}), "");
    call.risk_level = RiskLevel::Writes;
    EXPECT_THAT(refusal({}), HasSubstr("needs an approval"));
    call.confirmation_id = "c";
    EXPECT_EQ(refusal({}), "");
}

// contract: CALL-10
TEST_F(Policy, JudgesThePathsThatAToolFindsInsideItsArgs) {
    call.args = json::object{{"patch", "x"}};
    EXPECT_FALSE(policy_refusal(call, root, {(root / "Notes/a.md").string()}));
    EXPECT_TRUE(policy_refusal(call, root, {"/etc/passwd"}));
    EXPECT_TRUE(policy_refusal(call, root, {(root / "id.key").string()}));
    EXPECT_THAT(refusal({{"items", json::array{json::object{{"cmd", "ls ftp://x"}}}}}),
                HasSubstr("denied pattern"));
    EXPECT_THAT(refusal({{"items", json::array{json::object{{"workdir", ".."}}}}}),
                HasSubstr("outside"));
}

TEST_F(Policy, RulesKnowWhatLiesInTheRootsAndWhatLeadsThere) {
    const PathRules rules(
        {.enabled = true, .allowed_roots = {"Notes"}, .deny_patterns = {"Notes/p*"}}, root);
    EXPECT_TRUE(rules.allows("Notes"));
    EXPECT_TRUE(rules.allows("Notes/a/b.md"));
    EXPECT_FALSE(rules.allows("Notes/private/b.md"));
    EXPECT_FALSE(rules.allows("Notes2/b.md"));
    EXPECT_FALSE(rules.allows(""));
    EXPECT_TRUE(rules.leads_to_allowed(""));
    EXPECT_FALSE(rules.leads_to_allowed("Other"));
    EXPECT_FALSE(rules.allow_all());
    EXPECT_TRUE(
        PathRules({.enabled = true, .allowed_roots = {root}, .deny_patterns = {"://"}}, root)
            .allow_all());
}

TEST_F(Policy, LooksAtNoPathsWhereTheSandboxIsOff) {
    call.policy.sandbox.enabled = false;
    EXPECT_EQ(refusal({{"path", "/etc/passwd"}}), "");
}

}  // namespace
}  // namespace tools
