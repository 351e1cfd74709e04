#include "exec/tasks/supervisor/wire.h"

#include <gtest/gtest.h>

namespace supervisor {
namespace {

Request request() {
    return {.boot_id = "boot",
            .process = {.argv = {"sh", "-c", std::string("a\0b", 3)},
                        .cwd = "/tmp",
                        .environment = {{"A", "1"}, {"B", ""}}},
            .tty = true,
            .accepts_input = true,
            .log = "/tmp/log",
            .log_bytes_max = 1ULL << 40};
}

TEST(Wire, ARequestSurvivesTheTrip) {
    EXPECT_EQ(decode(encode(request())).value(), request());
    EXPECT_EQ(decode(encode(Request{})).value(), Request{});
}

TEST(Wire, ARequestThatIsCutOffAnywhereIsRefused) {
    const std::string whole = encode(request());
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(decode(std::string_view(whole).substr(0, size))) << size;
    EXPECT_FALSE(decode(whole + "x"));
}

TEST(Wire, FramesComeTogetherFromPieces) {
    const Frame input{FrameKind::Input, "some text"}, stop{FrameKind::Stop, "500"};
    FrameReader reader;
    std::vector<Frame> frames;
    for (const char byte : encode(input) + encode(stop)) {
        reader.add({&byte, 1});
        while (const auto frame = reader.next().value()) frames.push_back(*frame);
    }
    EXPECT_EQ(frames, (std::vector{input, stop}));
}

TEST(Wire, WhatIsNoFrameIsRefused) {
    FrameReader strange;
    strange.add("GET / HTTP/1.1");
    EXPECT_FALSE(strange.next());
    FrameReader large;
    large.add(std::string("i\xff\xff\xff\xff", 5));
    EXPECT_FALSE(large.next());
}

TEST(Wire, SegmentsSurviveTheTrip) {
    const std::vector<Segment> segments{{.bytes = 3}, {.is_err = true, .bytes = 1ULL << 33}};
    EXPECT_EQ(decode_segments(encode(segments)).value(), segments);
    EXPECT_FALSE(decode_segments(encode(segments).substr(1)));
}

}  // namespace
}  // namespace supervisor
