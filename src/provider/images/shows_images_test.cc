#include "provider/images/shows_images.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/os/files.h"
#include "provider/conformance.h"
#include "tests/support/fake_loop.h"

namespace provider {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Answers what the test says, and keeps which images each request showed.
class Server final : public Provider {
public:
    explicit Server(base::Loop& loop) : loop_(loop) {}
    std::shared_ptr<Exchange> ask(Request request, Progress,
                                  std::move_only_function<void(Outcome)> done) override {
        std::vector<std::string> images;
        for (const auto& [digest, image] : request.images) images.push_back(*image);
        const bool refuses = refuses_always || (refuses_images && !images.empty());
        shown.push_back(std::move(images));
        loop_.post([refuses, done = std::move(done)]() mutable {
            if (refuses)
                return done(std::unexpected(Failure{.kind = FailureKind::ContractError,
                                                    .message = "could not process image",
                                                    .status = 400}));
            done(Reply{.blocks = {domain::TextBlock{"seen"}}});
        });
        struct Asked final : Exchange {
            void cancel() override {}
        };
        return std::make_shared<Asked>();
    }
    bool refuses_images{false};
    bool refuses_always{false};
    std::vector<std::vector<std::string>> shown;

private:
    base::Loop& loop_;
};

class ShowsImagesTest : public testing::Test {
protected:
    ShowsImagesTest() {
        folder = std::filesystem::temp_directory_path() / fmt::format("images-{}", ::getpid());
        std::filesystem::create_directories(folder / "artifacts");
    }
    ~ShowsImagesTest() override { std::filesystem::remove_all(folder); }

    domain::Media keep(const std::string& name, const std::string& bytes) {
        EXPECT_TRUE(base::write_file_atomic(folder / "artifacts" / name, bytes, 0600));
        return {"image/png", name, base::sha256_hex(bytes), static_cast<std::int64_t>(bytes.size()),
                1,           1};
    }
    Outcome ask(std::vector<domain::Media> media) {
        ToolAnswer answer{"call", "[image]", false};
        answer.media = std::move(media);
        conformance::Asked asked;
        asked.ask(shows, {.model_ref = "a/b",
                          .conversation = {ToolResultsTurn{{std::move(answer)}}},
                          .media_folder = folder / "artifacts"});
        loop.run();
        EXPECT_EQ(asked.outcomes.size(), 1U);
        return asked.outcomes.at(0);
    }

    std::filesystem::path folder;
    test_support::FakeLoop loop;
    std::shared_ptr<Server> server{std::make_shared<Server>(loop)};
    ShowsImages shows{server, loop};
};

TEST_F(ShowsImagesTest, ReadsTheFilesThatTheConversationNames) {
    const auto outcome = ask({keep("a.png", "abc")});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->request_diagnostics.at("images_sent"), json::value(1));
    EXPECT_THAT(server->shown, ElementsAre(ElementsAre("YWJj")));
}

TEST_F(ShowsImagesTest, AFileThatIsGoneChangedOrElsewhereIsLeftOut) {
    auto gone = keep("gone.png", "one");
    std::filesystem::remove(folder / "artifacts" / "gone.png");
    const auto changed = keep("changed.png", "two");
    keep("changed.png", "2wo");
    const auto grown = keep("grown.png", "three");
    keep("grown.png", "three and more");
    auto elsewhere = keep("x.png", "four");
    std::filesystem::rename(folder / "artifacts" / "x.png", folder / "x.png");
    elsewhere.file = "../x.png";
    auto linked = keep("y.png", "five");
    std::filesystem::rename(folder / "artifacts" / "y.png", folder / "y.png");
    std::filesystem::create_symlink(folder / "y.png", folder / "artifacts" / "y.png");
    ASSERT_TRUE(ask({gone, changed, grown, elsewhere, linked}));
    EXPECT_THAT(server->shown, ElementsAre(IsEmpty()));
}

TEST_F(ShowsImagesTest, ARefusedImageIsLeftOutFromThenOnAndThoseTakenBeforeStay) {
    const auto first = keep("a.png", "abc");
    ASSERT_TRUE(ask({first}));
    server->refuses_images = true;
    const auto second = keep("b.png", "abd");
    const auto outcome = ask({first, second});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->request_diagnostics.at("images_sent"), json::value(0));
    server->refuses_images = false;
    ASSERT_TRUE(ask({first, second}));
    EXPECT_THAT(server->shown, ElementsAre(ElementsAre("YWJj"), testing::SizeIs(2), IsEmpty(),
                                           ElementsAre("YWJj")));
}

TEST_F(ShowsImagesTest, ARequestThatIsWrongWithoutImagesFailsAndForgetsNoImage) {
    server->refuses_always = true;
    const auto image = keep("a.png", "abc");
    const auto outcome = ask({image});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, FailureKind::ContractError);
    server->refuses_always = false;
    ASSERT_TRUE(ask({image}));
    EXPECT_THAT(server->shown.back(), ElementsAre("YWJj"));
}

TEST_F(ShowsImagesTest, CancelledWhileFilesAreRead) {
    ToolAnswer answer{"call", "[image]", false};
    answer.media = {keep("a.png", "abc")};
    conformance::Asked asked;
    asked.ask(shows, {.conversation = {ToolResultsTurn{{std::move(answer)}}},
                      .media_folder = folder / "artifacts"});
    asked.cancel();
    asked.cancel();
    loop.run();
    ASSERT_EQ(asked.outcomes.size(), 1U);
    ASSERT_FALSE(asked.outcomes[0]);
    EXPECT_EQ(asked.outcomes[0].error().kind, FailureKind::Cancelled);
    EXPECT_THAT(server->shown, IsEmpty());
    asked.cancel();
}

}  // namespace
}  // namespace provider
