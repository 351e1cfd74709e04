#include "provider/openai_codex/login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace provider {
namespace {

using testing::HasSubstr;
using testing::Not;

// {"https://api.openai.com/auth":{"chatgpt_account_id":"acct_jwt"}}
constexpr std::string_view kToken =
    "e30.eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoiYWNjdF9qd3QifX0.x";

TEST(ParseCodexLogin, TheAccountIsNamedOrIsAClaim) {
    const std::string token(kToken);
    const std::vector<std::pair<std::string, CodexLogin>> rows{
        {R"({"tokens":{"access_token":" t1\n","account_id":"acct"}})", {"t1", "acct"}},
        {R"({"tokens":{"access_token":"t1","id_token":")" + token + R"("}})", {"t1", "acct_jwt"}},
        {R"({"tokens":{"access_token":"t1","id_token":{"chatgpt_account_id":"acct"}}})",
         {"t1", "acct"}},
        {R"({"tokens":{"access_token":")" + token + R"("}})", {token, "acct_jwt"}},
    };
    for (const auto& [text, login] : rows) {
        const auto parsed = parse_codex_login(text);
        ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
        EXPECT_EQ(*parsed, login);
    }
}

TEST(ParseCodexLogin, WhatIsNoLoginIsRefusedWithoutRepeatingIt) {
    for (const auto* text :
         {"", "secret-token", R"({"tokens":{}})", R"({"tokens":{"access_token":" "}})",
          R"({"tokens":{"access_token":"secret-token"}})", R"({"tokens":["secret-token"]})",
          R"({"tokens":{"access_token":"secret-token.secret-token.x"}})",
          R"({"tokens":{"access_token":"secret-token","id_token":"a.!!.b"}})"}) {
        const auto parsed = parse_codex_login(text);
        ASSERT_FALSE(parsed.has_value()) << text;
        EXPECT_THAT(parsed.error().message, HasSubstr("Codex command line"));
        EXPECT_THAT(parsed.error().message, Not(HasSubstr("secret")));
    }
}

TEST(ReadCodexLogin, AMissingFileSaysWhatToDo) {
    const auto login = read_codex_login("/nonexistent");
    ASSERT_FALSE(login.has_value());
    EXPECT_EQ(login.error().message,
              "/nonexistent/auth.json does not exist; log in with the Codex command line");
}

}  // namespace
}  // namespace provider
