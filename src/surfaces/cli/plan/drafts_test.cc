#include "surfaces/cli/plan/drafts.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/os/files.h"

namespace cli {
namespace {

namespace fs = std::filesystem;

TEST(Drafts, TheNewestAreKeptAndOtherFilesAreLeftAlone) {
    std::string name = (fs::temp_directory_path() / "holon-drafts-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    const fs::path folder = fs::path(name) / "plan-drafts";
    std::vector<fs::path> files;
    for (std::size_t i = 0; i < kDraftsMax + 3; ++i) {
        const std::string hash = fmt::format("sha256:{:012x}{:052x}", i, 0);
        files.push_back(keep_draft(folder, hash, fmt::format("{}", i)).value());
        // Older than any that is written now, the first the oldest.
        fs::last_write_time(files.back(),
                            fs::file_time_type::clock::now() - std::chrono::hours(1000 - i));
        if (i == 0) ASSERT_TRUE(base::write_file_atomic(folder / "mine.json", "x", 0600));
    }
    const auto last = keep_draft(folder, "sha256:ffffffffffff00", "last").value();
    for (std::size_t i = 0; i < files.size(); ++i) EXPECT_EQ(fs::exists(files[i]), i >= 4) << i;
    EXPECT_EQ(base::read_file(last, 100).value(), "last");
    EXPECT_TRUE(fs::exists(folder / "mine.json"));
    fs::remove_all(name);
}

}  // namespace
}  // namespace cli
