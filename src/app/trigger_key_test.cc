#include "app/trigger_key.h"

#include <gtest/gtest.h>

#include <stdlib.h>

#include <fstream>

namespace app {
namespace {

namespace fs = std::filesystem;

class TriggerKey : public testing::Test {
protected:
    static fs::path fresh_home() {
        std::string pattern = testing::TempDir() + "holon-key-XXXXXX";
        return mkdtemp(pattern.data());
    }
    ~TriggerKey() override { fs::remove_all(home_); }

    const fs::path home_ = fresh_home();
    const fs::path file_ = home_ / "trigger.key";
};

TEST_F(TriggerKey, IsMadeOnceAndOnlyItsOwnerCanReadIt) {
    EXPECT_EQ(known_trigger_key(home_), std::nullopt);
    const auto key = trigger_key(home_).value();
    EXPECT_EQ(key.size(), 64U);
    EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(trigger_key(home_), key);
    EXPECT_EQ(known_trigger_key(home_), key);
    EXPECT_EQ(std::distance(fs::directory_iterator(home_), fs::directory_iterator()), 1)
        << "a draft is left";
}

TEST_F(TriggerKey, OfAnotherHomeIsAnother) {
    const auto other = fresh_home();
    EXPECT_NE(trigger_key(home_).value(), trigger_key(other).value());
    fs::remove_all(other);
}

// With an empty key, anybody could make the tokens.
TEST_F(TriggerKey, ThatIsEmptyIsRefused) {
    std::ofstream(file_) << "\n";
    const auto key = trigger_key(home_);
    ASSERT_FALSE(key);
    EXPECT_EQ(key.error().code, base::ErrorCode::Corrupt);
}

}  // namespace
}  // namespace app
