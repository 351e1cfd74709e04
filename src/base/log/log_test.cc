#include "base/log/log.h"

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"

#include <gmock/gmock.h>

namespace base {
namespace {

using testing::ElementsAre;

class Log : public testing::Test {
protected:
    void SetUp() override {
        set_log_sink([this](std::string_view line) { lines_.emplace_back(line); });
    }
    void TearDown() override {
        set_log_sink({});
        set_log_level(Level::Info);
    }
    // The lines without their times.
    std::vector<std::string> texts() const {
        std::vector<std::string> texts;
        for (const auto& line : lines_) texts.push_back(line.substr(line.find(' ') + 1));
        return texts;
    }

    std::vector<std::string> lines_;
};

TEST_F(Log, WritesTimeLevelAndText) {
    log_info("{} of {}", 1, "two");
    ASSERT_EQ(texts(), std::vector<std::string>{"INFO 1 of two"});
    EXPECT_TRUE(parse_time(lines_[0].substr(0, lines_[0].find(' '))));
}

TEST_F(Log, DropsWhatIsAboveTheLevel) {
    log_debug("a");
    log_error("b");
    set_log_level(Level::Debug);
    log_debug("c");
    set_log_level(Level::Error);
    log_warn("d");
    log_error("e");
    EXPECT_THAT(texts(), ElementsAre("ERROR b", "DEBUG c", "ERROR e"));
}

TEST_F(Log, LetsNoArgumentForgeALineOrControlATerminal) {
    log_warn("name: {}", "x\n2031-01-01T00:00:00.000000Z INFO paid\x1b[2J\r\xff\xc2\x9b");
    EXPECT_THAT(texts(), ElementsAre("WARN name: x\\n2031-01-01T00:00:00.000000Z INFO paid\\x1b[2J"
                                     "\\r\xEF\xBF\xBD\\x9b"));
}

TEST_F(Log, KeepsLinesOfManyThreadsWhole) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([] {
            for (int j = 0; j < 100; ++j) log_info("{}", "0123456789");
        });
    threads.clear();
    EXPECT_EQ(texts(), std::vector<std::string>(400, "INFO 0123456789"));
}

TEST_F(Log, WritesToStandardErrorWithoutASink) {
    set_log_sink({});
    testing::internal::CaptureStderr();
    log_error("to stderr");
    EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::EndsWith(" ERROR to stderr\n"));
}

}  // namespace
}  // namespace base
