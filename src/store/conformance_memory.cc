// The promises about working memory and episodes.
#include <gmock/gmock.h>

#include "store/conformance.h"

namespace store {

using base::ErrorCode;
using base::from_micros;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace conformance;

namespace {

domain::ContextEpisode episode(const std::string& id, const std::string& agent = "ada") {
    return {.id = id,
            .agent_id = {agent},
            .workspace_id = "ws",
            .created_at = from_micros(1),
            .finalized_at = from_micros(2),
            .summary = "what happened in " + id,
            .commands = {"make -> exit 0"}};
}

}  // namespace

TEST_P(StoreConformance, WorkingMemoryIsEmptyUntilItIsPutAndThenReplaced) {
    domain::WorkingMemory memory{.agent_id = {"ada"}, .working_memory_revision = 3};
    memory.current_working_memory.objective = "ship it";
    memory.pending_working_memory_delta = domain::WorkingMemoryDelta{.to_revision = 3};
    memory.active_episode_builder = domain::EpisodeBuilder{.id = "ep_1"};
    write([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.working_memory({"ada"})), domain::WorkingMemory{.agent_id = {"ada"}});
        TRY(tx.put_working_memory({.agent_id = {"ada"}}));
        return tx.put_working_memory(memory);
    });
    reopen();
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.working_memory({"ada"})), memory);
        EXPECT_EQ(TRY(tx.working_memory({"bob"})), domain::WorkingMemory{.agent_id = {"bob"}});
        return {};
    });
}

TEST_P(StoreConformance, EpisodesAreAppendedInOrderAndNeverReplaced) {
    write([&](Tx& tx) -> Status {
        TRY(tx.append_episode(episode("e1")));
        TRY(tx.append_episode(episode("other", "bob")));
        return tx.append_episode(episode("e2"));
    });
    read([&](Tx& tx) -> Status {
        const auto list = TRY(tx.episodes({"ada"}, {}));
        EXPECT_EQ(list.size(), 2U);
        EXPECT_EQ(list.at(0).record, episode("e1"));
        EXPECT_EQ(list.at(1).record, episode("e2"));
        EXPECT_EQ(TRY(tx.episodes({"ada"}, {.after_seq = list[0].seq})).size(), 1U);
        return {};
    });
}

TEST_P(StoreConformance, AnAgentsMemoryGoesWithIt) {
    write([&](Tx& tx) -> Status {
        TRY(tx.append_episode(episode("e1")));
        TRY(tx.put_working_memory({.agent_id = {"ada"}, .working_memory_revision = 3}));
        return tx.erase_agent({"ada"});
    });
    read([&](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.episodes({"ada"}, {})), IsEmpty());
        EXPECT_EQ(TRY(tx.working_memory({"ada"})).working_memory_revision, 0);
        return {};
    });
}

}  // namespace store
