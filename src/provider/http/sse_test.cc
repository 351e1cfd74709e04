#include "provider/http/sse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace provider {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The events of `body`, given in pieces of `size` bytes.
std::vector<std::string> events(std::string_view body, std::size_t size = 1000) {
    SseReader reader;
    std::vector<std::string> out;
    const auto keep = [&](std::string_view data) { out.emplace_back(data); };
    for (; !body.empty(); body.remove_prefix(std::min(size, body.size())))
        reader.add(body.substr(0, size), keep);
    reader.finish(keep);
    return out;
}

TEST(SseReader, OnlyDataCounts) {
    EXPECT_THAT(events("event: a\nid: 1\nretry: 5\n: note\ndata: one\n\ndata:two\n\n"),
                ElementsAre("one", "two"));
    EXPECT_THAT(events("event: a\n\n\n\n: note\n\ndatax: 1\n\n"), IsEmpty());
    EXPECT_THAT(events("<html>\n\nIt works!\n\n</html>"), IsEmpty());
}

TEST(SseReader, KeepsTheIdOfTheLastCompleteEventAndTheTimeToWait) {
    SseReader reader;
    reader.add("id: a\nretry: 250\ndata: 1\n\nid: b\nretry: soon\ndata: 2\n", [](auto) {});
    EXPECT_EQ(reader.last_id(), "a");
    EXPECT_EQ(reader.retry(), std::chrono::milliseconds(250));
    reader.add("\n", [](auto) {});
    EXPECT_EQ(reader.last_id(), "b");
}

TEST(SseReader, DataLinesOfOneEventAreJoined) {
    EXPECT_THAT(events("data: a\ndata:  b\ndata\ndata: c\n\n"), ElementsAre("a\n b\n\nc"));
}

TEST(SseReader, TheEndOfTheBodyEndsTheLastEvent) {
    EXPECT_THAT(events("data: a\n\ndata: b"), ElementsAre("a", "b"));
    EXPECT_THAT(events("data: a\n"), ElementsAre("a"));
}

TEST(SseReader, EveryLineEndAndEveryCutGiveTheSameEvents) {
    for (const std::string_view end : {"\n", "\r", "\r\n"}) {
        std::string body = "\xEF\xBB\xBF";
        for (const std::string_view line : {"data: ü1", "data: 2", "", "event: x", "data: 3", ""})
            body.append(line).append(end);
        for (std::size_t size = 1; size <= body.size(); ++size)
            EXPECT_THAT(events(body, size), ElementsAre("ü1\n2", "3"));
    }
}

}  // namespace
}  // namespace provider
