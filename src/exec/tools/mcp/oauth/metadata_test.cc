#include "exec/tools/mcp/oauth/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/tools/mcp/oauth/login.h"

namespace mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr std::string_view kServer = "https://api.example/mcp";

TEST(McpOauth, AChallengeIsReadHoweverItIsWritten) {
    EXPECT_EQ(
        parse_challenge(R"(Bearer realm="a, b", resource_metadata="https://x/y", scope="a b")"),
        (Challenge{.resource_metadata = "https://x/y", .scope = "a b"}));
    EXPECT_EQ(parse_challenge(R"(bearer error=insufficient_scope,scope="say \"hi\"")"),
              (Challenge{.scope = R"(say "hi")", .error = "insufficient_scope"}));
    for (const char* broken :
         {"", "Basic realm=\"x\"", "Bearer", "Bearer =", "Bearer a=\"", "Bearer ,,,"})
        EXPECT_EQ(parse_challenge(broken), Challenge{}) << broken;
}

TEST(McpOauth, MetadataIsLookedForWhereTheStandardsPutIt) {
    EXPECT_THAT(resource_metadata_urls("https://a.example:8443/x/mcp?y=1"),
                ElementsAre("https://a.example:8443/.well-known/oauth-protected-resource/x/mcp",
                            "https://a.example:8443/.well-known/oauth-protected-resource"));
    EXPECT_THAT(issuer_metadata_urls("https://a.example"),
                ElementsAre("https://a.example/.well-known/oauth-authorization-server",
                            "https://a.example/.well-known/openid-configuration"));
    EXPECT_THAT(issuer_metadata_urls("https://a.example/realm"),
                ElementsAre("https://a.example/.well-known/oauth-authorization-server/realm",
                            "https://a.example/.well-known/openid-configuration/realm",
                            "https://a.example/realm/.well-known/openid-configuration"));
    EXPECT_THAT(issuer_metadata_urls("ftp://a.example"), testing::IsEmpty());
}

TEST(McpOauth, CredentialsGoOverHttpsOrStayOnThisMachine) {
    EXPECT_TRUE(is_safe_endpoint("https://login.example/token", kServer));
    EXPECT_FALSE(is_safe_endpoint("http://login.example/token", kServer));
    EXPECT_FALSE(is_safe_endpoint("javascript:alert(1)", kServer));
    EXPECT_FALSE(is_safe_endpoint("https://user:pass@login.example/", kServer));
    EXPECT_FALSE(is_safe_endpoint("http://127.example.com/token", "http://127.0.0.1:9/mcp"));
    // A remote server has no business with a port of this machine, however it is written.
    for (const char* local : {"http://127.0.0.1:80/", "https://localhost/", "http://2130706433/",
                              "http://[::1]/", "http://127.1/"}) {
        EXPECT_FALSE(is_safe_endpoint(local, kServer)) << local;
        EXPECT_TRUE(is_safe_endpoint(local, "http://127.0.0.1:9/mcp")) << local;
    }
}

TEST(McpOauth, TheMetadataOfAnotherResourceIsRefused) {
    const auto of = [](std::string_view resource) {
        return parse_resource(
            fmt::format(R"({{"resource":"{}","authorization_servers":["https://l.example"]}})",
                        resource),
            kServer);
    };
    EXPECT_TRUE(of("https://api.example/mcp"));
    EXPECT_TRUE(of("https://api.example"));
    EXPECT_TRUE(of("https://api.example/mcp/"));
    for (const char* other : {"https://bank.example/mcp", "http://api.example/mcp", "",
                              "https://api.example/mc", "https://api.example:8443/mcp"})
        EXPECT_FALSE(of(other)) << other;
}

TEST(McpOauth, AnAuthorizationServerMustBeWhoItWasSaidToBe) {
    const auto of = [](std::string_view more) {
        return parse_issuer(fmt::format(R"({{"issuer":"https://l.example",
            "authorization_endpoint":"https://l.example/a","token_endpoint":"https://l.example/t",
            "code_challenge_methods_supported":["S256"]{}}})",
                                        more),
                            "https://l.example", kServer);
    };
    EXPECT_TRUE(of(""));
    EXPECT_THAT(of(R"(,"issuer":"https://x.example")").error().message, HasSubstr("another one"));
    EXPECT_THAT(of(R"(,"registration_endpoint":"http://l.example/r")").error().message,
                HasSubstr("https"));
    EXPECT_THAT(of(R"(,"token_endpoint":"http://127.0.0.1/t")").error().message,
                HasSubstr("https"));
    EXPECT_THAT(of(R"(,"code_challenge_methods_supported":["plain"])").error().message,
                HasSubstr("PKCE"));
    EXPECT_FALSE(parse_issuer("[]", "https://l.example", kServer));
    const auto below = [](std::string_view issuer) {
        return parse_issuer(
            fmt::format(R"({{"issuer":"{}","authorization_endpoint":"https://l.example/a",
            "token_endpoint":"https://l.example/t","code_challenge_methods_supported":["S256"]}})",
                        issuer),
            "https://l.example", kServer, IssuerMatch::SameOrigin);
    };
    EXPECT_TRUE(below("https://l.example/oauth"));
    EXPECT_FALSE(below("https://x.example/oauth"));
    EXPECT_FALSE(below("https://l.example.x.example"));
}

TEST(McpOauth, FieldsSurviveTheWay) {
    const Fields fields{{"a b", "ü&=+%\n"}, {"c", ""}};
    EXPECT_EQ(query_of("http://x/?" + form_encoded(fields) + "#f"), fields);
    EXPECT_THAT(query_of("/x?a=1&b&%zz=%4&c=%41"),
                ElementsAre(Pair("a", "1"), Pair("b", ""), Pair("%zz", "%4"), Pair("c", "A")));
    EXPECT_THAT(query_of("no query"), testing::IsEmpty());
}

// The example of RFC 7636, appendix B.
TEST(McpOauth, TheChallengeIsTheOneOfTheStandard) {
    EXPECT_EQ(code_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
              "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

}  // namespace
}  // namespace mcp
