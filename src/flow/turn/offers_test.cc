// What an agent is offered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/tools/fake_tool_for_test.h"
#include "flow/turn/offers.h"

namespace turn {
namespace {

using testing::ElementsAre;

std::vector<std::string> offered(const domain::Agent& agent) {
    tools::Registry registry;
    const auto add = [&](const char* name, tools::Family family, domain::RiskLevel risk) {
        auto tool = std::make_unique<tools::FakeTool>(name, family);
        tool->spec_to_change().risk = risk;
        registry.add(std::move(tool));
    };
    add("Create", tools::Family::AuthorityExpanding, domain::RiskLevel::Writes);
    add("Patch", tools::Family::LocalEnvironment, domain::RiskLevel::Writes);
    add("Run", tools::Family::LocalEnvironment, domain::RiskLevel::Commands);
    std::vector<std::string> names;
    for (const auto& tool :
         Offers().of(registry, agent, domain::AuthorityClass::OperatorInstruction).tools)
        names.push_back(tool.name);
    return names;
}

// contract: EXEC-03
TEST(Offers, DifferBetweenAgentsOnlyAsTheirProfilesDo) {
    domain::Agent named{.agent_id = {"a"}};
    named.identity.profile_preset = domain::ProfilePreset::PublicNamed;
    EXPECT_THAT(offered(named), ElementsAre("Create", "Patch", "Run"));

    domain::Agent child = named;
    child.identity.profile_preset = domain::ProfilePreset::PrivateChild;
    EXPECT_THAT(offered(child), ElementsAre("Patch", "Run"));

    domain::Agent quiet = named;
    quiet.execution.process_execution_exposed = false;
    EXPECT_THAT(offered(quiet), ElementsAre("Create", "Patch"));

    // Where commands run, and which model is asked, is no profile.
    domain::Agent confined = named;
    confined.execution =
        domain::execution_of(domain::SandboxBackend::Bubblewrap, domain::SandboxNetwork::None);
    confined.model_override = "a/b";
    EXPECT_EQ(offered(confined), offered(named));
}

// What a model's own search asks for leaves this machine, and no call of it is seen here.
TEST(Offers, HaveNoSearchOfTheModelsOwnWhereOnlyExternalInputAsks) {
    tools::Registry registry;
    auto search = std::make_unique<tools::FakeTool>("Search", tools::Family::LocalEnvironment);
    search->spec_to_change().web_search = true;
    registry.add(std::move(search));
    Offers offers;
    const auto has_search = [&](domain::AuthorityClass authority) {
        return offers.of(registry, {.agent_id = {"a"}}, authority).tools.begin()->web_search;
    };
    EXPECT_TRUE(has_search(domain::AuthorityClass::OperatorInstruction));
    EXPECT_TRUE(has_search(domain::AuthorityClass::RuntimeInstruction));
    EXPECT_FALSE(has_search(domain::AuthorityClass::IntegrationSignal));
    EXPECT_FALSE(has_search(domain::AuthorityClass::ExternalEvidence));
}

TEST(Offers, AreMadeOnceUntilTheToolsChange) {
    tools::Registry registry;
    const auto tool = [](const char* description) {
        std::vector<std::unique_ptr<tools::Tool>> list;
        auto one = std::make_unique<tools::FakeTool>("Look", tools::Family::LocalEnvironment);
        one->spec_to_change().description = description;
        list.push_back(std::move(one));
        return list;
    };
    Offers offers;
    const auto offer = [&] {
        return offers.of(registry, {.agent_id = {"a"}},
                         domain::AuthorityClass::OperatorInstruction);
    };
    registry.replace("server", tool("Looks."));
    const auto first = offer();
    EXPECT_EQ(&offer().tools.list(), &first.tools.list());

    registry.replace("server", tool("Looks twice."));
    const auto second = offer();
    EXPECT_EQ(second.tools.begin()->description, "Looks twice.");
    EXPECT_NE(second.digest, first.digest);
    EXPECT_EQ(first.tools.begin()->description, "Looks.") << "an open turn keeps its own";
}

}  // namespace
}  // namespace turn
