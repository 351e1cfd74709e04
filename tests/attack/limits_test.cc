// Limits that need more than one process or kind of memory to be tried.
#include "tests/attack/stage.h"

#include "tests/support/skip.h"

namespace attack {
namespace {

using Limits = Boundary;

// 400 MiB of shared mappings and 400 MiB of files in memory, each below the limit of 512 MiB that
// every process has, and neither of them counted against it.
constexpr const char* kShared = R"py(
import mmap, os
m = mmap.mmap(-1, 400 << 20)
for at in range(0, 400 << 20, 4096): m[at] = 1
print("mapped", flush=True)
files = [os.memfd_create("x") for n in range(40)]
for f in files: os.write(f, b"x" * (10 << 20))
print("took all of it", flush=True)
)py";

TEST_F(Limits, SharedMemoryCountsWhereGroupsCanBeMade) {
    if (machine().memory_group.empty())
        HOLON_SKIP("this user may make no control groups here; holon doctor says so");
    EXPECT_EQ(attempt({.family = "memory", .script = kShared, .is_python = true}, Confined::Yes),
              std::vector<std::string>{});
    EXPECT_THAT(said_, testing::HasSubstr("mapped"));
    EXPECT_THAT(said_, testing::Not(testing::HasSubstr("took all of it")));
}

}  // namespace
}  // namespace attack
