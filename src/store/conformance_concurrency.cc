// The promises of Store about transactions, threads and failures.
#include <future>
#include <latch>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>

#include "store/conformance.h"

namespace store {

using base::Error;
using base::ErrorCode;
using conformance::attempt;
using conformance::event;
using conformance::message;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

Work append_event(const std::string& agent) {
    return [agent](Tx& tx) -> Status {
        TRY(tx.append_event({agent}, event("e")));
        return {};
    };
}

std::int64_t events_of(Store& store, const std::string& agent) {
    std::int64_t count = -1;
    EXPECT_TRUE(store.read([&](Tx& tx) -> Status {
        count = TRY(tx.last_event_seq({agent}));
        EXPECT_EQ(std::ssize(TRY(tx.events({agent}, {.limit = 1'000'000}))), count);
        return {};
    }));
    return count;
}

}  // namespace

TEST_P(StoreConformance, EventNumbersHaveNoGapsUnderConcurrentProducersOfWhichSomeFail) {
    constexpr int kProducers = 8, kWrites = 50;
    std::vector<std::jthread> producers;
    for (int p = 0; p < kProducers; ++p)
        producers.emplace_back([&, p] {
            for (int i = 0; i < kWrites; ++i) {
                const bool fails = (p + i) % 5 == 0;
                const auto durability = i % 7 == 0 ? Durability::Disk : Durability::Process;
                const Status status = store_->write(durability, [&](Tx& tx) -> Status {
                    TRY(tx.append_event({"ada"}, event("e")));
                    if (fails) return base::fail(ErrorCode::Refused, "no");
                    return {};
                });
                EXPECT_EQ(status.has_value(), !fails);
            }
        });
    producers.clear();
    read([](Tx& tx) -> Status {
        const auto events = TRY(tx.events({"ada"}, {.limit = 1'000}));
        EXPECT_EQ(events.size(), std::size_t{kProducers * kWrites * 4 / 5});
        std::int64_t expected = 0;
        for (const auto& event : events) EXPECT_EQ(event.event_seq, ++expected);
        EXPECT_EQ(TRY(tx.last_event_seq({"ada"})), expected);
        return {};
    });
}

TEST_P(StoreConformance, AFailingWriteIsUndoneWhileItsNeighboursCommit) {
    constexpr int kJobs = 40;
    std::latch left(kJobs);
    std::vector<Status> ended(kJobs);
    for (int i = 0; i < kJobs; ++i)
        store_->write_async(
            Durability::Process,
            [i](Tx& tx) -> Status {
                TRY(tx.append_event({"ada"}, event("e" + std::to_string(i))));
                if (i % 4 == 1) return base::fail(ErrorCode::Conflict, "job {}", i);
                if (i % 4 == 2) throw std::runtime_error("thrown by job");
                return {};
            },
            [&, i](Status status) {
                ended[static_cast<std::size_t>(i)] = std::move(status);
                left.count_down();
            });
    left.wait();
    std::vector<std::string> kept;
    for (int i = 0; i < kJobs; ++i) {
        const auto& status = ended[static_cast<std::size_t>(i)];
        if (i % 4 == 1) {
            EXPECT_EQ(status.error(), (Error{ErrorCode::Conflict, "job " + std::to_string(i)}));
        } else if (i % 4 == 2) {
            EXPECT_EQ(status.error().code, ErrorCode::Internal);
            EXPECT_THAT(status.error().message, HasSubstr("thrown by job"));
        } else {
            EXPECT_TRUE(status);
            kept.push_back("e" + std::to_string(i));
        }
    }
    read([&](Tx& tx) -> Status {
        std::vector<std::string> stored;
        for (const auto& event : TRY(tx.events({"ada"}, {}))) stored.push_back(event.id.value);
        EXPECT_EQ(stored, kept);
        return {};
    });
}

TEST_P(StoreConformance, AnExceptionUndoesTheWriteAndComesOutOfIt) {
    const auto throwing = [](Tx& tx) -> Status {
        TRY(tx.append_event({"ada"}, event("e")));
        throw std::runtime_error("oops");
    };
    EXPECT_THROW((void)store_->write(Durability::Disk, throwing), std::runtime_error);
    EXPECT_EQ(events_of(*store_, "ada"), 0);
    write(append_event("ada"));
    EXPECT_EQ(events_of(*store_, "ada"), 1);
}

TEST_P(StoreConformance, AnExceptionComesOutOfAReadAndLeavesTheStoreUsable) {
    for (int i = 0; i < 20; ++i)
        EXPECT_THROW((void)store_->read([](Tx&) -> Status { throw std::runtime_error("oops"); }),
                     std::runtime_error);
    EXPECT_EQ(events_of(*store_, "ada"), 0);
}

TEST_P(StoreConformance, AReadCannotChangeAnything) {
    write([](Tx& tx) -> Status { return TRY(tx.append_message(message("m1"), "k")), Status{}; });
    read([](Tx& tx) -> Status {
        const auto refused = [](const auto& outcome) {
            ASSERT_FALSE(outcome);
            EXPECT_EQ(outcome.error().code, ErrorCode::Refused);
        };
        refused(tx.put_agent({.agent_id = {"ada"}}));
        refused(tx.put_statistics({.agent_id = {"ada"}}));
        refused(tx.erase_agent({"ada"}));
        refused(tx.append_message(message("m2"), std::nullopt));
        refused(tx.set_queue_status({"m1"}, domain::QueueStatus::Claimed, std::nullopt, {}));
        refused(tx.open_attempt(attempt("r1")));
        refused(tx.put_attempt(attempt("r1")));
        refused(tx.put_frame({"r1"}, "f"));
        refused(tx.put_tool_execution({}));
        refused(tx.append_event({"ada"}, event("e")));
        refused(tx.append_transcript({}));
        refused(tx.append_brief({}));
        refused(tx.put_wait({}));
        refused(tx.put_timer({}));
        refused(tx.put_task({}));
        refused(tx.put_outbox({}));
        refused(tx.erase_outbox("x"));
        EXPECT_EQ(TRY(tx.message({"m1"}))->entry.status, domain::QueueStatus::Queued);
        return {};
    });
    EXPECT_EQ(events_of(*store_, "ada"), 0);
}

TEST_P(StoreConformance, AReadSeesOneSnapshotWhateverIsWrittenMeanwhile) {
    write(append_event("ada"));
    std::promise<void> started;
    std::jthread writer([&] {
        started.get_future().wait();
        for (int i = 0; i < 20; ++i) write(append_event("ada"));
    });
    read([&](Tx& tx) -> Status {
        const auto before = TRY(tx.last_event_seq({"ada"}));
        started.set_value();
        for (int i = 0; i < 200; ++i) EXPECT_EQ(TRY(tx.last_event_seq({"ada"})), before);
        EXPECT_EQ(std::ssize(TRY(tx.events({"ada"}, {}))), before);
        return {};
    });
    writer.join();
    EXPECT_EQ(events_of(*store_, "ada"), 21);
}

TEST_P(StoreConformance, ManyReadersGoOnWhileOthersWrite) {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            std::int64_t seen = 0;
            for (int i = 0; i < 30; ++i) {
                if (t % 4 == 0) write(append_event("ada"));
                const auto now = events_of(*store_, "ada");
                EXPECT_GE(now, seen);
                seen = now;
            }
        });
    threads.clear();
    EXPECT_EQ(events_of(*store_, "ada"), 60);
}

TEST_P(StoreConformance, AWriteIsSeenByTheReadThatFollowsIt) {
    for (int i = 1; i <= 20; ++i) {
        write(append_event("ada"), i % 2 == 0 ? Durability::Disk : Durability::Process);
        EXPECT_EQ(events_of(*store_, "ada"), i);
    }
}

TEST_P(StoreConformance, AWriteSeesItsOwnChangesAndThoseBeforeIt) {
    write(append_event("ada"));
    write([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.last_event_seq({"ada"})), 1);
        EXPECT_EQ(TRY(tx.append_event({"ada"}, event("e"))), 2);
        EXPECT_EQ(TRY(tx.last_event_seq({"ada"})), 2);
        return {};
    });
}

