#include "app/sandbox.h"

#include <gmock/gmock.h>

#include <stdlib.h>

#include <fstream>

#include "config/stored.h"

namespace app {
namespace {

using sandbox::Backend;

class SandboxOfAHome : public testing::Test {
protected:
    static std::filesystem::path fresh_home() {
        std::string pattern = testing::TempDir() + "holon-sandbox-XXXXXX";
        return mkdtemp(pattern.data());
    }
    SandboxOfAHome() { config_.home = fresh_home(); }
    ~SandboxOfAHome() override { std::filesystem::remove_all(config_.home); }

    void make_old() { std::ofstream(config_.database()) << "rows"; }
    void store(const json::object& document) {
        ASSERT_TRUE(config::write_document(config_.home, document));
    }
    json::object stored() { return config::read_document(config_.home).value(); }
    Backend& backend() { return config_.sandboxes.general.settings.backend; }

    config::Config config_;
};

TEST_F(SandboxOfAHome, ThatIsNewIsKeptInItsSettings) {
    backend() = Backend::Bubblewrap;
    ASSERT_TRUE(keep_sandbox(config_));
    EXPECT_EQ(base::string_at(stored().at("sandbox"), "backend"), "bubblewrap");
    EXPECT_TRUE(stored().at("sandbox").as_object().contains("network"));
}

TEST_F(SandboxOfAHome, ThatTheOperatorHasChosenIsNotReplaced) {
    const json::object chosen{{"sandbox", {{"backend", "host_local"}}}};
    store(chosen);
    backend() = Backend::Bubblewrap;  // Of the command line.
    ASSERT_TRUE(keep_sandbox(config_));
    EXPECT_EQ(stored(), chosen);
}

TEST_F(SandboxOfAHome, ThatIsOldOrUnconfinedIsNotWritten) {
    backend() = Backend::HostLocal;
    ASSERT_TRUE(keep_sandbox(config_));
    EXPECT_EQ(stored(), json::object{});
    make_old();
    backend() = Backend::Bubblewrap;
    ASSERT_TRUE(keep_sandbox(config_));
    EXPECT_EQ(stored(), json::object{});
}

TEST_F(SandboxOfAHome, ThatIsOldStaysAsItIs) {
    make_old();
    const auto before = config_.sandboxes;
    EXPECT_THAT(choose_sandbox(config_, std::nullopt, "").value(), testing::IsEmpty());
    EXPECT_EQ(config_.sandboxes, before);
}

TEST_F(SandboxOfAHome, TheCommandLineDecidesForAllAgentsAndForThisProcessOnly) {
    make_old();
    const json::object confined{
        {"sandbox", {{"backend", "bubblewrap"}, {"network", "none"}}},
        {"agents", {{"careful", {{"sandbox", {{"backend", "bubblewrap"}}}}}}}};
    store(confined);
    ASSERT_TRUE(choose_sandbox(config_, "none", ""));
    EXPECT_EQ(backend(), Backend::HostLocal);
    EXPECT_EQ(config_.sandboxes.of("careful").settings.backend, Backend::HostLocal);
    EXPECT_EQ(stored(), confined);
}

TEST_F(SandboxOfAHome, ThatConfinesNothingIsReportedWhereCommandsRun) {
    backend() = Backend::HostLocal;
    EXPECT_THAT(boundary_note(config_), testing::HasSubstr("unconfined"));
    config_.sandboxes.general.allow_processes = false;
    EXPECT_EQ(boundary_note(config_), "");
}

}  // namespace
}  // namespace app
