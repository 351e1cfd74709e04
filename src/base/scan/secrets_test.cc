#include "base/scan/secrets.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "base/log/log.h"
#include "base/scan/engine/encodings.h"
#include "base/scan/texts.h"
#include "base/text.h"

namespace scan {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kSecret = "sk-live-4f9a+0123/456789abcdef";
const std::string kMark(kCredentialMark);

class SecretsTest : public testing::Test {
protected:
    void TearDown() override {
        know_nothing();
        base::set_log_filter(nullptr);
        base::set_log_sink(nullptr);
    }
};

TEST_F(SecretsTest, NothingIsTakenOutWhereNothingIsKnown) {
    EXPECT_FALSE(is_guarding());
    EXPECT_EQ(without_secrets("a " + kSecret), "a " + kSecret);
}

TEST_F(SecretsTest, AKnownCredentialIsTakenOutHoweverItIsSpelled) {
    know({kSecret});
    std::string backwards = kSecret;
    std::ranges::reverse(backwards);
    for (const auto& spelled : {kSecret, base64(kSecret), base64("x" + kSecret), hex(kSecret),
                                base::percent_encoded(kSecret), backwards}) {
        const auto out = without_secrets("before " + spelled + " after");
        EXPECT_THAT(out, HasSubstr(kMark)) << spelled;
        EXPECT_THAT(out, Not(HasSubstr(spelled)));
        EXPECT_THAT(out, testing::StartsWith("before "));
    }
}

// As programs write when nobody thinks of credentials.
TEST_F(SecretsTest, AKnownCredentialIsTakenOutAlsoAsProgramsEscapeAndBreakIt) {
    const std::string token = "k/Ab3" + std::string(70, 'q') + "Zz9+" + std::string(30, 'w');
    know({token});
    const auto each = [&](fmt::format_string<int> format) {
        std::string text;
        for (const char c : token) text += fmt::format(format, int{c});
        return text;
    };
    const auto lines = [](std::string text, std::size_t columns) {
        for (std::size_t at = columns; at < text.size(); at += columns + 1) text.insert(at, "\n");
        return text;
    };
    for (const auto& spelled :
         {"k\\/" + token.substr(2), each("%{:02X}"), each("\\u{:04x}"), each("\\x{:02x}"),
          lines(base64(token), 76), lines(base64(token), 64), lines(hex(token), 60)}) {
        const auto out = without_secrets("before " + spelled + " after");
        EXPECT_THAT(out, HasSubstr(kMark)) << spelled;
        EXPECT_LT(out.size(), 60U) << out;
    }
}

TEST_F(SecretsTest, ACredentialThatIsLearntLaterCountsAtOnce) {
    know({kSecret});
    EXPECT_EQ(without_secrets("token-of-tomorrow-1"), "token-of-tomorrow-1");
    know({"token-of-tomorrow-1"});
    EXPECT_EQ(without_secrets("token-of-tomorrow-1 " + kSecret), kMark + " " + kMark);
}

TEST_F(SecretsTest, OrdinaryWordsAreKept) {
    know({"ollama", "changeme", "local", "x1y2", ""});
    EXPECT_FALSE(is_guarding());
    EXPECT_EQ(without_secrets("ollama changeme"), "ollama changeme");
}

// It continues on the other side of the cut, so no rule matches it.
TEST_F(SecretsTest, HalfACredentialAtACutIsTakenOutToo) {
    know({kSecret});
    for (std::size_t size = kPartBytesMin; size < kSecret.size(); ++size) {
        EXPECT_EQ(without_secrets("x " + kSecret.substr(0, size), Cut::AtEnd), "x " + kMark);
        EXPECT_EQ(without_secrets(kSecret.substr(kSecret.size() - size) + " x", Cut::AtStart),
                  kMark + " x");
    }
    EXPECT_EQ(without_secrets(kSecret + " x", Cut::AtStart), kMark + " x");
    EXPECT_EQ(without_secrets("plain text", Cut::AtEnd), "plain text");
}

TEST_F(SecretsTest, SuspectsAreRedactedOnlyOnRequest) {
    const std::string key = std::string("AKIA") + "Z7XQ4MNBV2LKJHGF";
    EXPECT_EQ(without_secrets("id " + key), "id " + key);
    set_suspects(Suspects::Redact);
    EXPECT_EQ(without_credentials("id " + key), "id " + key);
    know({kSecret});
    EXPECT_THAT(without_secrets("-----BEGIN PRIVATE "
                                "KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n"
                                "-----END PRIVATE "
                                "KEY-----"),
                HasSubstr("[redacted:"));
}

TEST_F(SecretsTest, AValueKeepsItsShape) {
    know({kSecret});
    json::value value{{"a", {1, kSecret, {{"b", "x" + kSecret}}}}, {"c", nullptr}};
    remove_secrets(value);
    EXPECT_EQ(value, (json::value{{"a", {1, kMark, {{"b", "x" + kMark}}}}, {"c", nullptr}}));
}

TEST_F(SecretsTest, NamesOfMembersAreTextToo) {
    know({kSecret});
    json::value value{{"a", {{kSecret, 1}, {"b", {{"x" + kSecret, "y"}}}}}};
    remove_credentials(value);
    EXPECT_EQ(value, (json::value{{"a", {{kMark, 1}, {"b", {{"x" + kMark, "y"}}}}}}));
}

TEST_F(SecretsTest, TheQuickSearchFindsUsualSpellingsInTextsAndNames) {
    know({kSecret});
    json::value value{{kSecret, {1, "a " + kSecret}}, {"clean", "text"}};
    remove_spelled_credentials(value);
    EXPECT_EQ(value, (json::value{{kMark, {1, "a " + kMark}}, {"clean", "text"}}));
}

// As the named programs print them.
class EncodedSecrets : public SecretsTest, public testing::WithParamInterface<const char*> {};

TEST_P(EncodedSecrets, AreFound) {
    know({kSecret});
    const std::string command =
        "printf 'before %s after' '" + kSecret + "' | " + std::string(GetParam());
    FILE* pipe = ::popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string printed(65536, '\0');
    printed.resize(std::fread(printed.data(), 1, printed.size(), pipe));
    ASSERT_EQ(::pclose(pipe), 0);
    ASSERT_GT(printed.size(), 10U);
    const std::string shown = without_credentials("first line\nvalue=" + printed + "\nlast");
    EXPECT_THAT(shown, testing::StartsWith("first line\n"));
    EXPECT_THAT(shown, HasSubstr(kMark)) << printed;
    EXPECT_NE(shown, printed);
}
INSTANTIATE_TEST_SUITE_P(ByPrograms, EncodedSecrets,
                         testing::Values("base64", "base64 | base64", "base64 -w0 | base64 -w0",
                                         "base64 | base64 | base64", "base32",
                                         "base32 | tr A-Z a-z", "od -An -tx1", "od -An -v -tx1 -w7",
                                         "od -An -v -tx1 | sed 's/ /:/g'",
                                         "od -An -v -tx1 | sed 's/ /-/g'",
                                         "od -An -v -tx1 | sed 's/ \\(..\\)/0x\\1, /g'",
                                         "od -An -v -tx1 | tr -d ' \\n' | base64", "gzip -c",
                                         "gzip -c | base64", "gzip -c | base64 -w0",
                                         "gzip -c | od -An -v -tx1", "base64 | gzip -c | base64"));

TEST_F(SecretsTest, OrdinaryTextStaysAsItIs) {
    know({kSecret});
    for (const std::string& text :
         {std::string(
              "/usr/lib/x86_64-linux-gnu/libstdc++.so.6: 73 6b 2d 6c 69 76 65 20 de ad be ef"),
          std::string("sha256:757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"),
          std::string("aGVsbG8gd29ybGQsIHRoaXMgaXMgYmFzZTY0Cg=="),
          std::string("\x1f\x8b\x08 no stream"),
          std::string(70, 'A') + "\n" + std::string(70, 'B')})
        EXPECT_EQ(without_credentials(text), text);
}

struct Inner {
    std::optional<std::string> text{};
    std::map<std::string, std::string> names{};
};
BOOST_DESCRIBE_STRUCT(Inner, (), (text, names))
struct Outer {
    std::int64_t number{3};
    std::vector<Inner> list{};
    std::variant<Inner, std::string> either{};
    json::value data;
};
BOOST_DESCRIBE_STRUCT(Outer, (), (number, list, either, data))

TEST_F(SecretsTest, EveryTextOfARecordIsReached) {
    know({kSecret});
    Outer outer{.list = {{.text = kSecret, .names = {{"k", kSecret}}}},
                .either = kSecret,
                .data = json::array{kSecret}};
    remove_credentials_in(outer);
    EXPECT_EQ(outer.list[0].text, kMark);
    EXPECT_EQ(outer.list[0].names.at("k"), kMark);
    EXPECT_EQ(std::get<std::string>(outer.either), kMark);
    EXPECT_EQ(outer.data, json::array{kMark});
}

TEST_F(SecretsTest, TextThatArrivesInPiecesIsHeldBackByAWordAtMost) {
    know({kSecret});
    LiveText live;
    EXPECT_EQ(live.feed("The key is "), "The key is ");
    std::string shown;
    for (const char c : kSecret) shown += live.feed(std::string(1, c));
    EXPECT_EQ(shown, "");
    EXPECT_EQ(live.feed(" and"), kMark + " ");
    EXPECT_EQ(live.finish(), "and");
    EXPECT_EQ(live.feed("日本語"), "日本語");
}

TEST_F(SecretsTest, NoLineOfTheLogHoldsOne) {
    know({kSecret});
    std::string seen;
    base::set_log_sink([&](std::string_view line) { seen += line; });
    base::set_log_filter([](std::string text) { return without_credentials(std::move(text)); });
    base::log_error("the server says {}", kSecret);
    EXPECT_THAT(seen,
                testing::AllOf(HasSubstr("the server says " + kMark), Not(HasSubstr(kSecret))));
}

TEST_F(SecretsTest, ThreadsMayLearnAndRedactAtOnce) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([i] {
            const std::string own = "credential-number-" + std::to_string(i);
            for (int round = 0; round < 20; ++round) {
                know({own, own + std::to_string(round)});
                EXPECT_THAT(without_secrets("a " + own), Not(HasSubstr(own)));
            }
        });
}

}  // namespace
}  // namespace scan
