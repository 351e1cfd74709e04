#include "base/scan/assign/assigned.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/scan/assign/names.h"
#include "base/scan/assign/randomness.h"

namespace scan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The values that are offered for the first "token" in a text.
std::vector<std::string> values(std::string_view text) {
    std::vector<std::string> found;
    visit_assigned(text, text.find("oken") + 4, [&](const Assigned& assigned) {
        found.emplace_back(assigned.value);
        return false;
    });
    return found;
}

TEST(Assigned, IsReadInEverySyntax) {
    for (const char* text : {"token=abc",
                             "token = 'abc'",
                             "\"token\": \"abc\"",
                             "{\\\"token\\\": \\\"abc\\\"}",
                             "<token>abc</token>",
                             "<token>\n  abc\n</token>",
                             "token: |\n  abc",
                             "token: >-\n  abc",
                             "token:\n  - abc",
                             "var token string = \"abc\"",
                             "token: String = \"abc\"",
                             "token := `abc`",
                             "token ?= abc",
                             "token :::= \"abc\"",
                             "--token abc",
                             "--token=abc",
                             "-token \"abc\"",
                             "token,abc,",
                             "| token | abc |",
                             "set_token(\"abc\")",
                             "Set(\"X-Token\", \"abc\")",
                             "\"token\" => \"abc\"",
                             "config[\"token\"] = \"abc\"",
                             "{\"name\": \"token\", \"value\": \"abc\"}",
                             "<add key=\"token\" value=\"abc\" />",
                             "<entry key='token'>abc</entry>",
                             "<setting name=\"token\" kind=\"x\"><value>abc</value></setting>",
                             "read -r token <<< \"abc\"",
                             "/?token=abc&b=1",
                             "token = @\"abc\"",
                             "token \"abc\";",
                             "the token is abc",
                             "X-Token: Bearer abc",
                             "- name: TOKEN_token\n  value: abc",
                             "<token type='string'>abc</token>",
                             "token: !!str abc",
                             "ENV token abc"})
        EXPECT_THAT(values(text), ElementsAre("abc")) << text;
}

TEST(Assigned, OffersTheWordsOfAQuotedValue) {
    EXPECT_THAT(values("token: \"Bearer abc\""), ElementsAre("Bearer abc", "Bearer", "abc"));
}

TEST(Assigned, IsNothingWhereNoSignBindsAValue) {
    for (const char* text : {"token", "token.", "tokens/abc", "token://abc", "the token\n"})
        EXPECT_THAT(values(text), IsEmpty()) << text;
}

TEST(Assigned, IsReadWithinItsBoundWhateverFollows) {
    const std::string endless = "token = \"" + std::string(1 << 20, 'a');
    EXPECT_LE(values(endless).at(0).size(), kAssignedBytesMax);
    EXPECT_THAT(values("token" + std::string(1 << 20, ' ') + "= abc"), IsEmpty());
}

TEST(Names, SayWhatKindOfValueTheyHave) {
    const std::vector<std::pair<const char*, NameKind>> cases = {
        {"API_KEY", NameKind::Secret},
        {"apiKey", NameKind::Secret},
        {"theapikey", NameKind::Secret},
        {"x-auth-token", NameKind::Secret},
        {"client.secret", NameKind::Secret},
        {"secret_id", NameKind::Secret},
        {"db_password", NameKind::Password},
        {"DBPASS", NameKind::Password},
        {"key", NameKind::Weak},
        {"auth", NameKind::Weak},
        {"monkey", NameKind::Other},
        {"primaryKey", NameKind::Other},
        {"public_key", NameKind::Other},
        {"PublicKeyToken", NameKind::Other},
        {"max_tokens", NameKind::Other},
        {"tokenizer", NameKind::Other},
        {"secret_name", NameKind::Other},
        {"next_page_token", NameKind::Other},
        {"password_policy", NameKind::Other},
        {"author", NameKind::Other},
        {"compass", NameKind::Other},
        {"key_id", NameKind::Other}};
    for (const auto& [name, kind] : cases) EXPECT_EQ(name_kind(name), kind) << name;
    EXPECT_EQ(name_kind("key", "Cache"), NameKind::Other);
}

// Sentences and lists of names, as change logs have them.
TEST(Assigned, ProseIsNoAssignment) {
    const auto is_found = [](std::string_view text, std::string_view keyword) {
        bool found = false;
        visit_assigned(text, text.find(keyword) + keyword.size(), [&](const Assigned& assigned) {
            return found = found || is_assigned_secret(assigned);
        });
        return found;
    };
    EXPECT_FALSE(is_found("Pass \"-Zbz9x2q8\" to the archiver", "Pass"));
    EXPECT_FALSE(is_found("to pass `-Dlib.dir=/u7/x9q` to java", "pass"));
    EXPECT_FALSE(is_found("(aes128_set_key, aes192_set_nonce7)", "key"));
    EXPECT_FALSE(is_found("New option --no-gen-key.  [rG985fb25c46aa12]", "key"));
    EXPECT_FALSE(is_found("#include <pwd.h>, HAVE_FC7TL_H9x2q8 for <fcntl.h>", "pwd"));
    EXPECT_TRUE(is_found("pass \"Zb9x2q8Kw4\";", "pass"));
    EXPECT_TRUE(is_found("api_key, b7Xk2Qm9Wv4Rt6Yz1", "key"));
}

TEST(Randomness, TellsTokensFromWords) {
    for (const char* token :
         {"b7Xk2Qm9Wv4Rt6Yz1", "f3kQ9zXw72LmNp4Rt8", "c1f09a7de8b24635",
          "tfqiaqqvzbrsuzwhzekrvnazhopcwq", "2b9e6f1c-7d43-4a58-9c0e-5f81d2a6b374"})
        EXPECT_TRUE(looks_random(token, 16)) << token;
    for (const char* words :
         {"registry-pull-secret", "value-of-the-first-entry", "2031-01-02T03:04:05Z",
          "com.example.application.Main", "src/base/scan/engine/matcher.cc", "1234567890123456",
          "getConfigurationValueOfName", "linux-x86_64-release-build"})
        EXPECT_FALSE(looks_random(words, 16)) << words;
}

}  // namespace
}  // namespace scan
