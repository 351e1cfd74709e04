#include "exec/tools/vault/root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include <gmock/gmock.h>

#include "exec/tools/patch/folder_for_test.h"

namespace vault {
namespace {

constexpr std::size_t kBytes = 1 << 20;
constexpr int kReads = 200;

bool is_one_version(std::string_view bytes) {
    return bytes.size() == kBytes && bytes.find_first_not_of(bytes.front()) == std::string::npos;
}

// Overwrites a file in place, one version after the other, as programs do that know no locks.
class Writer {
public:
    // Without `paced` it never rests; else it writes one version for each turn().
    Writer(const std::string& path, bool paced)
        : thread_([this, path, paced] {
              const base::Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
              int seen = 0;
              for (char version = 'a'; !stop_; version = version == 'z' ? 'a' : ++version) {
                  const std::string bytes(kBytes, version);
                  if (paced) turn_.wait(seen);
                  seen = turn_;
                  if (::pwrite(file.get(), bytes.data(), bytes.size(), 0) !=
                      static_cast<ssize_t>(kBytes))
                      return;
              }
          }) {}
    ~Writer() {
        stop_ = true;
        turn();
        thread_.join();
    }
    void turn() {
        ++turn_;
        turn_.notify_one();
    }

private:
    std::atomic<bool> stop_{false};
    std::atomic<int> turn_{0};
    std::thread thread_;
};

TEST(VaultRoot, AFileThatIsWrittenToIsReadAsOneVersionOrIsBusy) {
    const patch::TestFolder folder;
    folder.write("note.md", std::string(kBytes, '0'));
    const auto root = Root::open(folder.path()).value();
    int whole = 0;
    {
        Writer writer(folder.at("note.md"), true);
        for (int i = 0; i < kReads; ++i) {
            writer.turn();  // It writes while this reads.
            const auto content = root.read("note.md");
            if (!content) {
                EXPECT_TRUE(is_busy(content.error())) << content.error().message;
                EXPECT_TRUE(content.error().retryable);
                continue;
            }
            ASSERT_TRUE(is_one_version(content->bytes)) << "reading " << i;
            ++whole;
        }
    }
    EXPECT_GT(whole, 0);
    EXPECT_TRUE(root.read("note.md")) << "nobody writes any more";
}

TEST(VaultRoot, AFileThatNeverRestsIsBusyAfterABoundedTime) {
    const patch::TestFolder folder;
    folder.write("note.md", std::string(kBytes, '0'));
    const auto root = Root::open(folder.path()).value();
    const Writer writer(folder.at("note.md"), false);
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < 5; ++i)
        if (const auto content = root.read("note.md"); content)
            ASSERT_TRUE(is_one_version(content->bytes));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
}

TEST(VaultRoot, AFileThatWasJustReplacedIsRead) {
    const patch::TestFolder folder;
    const auto root = Root::open(folder.path()).value();
    for (int i = 0; i < 20; ++i) {
        folder.write("note.md", std::to_string(i));
        const auto content = root.read("note.md");
        ASSERT_TRUE(content) << content.error().message;
        EXPECT_EQ(content->bytes, std::to_string(i));
    }
}

}  // namespace
}  // namespace vault