TEST_P(StoreConformance, AnAsynchronousWriteIsCommittedWhenItsCallbackRuns) {
    std::promise<std::int64_t> seen;
    store_->write_async(Durability::Disk, append_event("ada"), [&](Status status) {
        EXPECT_TRUE(status);
        seen.set_value(events_of(*store_, "ada"));
    });
    EXPECT_EQ(seen.get_future().get(), 1);
}

TEST_P(StoreConformance, ACallbackMayWriteAgainAtOnce) {
    constexpr int kChains = 4;
    std::latch left(kChains);
    for (int c = 0; c < kChains; ++c)
        store_->write_async(Durability::Process, append_event("ada"), [&](Status status) {
            EXPECT_TRUE(status);
            write(append_event("ada"));
            store_->write_async(Durability::Process, append_event("ada"), [&](Status last) {
                EXPECT_TRUE(last);
                left.count_down();
            });
        });
    for (int i = 0; i < 20; ++i) write(append_event("bob"));
    left.wait();
    EXPECT_EQ(events_of(*store_, "ada"), kChains * 3);
}

TEST_P(StoreConformance, WritesOfOneCallerHappenInTheirOrder) {
    constexpr int kWrites = 100;
    std::latch left(kWrites);
    std::vector<std::string> expected;
    for (int i = 0; i < kWrites; ++i) {
        const std::string id = "e" + std::to_string(i);
        expected.push_back(id);
        store_->write_async(
            i % 3 == 0 ? Durability::Disk : Durability::Process,
            [id](Tx& tx) -> Status {
                TRY(tx.append_event({"ada"}, event(id)));
                return {};
            },
            [&](Status) { left.count_down(); });
    }
    left.wait();
    read([&](Tx& tx) -> Status {
        std::vector<std::string> stored;
        for (const auto& event : TRY(tx.events({"ada"}, {}))) stored.push_back(event.id.value);
        EXPECT_EQ(stored, expected);
        return {};
    });
}

