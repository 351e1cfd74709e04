#include "app/notify.h"

#include <gtest/gtest.h>

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <filesystem>

#include "base/os/files.h"

namespace app {
namespace {

using std::chrono::microseconds;

TEST(Notify, TheWatchdogIsFedTwiceAsOftenAsItIsChecked) {
    const auto watchdog = [](const char* usec) {
        return Notify({{"WATCHDOG_USEC", usec}}).watchdog();
    };
    EXPECT_EQ(watchdog("3000000"), microseconds(1'500'000));
    for (const char* none : {"", "0", "1", "soon", "-2000000"})
        EXPECT_EQ(watchdog(none), std::nullopt) << none;
    EXPECT_EQ(Notify({}).watchdog(), std::nullopt);
}

TEST(Notify, TheManagerReceivesTheStateAsOneDatagram) {
    std::string pattern = testing::TempDir() + "holon-notify-XXXXXX";
    const std::filesystem::path folder = mkdtemp(pattern.data());
    const std::string path = folder / "manager";
    const base::Fd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(manager.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    Notify({{"NOTIFY_SOCKET", path}}).send("READY=1\nSTATUS=up");
    Notify({}).send("nobody asked");
    std::array<char, 64> room{};
    const auto size = ::recv(manager.get(), room.data(), room.size(), 0);
    ASSERT_GT(size, 0);
    EXPECT_EQ(std::string(room.data(), static_cast<std::size_t>(size)), "READY=1\nSTATUS=up");
    EXPECT_LT(::recv(manager.get(), room.data(), room.size(), 0), 0);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace app
