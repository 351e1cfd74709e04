#include "exec/tools/web_tools/url.h"

#include <gmock/gmock.h>

namespace web_tools {
namespace {

TEST(Urls, AreReadAsTheyWillBeRequested) {
    const std::vector<std::pair<std::string_view, Url>> table{
        {"https://Example.com/a b?q=1#part",
         {"https://Example.com/a%20b?q=1", "https", "example.com", 443}},
        {" http://example.com.:8080 ", {"http://example.com.:8080/", "http", "example.com", 8080}},
        {"http://[::1]:81/", {"http://[::1]:81/", "http", "::1", 81}},
        // Other ways to write 127.0.0.1.
        {"http://2130706433/", {"http://127.0.0.1/", "http", "127.0.0.1", 80}},
        {"http://0x7f.1/", {"http://127.0.0.1/", "http", "127.0.0.1", 80}}};
    for (const auto& [text, url] : table) EXPECT_EQ(parse_url(text), url) << text;
}

TEST(Urls, OfOtherKindsAreNone) {
    for (const std::string_view text :
         {"", "example.com", "/path", "ftp://example.com/", "file:///etc/passwd", "http://",
          "https://user:secret@example.com/", "http://example.com/\r\nHost: evil",
          "javascript:alert(1)", "http://exa mple.com/", "gopher://example.com/"})
        EXPECT_EQ(parse_url(text), std::nullopt) << text;
    EXPECT_EQ(parse_url("http://example.com/" + std::string(kUrlBytesMax, 'a')), std::nullopt);
}

TEST(Urls, OfALinkAreRelativeToItsPage) {
    const Url from = parse_url("https://example.com/a/b?x").value();
    EXPECT_EQ(join_url(from, "../c")->text, "https://example.com/c");
    EXPECT_EQ(join_url(from, "//other.example/d")->text, "https://other.example/d");
    EXPECT_EQ(join_url(from, "http://[fd00::1]/")->host, "fd00::1");
    EXPECT_EQ(join_url(from, "file:///etc/passwd"), std::nullopt);
    EXPECT_EQ(join_url(from, "https://me:pw@other.example/"), std::nullopt);
    EXPECT_EQ(join_url(from, ""), std::nullopt);
}

}  // namespace
}  // namespace web_tools
