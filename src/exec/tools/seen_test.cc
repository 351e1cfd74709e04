#include "exec/tools/seen.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/hash.h"

#include <gmock/gmock.h>

namespace tools {
namespace {

namespace fs = std::filesystem;
using base::sha256_hex;
using testing::ElementsAre;
using testing::IsEmpty;

class SeenTest : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "seen_test-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
        root_ = folder_ / "root";
        fs::create_directories(root_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    void write(std::string_view name, std::string_view bytes) const {
        fs::create_directories((root_ / name).parent_path());
        std::ofstream(root_ / name, std::ios::binary) << bytes;
    }
    std::vector<NamedFile> named(std::string cmd) const {
        const std::vector<CommandWords> commands{{std::move(cmd), root_}};
        return named_files(root_, commands);
    }
    std::vector<std::string> words(std::string cmd, const fs::path& below = {}) const {
        return named_paths(root_, {std::move(cmd), root_ / below});
    }
    base::ErrorCode refusal(const fs::path& path) const {
        const auto hash = content_hash(root_, path);
        return hash ? base::ErrorCode::Internal : hash.error().code;
    }

    fs::path folder_, root_;
};

TEST_F(SeenTest, NamesAreTheWordsThatCanBeFilesBeneathTheRoot) {
    EXPECT_THAT(words("cat a.txt 'b c.txt' <in.txt >\"out.txt\";x=y"),
                ElementsAre("cat", "a.txt", "b", "c.txt", "in.txt", "out.txt", "x", "y"));
    EXPECT_THAT(words("cat ../up.txt ./here.txt", "sub"),
                ElementsAre("sub/cat", "up.txt", "sub/here.txt"));
    EXPECT_THAT(words("../../etc/passwd /etc/passwd -n $HOME/a ~/b *.txt"), IsEmpty());
    EXPECT_THAT(words(root_.string() + "/a.txt"), ElementsAre("a.txt"));
}

TEST_F(SeenTest, ANamedFileThatStaysAsItWasIsSeenWithItsContent) {
    write("a.txt", "one\n");
    write("sub/b.txt", "two\n");
    const auto before = named("cat a.txt sub/b.txt missing.txt sub");
    EXPECT_EQ(seen_files(root_, before, {}),
              (domain::SeenFiles{
                  .root = root_.string(),
                  .files = {{"a.txt", sha256_hex("one\n")}, {"sub/b.txt", sha256_hex("two\n")}}}));
}

TEST_F(SeenTest, ANamedFileThatChangesMeanwhileIsNotSeen) {
    write("a.txt", "one\n");
    const auto before = named("cat a.txt");
    write("b.txt", "two\n");
    fs::rename(root_ / "b.txt", root_ / "a.txt");
    EXPECT_THAT(seen_files(root_, before, {}).files, IsEmpty())
        << "nobody knows which of the two the command has read";
}

TEST_F(SeenTest, AChangedFileIsSeenAsTheCommandLeftIt) {
    write("a.txt", "one\n");
    const auto before = named("sed -i s/one/two/ a.txt");
    write("a.txt", "two\n");
    write("new.txt", "new\n");
    EXPECT_EQ(seen_files(root_, before,
                         {.created = {{"new.txt"}, {"folder", domain::PathKind::Folder}},
                          .modified = {{"a.txt"}}})
                  .files,
              (std::vector<domain::SeenFile>{{"a.txt", sha256_hex("two\n")},
                                             {"new.txt", sha256_hex("new\n")}}));
    EXPECT_THAT(seen_files(root_, {}, {.observed = false, .modified = {{"a.txt"}}}).files,
                IsEmpty());
}

TEST_F(SeenTest, OnlySoManyFilesAreSeen) {
    domain::Effects effects;
    std::string cmd = "cat";
    for (int i = 0; i < 40; ++i) {
        const auto name = fmt::format("f{:02}.txt", i);
        write(name, name);
        cmd += " " + name;
        effects.created.push_back({name});
    }
    EXPECT_EQ(named(cmd).size(), kNamedFilesMax);
    EXPECT_EQ(seen_files(root_, {}, effects).files.size(), kSeenFilesMax);
}

TEST_F(SeenTest, TheHashOfAFileThatIsTooLargeALinkOrNoFileIsNotKnown) {
    write("a.txt", "one\n");
    write("large.txt", std::string(kSeenFileBytesMax + 1, 'x'));
    write("exact.txt", std::string(kSeenFileBytesMax, 'x'));
    fs::create_symlink("a.txt", root_ / "link.txt");
    std::ofstream(folder_ / "secret.txt") << "secret";
    fs::create_symlink(folder_, root_ / "out");
    ASSERT_EQ(mkfifo((root_ / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(content_hash(root_, "a.txt").value(), sha256_hex("one\n"));
    EXPECT_TRUE(content_hash(root_, "exact.txt"));
    EXPECT_EQ(refusal("large.txt"), base::ErrorCode::InvalidInput);
    EXPECT_EQ(refusal("pipe"), base::ErrorCode::InvalidInput);
    EXPECT_EQ(refusal("link.txt"), base::ErrorCode::Refused);
    EXPECT_EQ(refusal("out/secret.txt"), base::ErrorCode::Refused);
    EXPECT_EQ(refusal("../secret.txt"), base::ErrorCode::Refused);
    EXPECT_EQ(refusal("missing.txt"), base::ErrorCode::NotFound);
    EXPECT_THAT(named("cat link.txt out/secret.txt pipe ../secret.txt"), IsEmpty());
}

}  // namespace
}  // namespace tools
