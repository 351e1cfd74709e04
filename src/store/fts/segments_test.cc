#include "store/fts/segments.h"

#include <gmock/gmock.h>

namespace fts {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> list;
    for (const auto& segment : segments_of(text))
        list.push_back((segment.script == Script::Runs ? "=" : "") +
                       std::string(text.substr(segment.begin, segment.end - segment.begin)));
    return list;
}

TEST(Segments, AreSplitAtBordersOfScripts) {
    EXPECT_THAT(split("use FTS5检索，快!"), ElementsAre("use FTS5", "=检索", "，", "=快", "!"));
    EXPECT_THAT(split("東京タワーへ行く"), ElementsAre("=東京タワーへ行く"));
    EXPECT_THAT(split("한국漢字"), ElementsAre("=한국", "=漢字"));
    EXPECT_THAT(split("𠮷野家"), ElementsAre("=𠮷野家"));
    EXPECT_THAT(split(""), IsEmpty());
}

TEST(Segments, TakeBytesThatAreNoTextForWords) {
    EXPECT_THAT(split("a\xff\xe4\xb8z"), ElementsAre("a\xff\xe4\xb8z"));
    EXPECT_THAT(split("\xe4\xb8"), ElementsAre("\xe4\xb8"));
}

TEST(Segments, IdentifiersHaveParts) {
    EXPECT_THAT(identifier_parts("getUserName"), ElementsAre("get", "User", "Name"));
    EXPECT_THAT(identifier_parts("HTTPServer2"), ElementsAre("HTTP", "Server", "2"));
    EXPECT_THAT(identifier_parts("__init__"), ElementsAre("init"));
    EXPECT_THAT(identifier_parts("event_seq"), ElementsAre("event", "seq"));
    EXPECT_THAT(identifier_parts("word"), IsEmpty());
    EXPECT_THAT(identifier_parts("Word"), IsEmpty());
    EXPECT_THAT(identifier_parts("_"), IsEmpty());
}

}  // namespace
}  // namespace fts
