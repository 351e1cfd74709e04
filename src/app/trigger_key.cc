#include "app/trigger_key.h"

#include <unistd.h>

#include <random>

#include "base/os/files.h"
#include "base/text.h"

namespace app {
namespace {

constexpr std::size_t kKeyBytesMax = 256;
constexpr int kKeyWords = 8;  // Of 32 bits.

std::string fresh_key() {
    std::random_device device;  // The system's own source of randomness.
    std::string key;
    for (int word = 0; word < kKeyWords; ++word) key += fmt::format("{:08x}", device());
    return key;
}

}  // namespace

std::optional<std::string> known_trigger_key(const std::filesystem::path& home) {
    const auto text = base::read_file(home / "trigger.key", kKeyBytesMax);
    if (!text) return std::nullopt;
    return std::string(base::trim(*text));
}

base::Result<std::string> trigger_key(const std::filesystem::path& home) {
    const auto file = home / "trigger.key";
    if (!std::filesystem::exists(file)) {
        const auto draft = home / fmt::format("trigger.key.{}", getpid());
        TRY(base::write_file_atomic(draft, fresh_key() + "\n", 0600));
        // A link is made only where nothing is yet: a second process uses the key of the first.
        const bool is_made = link(draft.c_str(), file.c_str()) == 0 || errno == EEXIST;
        const auto failure =
            is_made ? base::Status{} : base::Status(base::fail_errno("link " + file.string()));
        unlink(draft.c_str());
        TRY(failure);
    }
    std::string key(base::trim(TRY(base::read_file(file, kKeyBytesMax))));
    if (key.empty())
        return base::fail(base::ErrorCode::Corrupt,
                          "{} is empty; remove it, and the URLs of all external triggers change",
                          file.string());
    return key;
}

}  // namespace app
