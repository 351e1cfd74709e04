#include "exec/sandbox/memory/memory_groups.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/sandbox/machine.h"

namespace sandbox {
namespace {

namespace fs = std::filesystem;

// A folder tree like /sys/fs/cgroup. Real groups get their files from the kernel; here a group that
// is made is empty, so a fitting one is there already.
class MemoryGroupsTest : public testing::Test {
protected:
    MemoryGroupsTest() {
        std::string pattern = testing::TempDir() + "holon-cgroup-XXXXXX";
        mounts_ = mkdtemp(pattern.data());
    }
    ~MemoryGroupsTest() override { fs::remove_all(mounts_); }

    void group(const std::string& path, const std::string& handed_on) {
        fs::create_directories(mounts_ / path);
        std::ofstream(mounts_ / path / "cgroup.procs") << "";
        std::ofstream(mounts_ / path / "cgroup.subtree_control") << handed_on;
    }
    fs::path mounts_;
};

TEST_F(MemoryGroupsTest, AFolderWithoutControlFilesIsNone) {
    group("app.slice", "cpu memory pids");
    group("app.slice/holon.service", "");
    EXPECT_EQ(find_memory_groups("0::/app.slice/holon.service\n", mounts_), "");
    EXPECT_EQ(find_memory_groups("4:memory:/x\n", mounts_), "");
    EXPECT_EQ(find_memory_groups("", mounts_), "");
    EXPECT_EQ(find_memory_groups("nonsense", mounts_), "");
    // Nothing is left of what was tried.
    for (const auto& entry : fs::recursive_directory_iterator(mounts_))
        EXPECT_FALSE(entry.path().filename().string().starts_with("holon-probe")) << entry.path();
}

TEST(MemoryGroups, DoctorSaysWhereMemoryIsBoundedForEachProcessOnly) {
    EXPECT_THAT(weaker({}), testing::Contains(testing::HasSubstr("shared memory")));
    EXPECT_THAT(weaker({.memory_group = "/sys/fs/cgroup/app.slice"}),
                testing::Not(testing::Contains(testing::HasSubstr("shared memory"))));
    EXPECT_THAT(weaker({.is_root = true}), testing::Contains(testing::HasSubstr("as root")));
}

}  // namespace
}  // namespace sandbox
