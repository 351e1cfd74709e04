// Output larger than memory should have to hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/program.h"

namespace e2e {
namespace {

constexpr std::uintmax_t kBytes = 192U << 20U;
// What it may take beyond a run with hardly any output: a part of it.
constexpr long kMoreKibMax = 48L * 1024;

std::string prints(std::uintmax_t bytes) {
    return fmt::format("head -c {} /dev/zero | tr '\\0' 'x'", bytes);
}

// contract: REPO-07
TEST(LargeOutput, IsKeptWholeInBoundedMemory) {
    Program program;
    program.environment["ASAN_OPTIONS"] =
        "quarantine_size_mb=8";  // Freed memory is kept for a while.
    program.script({runs(prints(1000)), says("Short.")});
    const auto small = program.start({"run", "--agent", "s", "--create-agent", "go"}).wait(120s);
    EXPECT_EQ(small.exit_code, 0) << small.err;
    program.script({runs(prints(kBytes)), says("Long.")});
    const auto finished = program.start({"run", "--agent", "k", "--create-agent", "go"}).wait(120s);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_LT(finished.rss_kib_max, small.rss_kib_max + kMoreKibMax);
    RecordProperty("rss_kib_max", static_cast<int>(finished.rss_kib_max));

    const auto entries = of_kind(program.json_of({"transcript", "--agent", "k"}), "tool_results");
    ASSERT_EQ(entries.size(), 1U);
    const std::string content =
        base::string_at(entries[0].at("data").at("results").at(0), "content");
    EXPECT_LT(content.size(), 40'000U);
    EXPECT_THAT(content, testing::HasSubstr("[output cut: "));
    const std::filesystem::path artifact = content.substr(content.rfind('\n') + 1);
    ASSERT_TRUE(std::filesystem::is_regular_file(artifact)) << artifact;
    EXPECT_EQ(std::filesystem::file_size(artifact), kBytes);
    const std::string whole = program.read(artifact);
    EXPECT_EQ(whole.find_first_not_of('x'), std::string::npos);
}

}  // namespace
}  // namespace e2e
