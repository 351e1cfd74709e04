#include "record/events/committer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "store/sql/sqlite/sqlite_store.h"
#include "tests/support/fake_loop.h"

namespace events {
namespace {

using base::ErrorCode;
using testing::ElementsAre;
using testing::IsEmpty;

// Fails as many commits as it is told to, and keeps those it is told to hold back.
class WeakStore final : public store::Store {
public:
    store::Status write(store::Durability durability, store::Work work) override {
        ++writes;
        if (failures > 0) {
            --failures;
            return base::fail(code, "the disk is full");
        }
        return inner_->write(durability, std::move(work));
    }
    void write_async(store::Durability durability, store::Work work,
                     std::move_only_function<void(store::Status)> done) override {
        if (is_late) {
            late.push_back(
                [this, durability, work = std::move(work), done = std::move(done)]() mutable {
                    done(write(durability, std::move(work)));
                });
            return;
        }
        auto status = write(durability, std::move(work));
        if (held) {
            late.push_back([status, done = std::move(done)]() mutable { done(status); });
            return;
        }
        done(std::move(status));
    }
    store::Status read(store::Work work) override { return inner_->read(std::move(work)); }

    int failures{0};
    int writes{0};
    ErrorCode code{ErrorCode::Io};
    bool held{false};     // `done` waits.
    bool is_late{false};  // The work waits, too.
    std::deque<base::Job> late;

private:
    std::unique_ptr<store::Store> inner_{
        sqlite::open({.file = ":memory:", .mode = sqlite::Mode::Inline}).value()};
};

class CommitterTest : public testing::Test {
protected:
    CommitterTest() {
        token_ = feed_.subscribe(
            [this](const Committed& one) { seen_.push_back("event " + one.event.kind); });
    }
    // Appends an event and gives back its number.
    static Committer::Work<std::int64_t> append(std::string kind) {
        return [kind = std::move(kind)](Log& log) -> base::Result<std::int64_t> {
            domain::events::Draft draft;
            draft.kind = kind;
            TRY(log.append({"main"}, std::move(draft)));
            return TRY(log.tx().last_event_seq({"main"}));
        };
    }
    Committer::Then<std::int64_t> note() {
        return [this](base::Result<std::int64_t> seq) {
            seen_.push_back(seq ? fmt::format("seq {}", *seq) : seq.error().message);
        };
    }

