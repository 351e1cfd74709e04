#include "provider/images/shown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace provider {
namespace {

using testing::ElementsAre;

ToolResultsTurn showing(const std::string& id, std::size_t images, std::int64_t bytes = 10) {
    ToolAnswer answer{id, "an image", false};
    answer.media.emplace(images, domain::Media{"image/png", id + ".png", id, bytes, 1, 1});
    return {{std::move(answer)}};
}

// The answers that still have images.
std::vector<std::string> shown_of(Request request) {
    bound_media(request);
    std::vector<std::string> list;
    for (const auto* answer : answers_with_media(request)) list.push_back(answer->tool_use_id);
    return list;
}

TEST(BoundMedia, WhatFitsStays) {
    Request request{.history = {showing("a", 8)}, .conversation = {showing("b", 8)}};
    EXPECT_THAT(shown_of(request), ElementsAre("a", "b"));
    request.conversation.emplace_back(ToolResultsTurn{{{"c", "text", false}}});
    EXPECT_THAT(shown_of(request), ElementsAre("a", "b"));
}

TEST(BoundMedia, TakesThemFromTheHistoryOfThisRequestAlone) {
    Request request{.history = {UserTurn{}, showing("a", 8), showing("b", 8)},
                    .conversation = {showing("c", 8)}};
    const auto before = request.history;
    EXPECT_THAT(shown_of(request), ElementsAre("c"));
    EXPECT_EQ(request.history, before);
}

TEST(BoundMedia, TheOldestAreRemovedDownToHalfOfTheBoundAndNotWithEachNewOne) {
    Request request;
    for (int i = 0; i < 20; ++i) request.conversation.emplace_back(showing(std::to_string(i), 1));
    EXPECT_EQ(shown_of(request).size(), 20U);
    request.conversation.emplace_back(showing("20", 1));
    const auto fewer = shown_of(request);
    ASSERT_EQ(fewer.size(), 10U);
    EXPECT_EQ(fewer.front(), "11");
    for (int i = 21; i < 31; ++i) {
        request.conversation.emplace_back(showing(std::to_string(i), 1));
        EXPECT_EQ(shown_of(request).front(), "11") << i;
    }
}

TEST(BoundMedia, BytesAreBoundedTogether) {
    Request request{.conversation = {showing("a", 1, 3'000'000), showing("b", 1, 3'000'000)}};
    EXPECT_THAT(shown_of(request), ElementsAre("a", "b"));
    request.conversation.emplace_back(showing("c", 1, 3'000'000));
    EXPECT_THAT(shown_of(request), ElementsAre("c"));
    request.conversation.emplace_back(showing("huge", 1, kRequestImageBytesMax + 1));
    EXPECT_TRUE(shown_of(request).empty());
    request.conversation.emplace_back(showing("d", 1));
    EXPECT_THAT(shown_of(request), ElementsAre("d"));
}

}  // namespace
}  // namespace provider
