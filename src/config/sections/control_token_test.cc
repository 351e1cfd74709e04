#include "config/sections/control_token.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "base/os/files.h"

namespace config {
namespace {

class ControlToken : public testing::Test {
protected:
    ControlToken() {
        std::string name = (std::filesystem::temp_directory_path() / "holon-token-XXXXXX").string();
        CHECK(mkdtemp(name.data()) != nullptr, "mkdtemp");
        folder = name;
    }
    ~ControlToken() override { std::filesystem::remove_all(folder); }

    std::filesystem::path file() const { return folder / "control-token"; }

    std::filesystem::path folder;
};

TEST_F(ControlToken, IsMadeOnceForItsOwnerOnly) {
    EXPECT_EQ(read_control_token(file()), std::nullopt);
    const auto made = ensure_control_token(file()).value();
    EXPECT_EQ(made.size(), 64U);
    struct stat found{};
    ASSERT_EQ(stat(file().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600U);
    EXPECT_EQ(read_control_token(file()), made);
    EXPECT_EQ(ensure_control_token(file()).value(), made);
}

TEST_F(ControlToken, AFileThatOthersCouldReadOrThatHoldsNoTokenIsReplaced) {
    ASSERT_TRUE(base::write_file_atomic(file(), "seen-by-others", 0644));
    EXPECT_EQ(read_control_token(file()), std::nullopt);
    EXPECT_NE(ensure_control_token(file()).value(), "seen-by-others");

    ASSERT_TRUE(base::write_file_atomic(file(), " \n", 0600));
    EXPECT_EQ(ensure_control_token(file()).value().size(), 64U);

    const auto target = folder / "target";
    ASSERT_TRUE(base::write_file_atomic(target, "chosen-by-another", 0600));
    std::filesystem::remove(file());
    std::filesystem::create_symlink(target, file());
    EXPECT_EQ(read_control_token(file()), std::nullopt);
    EXPECT_NE(ensure_control_token(file()).value(), "chosen-by-another");
    EXPECT_EQ(base::read_file(target, 100), "chosen-by-another");
}

}  // namespace
}  // namespace config