    test_support::FakeLoop loop_;
    base::RandomIds ids_{loop_, 1};
    WeakStore store_;
    Feed feed_;
    Committer committer_{{store_, loop_, loop_, ids_, feed_}};
    std::vector<std::string> seen_;
    std::shared_ptr<void> token_;
    std::optional<base::Lifetime> owner_{std::in_place};
};

TEST_F(CommitterTest, PublishesWhatWasCommittedAndThenContinuesOnTheLoop) {
    committer_.commit<std::int64_t>(*owner_, {}, append("one"), note());
    EXPECT_THAT(seen_, IsEmpty()) << "only the loop continues";
    loop_.run();
    EXPECT_THAT(seen_, ElementsAre("event one", "seq 1"));
}

TEST_F(CommitterTest, ReportsAFailureAndPublishesNothing) {
    store_.failures = 1;
    committer_.commit<std::int64_t>(*owner_, {}, append("one"), note());
    loop_.run();
    EXPECT_THAT(seen_, ElementsAre("the disk is full"));
}

TEST_F(CommitterTest, RetriesAFaultThatMayPassWithGrowingPauses) {
    store_.failures = 5;
    const auto start = loop_.now();
    committer_.commit<std::int64_t>(*owner_, {.on_fault = OnFault::Retry}, append("one"), note());
    loop_.run();
    EXPECT_THAT(seen_, ElementsAre("event one", "seq 1"));
    EXPECT_EQ(store_.writes, 6);
    EXPECT_EQ(loop_.now() - start, kCommitRetryFirst * 31) << "100, 200, 400, 800 and 1600 ms";
}

TEST_F(CommitterTest, GivesUpWhenItsPatienceIsOver) {
    store_.failures = 1'000;
    const auto start = loop_.now();
    committer_.commit<std::int64_t>(*owner_, kRetryWhileAwaited, append("one"), note());
    loop_.run();
    EXPECT_THAT(seen_, ElementsAre("the disk is full"));
    EXPECT_GT(loop_.now() - start, kNowPatience / 2);
    EXPECT_LE(loop_.now() - start, kNowPatience);
}

TEST_F(CommitterTest, DoesNotRetryWhatWillFailAgain) {
    store_.failures = 1;
    store_.code = ErrorCode::Corrupt;
    committer_.commit<std::int64_t>(*owner_, {.on_fault = OnFault::Retry}, append("one"), note());
    loop_.run();
    EXPECT_THAT(seen_, ElementsAre("the disk is full"));
    EXPECT_EQ(store_.writes, 1);
}

TEST_F(CommitterTest, StopsRetryingWhenTheOwnerIsGone) {
    store_.failures = 1'000;
    committer_.commit<std::int64_t>(*owner_, {.on_fault = OnFault::Retry}, append("one"), note());
    loop_.run_until([this] { return store_.writes == 3; });
    owner_.reset();
    loop_.run();
    EXPECT_EQ(store_.writes, 3);
    EXPECT_THAT(seen_, IsEmpty());
}

TEST_F(CommitterTest, KeepsTheCommitButDoesNotContinueForAnOwnerThatIsGone) {
    store_.held = true;
    committer_.commit<std::int64_t>(*owner_, {}, append("one"), note());
    owner_.reset();
    for (auto& done : store_.late) done();
    loop_.run();
    EXPECT_THAT(seen_, IsEmpty());
    std::int64_t last = 0;
    ASSERT_TRUE(store_.read([&](store::Tx& tx) -> base::Status {
        last = TRY(tx.last_event_seq({"main"}));
        return {};
    }));
    EXPECT_EQ(last, 1);
}

TEST_F(CommitterTest, DestroysTheStepOnTheLoopOnly) {
    bool gone = false;
    auto witness = std::shared_ptr<void>(nullptr, [&](void*) { gone = true; });
    store_.held = true;
    committer_.commit<std::int64_t>(*owner_, {}, append("one"),
                                    [witness = std::move(witness)](const auto&) {});
    store_.late.front()();
    store_.late.clear();
    EXPECT_FALSE(gone) << "the store has finished with it, the loop has not";
    loop_.run();
    EXPECT_TRUE(gone);
}

TEST_F(CommitterTest, CommitsAtOnceForThoseWhoWaitAndPublishesOnTheLoop) {
    const auto seq = committer_.commit_now<std::int64_t>(owner_->watch(), append("one"));
    EXPECT_EQ(seq, 1);
    EXPECT_THAT(seen_, IsEmpty());
    loop_.run();
    EXPECT_THAT(seen_, ElementsAre("event one"));
}

TEST_F(CommitterTest, WaitsForAnotherProcessThatHoldsTheLockWhileSomebodyWaits) {
    store_.code = ErrorCode::Unavailable;
    store_.failures = 2;
    EXPECT_EQ(committer_.commit_now<std::int64_t>(owner_->watch(), append("one")), 1);
    EXPECT_EQ(store_.writes, 3);
    loop_.run();
    EXPECT_THAT(seen_, ElementsAre("event one"));
}

TEST_F(CommitterTest, GivesUpOnALockWhenThePatienceIsSpent) {
    store_.code = ErrorCode::Unavailable;
    store_.failures = 1000;
    Committer hasty({store_, loop_, loop_, ids_, feed_, {}, kCommitRetryFirst / 2});
    const auto seq = hasty.commit_now<std::int64_t>(owner_->watch(), append("one"));
    ASSERT_FALSE(seq);
    EXPECT_EQ(seq.error().code, ErrorCode::Unavailable);
    EXPECT_EQ(store_.writes, 1);
}

TEST_F(CommitterTest, ReportsAFullDiskAndARefusalAtOnceToThoseWhoWait) {
    store_.failures = 1;
    EXPECT_EQ(committer_.commit_now<std::int64_t>(owner_->watch(), append("one")).error().code,
              ErrorCode::Io);
    const auto refused = committer_.commit_now<std::int64_t>(
        owner_->watch(), [](Log&) -> base::Result<std::int64_t> {
            return base::fail(ErrorCode::Unavailable, "not served here");
        });
    EXPECT_EQ(refused.error().message, "not served here");
    EXPECT_EQ(store_.writes, 2);
}

TEST_F(CommitterTest, LoadsFromASnapshotAndContinuesOnTheLoop) {
    ASSERT_TRUE(committer_.commit_now<std::int64_t>(owner_->watch(), append("one")));
    committer_.load<std::int64_t>(
        *owner_, [](store::Tx& tx) { return tx.last_event_seq({"main"}); }, note());
    EXPECT_THAT(seen_, IsEmpty());
    loop_.run();
    EXPECT_THAT(seen_, ElementsAre("event one", "seq 1"));
}

TEST_F(CommitterTest, ReportsWhatBackgroundWorkThrowsAsAnError) {
    committer_.background<std::int64_t>(
        *owner_, []() -> base::Result<std::int64_t> { throw std::runtime_error("a bug"); }, note());
    loop_.run();
    EXPECT_THAT(seen_, ElementsAre("a bug"));
}

TEST_F(CommitterTest, DropsAStepThatHasNotBegunWhenItsOwnerGoes) {
    store_.is_late = true;
    committer_.commit<std::int64_t>(*owner_, {}, append("one"), note());
    owner_.reset();
    for (auto& work : store_.late) work();
    loop_.run();
    EXPECT_THAT(seen_, IsEmpty());
    std::int64_t last = 0;
    ASSERT_TRUE(store_.read([&](store::Tx& tx) -> base::Status {
        last = TRY(tx.last_event_seq({"main"}));
        return {};
    }));
    EXPECT_EQ(last, 0);
}

TEST_F(CommitterTest, LoadsNothingForAnOwnerThatIsGone) {
    committer_.load<std::int64_t>(
        *owner_, [](store::Tx& tx) { return tx.last_event_seq({"main"}); }, note());
    owner_.reset();
    loop_.run();
    EXPECT_THAT(seen_, IsEmpty());
}

}  // namespace
}  // namespace events
