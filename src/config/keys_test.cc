#include "config/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace config {
namespace {

using testing::HasSubstr;

base::Result<json::value> typed(std::string_view key, std::string_view text) {
    return parse_value(find_key(key).value(), text);
}

TEST(Keys, EachDefaultIsJsonAndEachNameIsFoundOnce) {
    for (const auto& key : keys()) {
        EXPECT_TRUE(base::parse_json(key.default_value)) << key.key;
        EXPECT_EQ(find_key(key.key).value().description, key.description);
        EXPECT_EQ(key.kind == KeyKind::Enum, !key.allowed_values.empty()) << key.key;
    }
}

TEST(Keys, AnUnknownOneNamesTheNearestOrTheCommandToUse) {
    EXPECT_THAT(find_key("model.defalt").error().message, HasSubstr("model.default"));
    EXPECT_THAT(find_key("providers.x.base_url").error().message,
                HasSubstr("holon config providers set"));
    EXPECT_THAT(find_key("\x1b[2J").error().message, HasSubstr("\\x1b"));
}

TEST(Keys, ValuesAreReadByTheirKind) {
    EXPECT_EQ(typed("model.default", " VLLM/M "), json::value("vllm/M"));
    EXPECT_EQ(typed("model.fallbacks", "a/b, c/d"), (json::value{"a/b", "c/d"}));
    EXPECT_EQ(typed("model.fallbacks", R"(["a/b"])"), (json::value(json::array{"a/b"})));
    EXPECT_EQ(typed("runtime.max_output_tokens", "7"), json::value(7));
    EXPECT_EQ(typed("runtime.max_tool_output_tokens", "9999999"), json::value(64'000));
    EXPECT_EQ(typed("runtime.disable_provider_fallback", "on"), json::value(true));
    EXPECT_EQ(typed("runtime.disable_provider_fallback", "no"), json::value(false));
    EXPECT_EQ(typed("tui.alternate_screen", "never"), json::value("never"));
    EXPECT_EQ(typed("web.fetch.denied_hosts", "a, b:80"), (json::value{"a", "b:80"}));
    EXPECT_EQ(typed("model.unknown_fallback", "null"), json::value(nullptr));
    EXPECT_EQ(typed("models.catalog", "{}"), json::value(json::object{}));
}

TEST(Keys, ANameInAPathIsAnyName) {
    const Key kind = find_key("web.providers.house.kind").value();
    json::object document;
    set_value(document, kind, parse_value(kind, "searxng").value());
    const Key argv = find_key("web.providers.other.command.argv").value();
    set_value(document, argv, parse_value(argv, R"(["search","{{query}}"])").value());
    EXPECT_EQ(json::value(document), base::parse_json(R"({"web":{"providers":{
        "house":{"kind":"searxng"},"other":{"command":{"argv":["search","{{query}}"]}}}}})")
                                         .value());
    EXPECT_FALSE(parse_value(kind, "telepathy"));
    EXPECT_EQ(typed("web.providers.house.base_url", " "), json::value(nullptr));
    unset_value(document, find_key("web.providers.house").value());
    EXPECT_EQ(get_value(document, kind), json::value(nullptr));
    for (const char* other : {"web.providers.a.b.kind", "web.providers..kind", "web.fetch.<name>"})
        EXPECT_FALSE(find_key(other)) << other;
}

TEST(Keys, ValuesThatDoNotFitAreRefused) {
    const std::vector<std::pair<std::string, std::string>> table{
        {"model.default", "nameless"},
        {"model.fallbacks", "a/b,nameless"},
        {"model.fallbacks", "[1]"},
        {"runtime.max_output_tokens", "0"},
        {"runtime.max_output_tokens", "ten"},
        {"model.unknown_fallback.effective_context_window_percent", "101"},
        {"runtime.disable_provider_fallback", "maybe"},
        {"tui.alternate_screen", "sometimes"},
        {"models.catalog", "[]"},
        {"web.search.provider", " "}};
    for (const auto& [key, text] : table) EXPECT_FALSE(typed(key, text)) << key << " " << text;
}

TEST(Keys, SettingAndUnsettingKeepOtherKeys) {
    json::object document =
        base::parse_json(R"({"model": {"default": "a/b"}, "other": [1]})").value().as_object();
    const json::object before = document;
    const Key key = find_key("runtime.max_output_tokens").value();
    EXPECT_EQ(get_value(document, key), json::value(nullptr));
    set_value(document, key, 7);
    EXPECT_EQ(get_value(document, key), json::value(7));
    unset_value(document, key);
    unset_value(document, key);
    EXPECT_EQ(document, before);
    const Key list = find_key("model.fallbacks").value();
    EXPECT_EQ(get_value(document, list), json::value(json::array{}));
    set_value(document, list, json::array{});
    EXPECT_EQ(document, before);
}

}  // namespace
}  // namespace config