TEST_P(StoreConformance, ClosingTheStoreFinishesWhatWaits) {
    std::atomic<int> ended{0};
    for (int i = 0; i < 30; ++i)
        store_->write_async(Durability::Process, append_event("ada"), [&](Status status) {
            EXPECT_TRUE(status);
            ++ended;
        });
    reopen();
    EXPECT_EQ(ended, 30);
    EXPECT_EQ(events_of(*store_, "ada"), 30);
}

TEST_P(StoreConformance, WorkThatCallsTheStoreIsABugAndIsUndone) {
    const auto nested = [&](Tx& tx) -> Status {
        TRY(tx.append_event({"ada"}, event("e")));
        return store_->write(Durability::Process, append_event("ada"));
    };
    EXPECT_THROW((void)store_->write(Durability::Process, nested), base::Bug);
    EXPECT_EQ(events_of(*store_, "ada"), 0);
}

TEST_P(StoreConformance, OnlyOneOfManyRacingAttemptsIsOpened) {
    std::atomic<int> opened{0};
    std::vector<std::jthread> racers;
    for (int i = 0; i < 8; ++i)
        racers.emplace_back([&, i] {
            const Status status = store_->write(Durability::Process, [&](Tx& tx) {
                return tx.open_attempt(attempt("r" + std::to_string(i)));
            });
            if (status)
                ++opened;
            else
                EXPECT_EQ(status.error().code, ErrorCode::Conflict);
        });
    racers.clear();
    EXPECT_EQ(opened, 1);
}

TEST_P(StoreConformance, OnlyOneOfManyRacingMessagesWithOneKeyIsKept) {
    std::vector<AppendOutcome> outcomes(8);
    std::vector<std::jthread> racers;
    for (std::size_t i = 0; i < outcomes.size(); ++i)
        racers.emplace_back([&, i] {
            write([&](Tx& tx) -> Status {
                outcomes[i] = TRY(tx.append_message(message("m" + std::to_string(i)), "key"));
                return {};
            });
        });
    racers.clear();
    read([&](Tx& tx) -> Status {
        const auto stored = TRY(tx.messages({"ada"}, {}));
        EXPECT_EQ(stored.size(), 1u);
        for (const auto& outcome : outcomes)
            if (const auto* have = std::get_if<AlreadyHave>(&outcome))
                EXPECT_EQ(have->message_id, stored.at(0).record.message.id);
        EXPECT_EQ(std::ranges::count_if(
                      outcomes, [](const auto& o) { return std::holds_alternative<Appended>(o); }),
                  1);
        return {};
    });
}

}  // namespace store
