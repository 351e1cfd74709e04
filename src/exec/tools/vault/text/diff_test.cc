#include "exec/tools/vault/text/diff.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace vault {
namespace {

TEST(UnifiedDiff, ShowsWhatChangedWithThreeLinesAround) {
    EXPECT_EQ(unified_diff("n.md", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\n"),
              "--- a/n.md\n+++ b/n.md\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+X\n 6\n 7\n 8\n");
    EXPECT_EQ(unified_diff("n.md", "a\nb\n", "a\nnew\nb\n"),
              "--- a/n.md\n+++ b/n.md\n@@ -1,2 +1,3 @@\n a\n+new\n b\n");
    EXPECT_EQ(unified_diff("n.md", "", "a\n"), "--- a/n.md\n+++ b/n.md\n@@ -0,0 +1,1 @@\n+a\n");
    EXPECT_EQ(unified_diff("n.md", "a\n", ""), "--- a/n.md\n+++ b/n.md\n@@ -1,1 +0,0 @@\n-a\n");
    EXPECT_EQ(unified_diff("n.md", "a\n", "a\n"), "--- a/n.md\n+++ b/n.md\n");
}

TEST(UnifiedDiff, ShowsAMissingLastNewline) {
    EXPECT_EQ(unified_diff("n", "a", "a\n"),
              "--- a/n\n+++ b/n\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
}

TEST(UnifiedDiff, HasOneHunkForEachGroupOfChanges) {
    std::string before, after;
    for (int i = 1; i <= 20; ++i) {
        before += fmt::format("{}\n", i);
        after += i == 2 || i == 19 ? "X\n" : fmt::format("{}\n", i);
    }
    EXPECT_EQ(unified_diff("n", before, after),
              "--- a/n\n+++ b/n\n@@ -1,5 +1,5 @@\n 1\n-2\n+X\n 3\n 4\n 5\n"
              "@@ -16,5 +16,5 @@\n 16\n 17\n 18\n-19\n+X\n 20\n");
}

TEST(UnifiedDiff, IsBounded) {
    const std::string big(kDiffBytesMax * 2, 'x');
    EXPECT_LT(unified_diff("n", "", big).size(), kDiffBytesMax + 100);
    EXPECT_EQ(unified_diff("n", "\xff", "a"), "--- a/n\n+++ b/n\nBinary files differ\n");
}

}  // namespace
}  // namespace vault
