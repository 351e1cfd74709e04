// Vaults on file systems that refuse to rename without replacing.
#include "exec/tools/vault/changes/rename.h"

#include <gmock/gmock.h>

#include "base/ids.h"
#include "exec/results/artifacts.h"
#include "exec/tools/patch/folder_for_test.h"
#include "exec/tools/vault/changes/plain_fs_for_test.h"
#include "exec/tools/vault/changes/recover.h"
#include "exec/tools/vault/changes/write.h"

namespace vault {
namespace {

using Files = std::map<std::string, std::string>;

class RenameTest : public testing::Test {
protected:
    RenameTest() {
        folder_.write("v/a.md", "a");
        folder_.write("v/b.md", "b");
        folder_.write("v/c.md", "c");
        folder_.write("v/old/x.md", "x");
    }
    Outcome<void> made(const std::vector<Step>& steps) {
        const Root root = Root::open(folder_.at("v")).value();
        FileLocks locks;
        Intents intents(run_, "call-1");
        Performed folders;
        const Means means{.root = root, .locks = locks, .sink = &sink_, .intents = &intents};
        if (auto done = perform(means, steps, folders); !done)
            return std::unexpected(std::move(done).error());
        return {};
    }
    // Without folders and modes.
    Files all() {
        Files out;
        for (const auto& [path, text] : folder_.all())
            if (path.starts_with("v/") && text != "folder")
                out[path.substr(2)] = text.substr(text.find(' ') + 1);
        return out;
    }
    void link(const std::string& from, const std::string& to) {
        std::filesystem::create_hard_link(folder_.at("v/" + from), folder_.at("v/" + to));
    }
    Recovery recovered() {
        const Root root = Root::open(folder_.at("v")).value();
        return recover(root, run_, "call-1").value();
    }

    patch::TestFolder folder_;
    std::filesystem::path run_{folder_.path() / "run"};
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    results::FileArtifacts sink_{folder_.path() / "run/tool-artifacts", "before", ids_};
};

TEST_F(RenameTest, EveryChangeIsMadeOnAFileSystemWithoutFlags) {
    on_plain_file_system([&] {
        const auto done =
            made({CreateFile{"n.md", "n"}, ModifyFile{"a.md", "a", "A"}, Move{"b.md", "old/b.md"},
                  RemoveFile{"c.md", etag("c")}, Move{"old", "new"}});
        EXPECT_TRUE(done) << done.error().message;
        EXPECT_EQ(all(),
                  (Files{{"a.md", "A"}, {"n.md", "n"}, {"new/b.md", "b"}, {"new/x.md", "x"}}));
    });
}

TEST_F(RenameTest, NothingIsReplacedThereEither) {
    const Files before = all();
    on_plain_file_system([&] {
        for (const Step& step :
             std::vector<Step>{CreateFile{"a.md", "n"}, Move{"b.md", "a.md"}, Move{"old", "a.md"},
                               Move{"a.md", "old"}, Move{"old", "old/in"}}) {
            const auto done = made({step});
            EXPECT_FALSE(done);
            EXPECT_EQ(all(), before);
        }
        EXPECT_THAT(made({Move{"b.md", "a.md"}}).error().message,
                    testing::HasSubstr("already exists"));
    });
}

TEST_F(RenameTest, ACrashBetweenTheTwoNamesOfAFileIsSettled) {
    const Files before = all();
    on_plain_file_system([&] {
        ASSERT_TRUE(made({Move{"b.md", "old/b.md"}}));
        link("old/b.md", "b.md");
        EXPECT_TRUE(std::holds_alternative<NotMade>(recovered()));
        EXPECT_EQ(all(), before);

        ASSERT_TRUE(made({CreateFile{"n.md", "n"}}));
        const auto begun = read_intents(run_, "call-1").value();
        ASSERT_FALSE(begun.intents.empty());
        link("n.md", begun.intents.back().temporary.value());
        EXPECT_TRUE(std::holds_alternative<NotMade>(recovered()));
        EXPECT_EQ(all(), before);
    });
}

}  // namespace
}  // namespace vault
