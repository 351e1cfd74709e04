// `holon login` and `holon doctor --probe` against a server that takes one key and no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/e2e/program.h"
#include "tests/support/fake_model_server.h"

namespace e2e {
namespace {

using test_support::FakeModelServer;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kGoodKey = "sk-good-key-0123456789";

class Login : public testing::Test {
protected:
    Login() {
        std::filesystem::create_directories(program.home());
        program.write(program.home() / "config.json", fmt::format(R"({{"providers":{{"house":{{
            "transport":"openai_chat_completions","base_url":"{}",
            "auth":{{"source":"env","kind":"api_key","env":"HOUSE_KEY"}}}}}}}})",
                                                                  server.base_url()));
    }
    Finished login(const std::string& key, const std::string& options = "") {
        program.write(program.folder() / "key", key + "\n");
        return program.run_after("exec < " + (program.folder() / "key").string(),
                                 words("login house --model m1 " + options));
    }
    static std::vector<std::string> words(const std::string& line) {
        std::vector<std::string> list;
        std::istringstream in(line);
        for (std::string word; in >> word;) list.push_back(word);
        return list;
    }
    std::string credentials() { return program.read(program.home() / "credentials.json"); }

    FakeModelServer server;
    Program program;
};

TEST_F(Login, TriesTheKeyStoresItLinksItAndPicksTheModel) {
    server.always(test_support::says("ready"));
    const auto finished = login(kGoodKey);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    ASSERT_EQ(server.request_count(), 1U);
    EXPECT_EQ(server.requests()[0].headers.at("authorization"), std::string("Bearer ") + kGoodKey);
    EXPECT_THAT(credentials(), HasSubstr(kGoodKey));
    EXPECT_THAT(finished.out + finished.err, Not(HasSubstr(kGoodKey)));
    // The next run needs nothing else.
    const auto run = program.run({"run", "go"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(server.requests()[1].headers.at("authorization"), std::string("Bearer ") + kGoodKey);
    EXPECT_THAT(server.requests()[1].body, HasSubstr("\"m1\""));
}

TEST_F(Login, ARejectedKeyIsNotStored) {
    server.always(test_support::status_reply(401));
    const auto finished = login("sk-wrong-key-0123456789");
    EXPECT_NE(finished.exit_code, 0);
    EXPECT_THAT(finished.err, HasSubstr("house rejected this key, so nothing was stored"));
    EXPECT_FALSE(std::filesystem::exists(program.home() / "credentials.json"));
    EXPECT_THAT(program.read(program.home() / "config.json"), HasSubstr("HOUSE_KEY"));
}

TEST_F(Login, AKeyThatCouldNotBeTriedIsStoredAndSaid) {
    server.always(test_support::status_reply(400, "no such model"));
    const auto finished = login(kGoodKey, "--json");
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    const auto result = base::parse_json(finished.out).value();
    EXPECT_FALSE(base::bool_at(result, "answered", true));
    EXPECT_THAT(base::string_at(result, "problem"), HasSubstr("no such model"));
    EXPECT_THAT(credentials(), HasSubstr(kGoodKey));
}

TEST_F(Login, AnUnknownProviderIsRefusedBeforeTheKeyIsRead) {
    const auto finished = program.run({"login", "hosue"});
    EXPECT_NE(finished.exit_code, 0);
    EXPECT_THAT(finished.err, HasSubstr("did you mean house?"));
}

TEST_F(Login, ARejectedKeyIsNamedByWhereItIsKept) {
    program.environment["HOLON_MODEL"] = "house/m1";
    program.environment["HOUSE_KEY"] = "sk-wrong-key-0123456789";
    server.always(test_support::status_reply(401));
    const auto by_variable = program.run({"run", "go"});
    EXPECT_EQ(by_variable.exit_code, 3);
    EXPECT_THAT(by_variable.err,
                HasSubstr("house rejects the key in HOUSE_KEY; set HOUSE_KEY to another one, or "
                          "store one with: holon login house"));
    server.always(test_support::says("ready"));
    ASSERT_EQ(login(kGoodKey).exit_code, 0);
    server.always(test_support::status_reply(401));
    const auto by_profile = program.run({"run", "go"});
    EXPECT_THAT(by_profile.err, HasSubstr("house rejects the key of the credential profile house; "
                                          "store another one with: holon login house"));
}

TEST_F(Login, DoctorWithProbeDoesNotCallARejectedKeyReady) {
    program.environment["HOLON_MODEL"] = "house/m1";
    program.environment["HOUSE_KEY"] = "sk-wrong-key-0123456789";
    EXPECT_TRUE(base::bool_at(program.json_of({"doctor"}), "ready"));
    server.always(test_support::status_reply(401));
    const auto rejected = program.json_of({"doctor", "--probe"});
    EXPECT_FALSE(base::bool_at(rejected, "ready"));
    const auto& entry = rejected.at("providers").at(0);
    EXPECT_FALSE(base::bool_at(entry, "answered", true));
    EXPECT_EQ(base::string_at(entry.at("probe_failure"), "failure_kind"), "auth_error");
    EXPECT_THAT(base::string_at(entry, "next_step"), HasSubstr("holon login house"));
    server.always(test_support::says("ready"));
    EXPECT_TRUE(base::bool_at(program.json_of({"doctor", "--probe"}), "ready"));
}

}  // namespace
}  // namespace e2e
