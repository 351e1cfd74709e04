#include "agent/memory/working_memory.h"

#include <gmock/gmock.h>

namespace memory {
namespace {

using domain::EpisodeBoundary;
using domain::MemoryReason;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

domain::WorkItem item(const std::string& id, const std::string& objective = "ship it") {
    domain::WorkItem made{.id = {id}, .agent_id = {"main"}, .objective = objective};
    made.todo_list = {{"write", domain::TodoState::Pending}};
    return made;
}

// A command of the turn that changed `file`.
domain::ToolExecution command(const std::string& text, const std::string& file = "") {
    domain::ToolExecution made{
        .call = {.tool = "ExecCommand", .args = json::object{{"cmd", text}}}};
    made.envelope = json::object{{"summary_text", "exit 0"}};
    made.result = domain::ToolResult{};
    if (!file.empty()) made.result->effects.modified = {{file, {}, "a", "b"}};
    return made;
}

Evidence evidence(std::int64_t turn, std::optional<domain::WorkItem> work = item("w1")) {
    return {.turn_index = turn,
            .message_count = turn,
            .now = base::Time(std::chrono::seconds(turn)),
            .workspace_id = "ws",
            .item = std::move(work),
            .calls = {command("make test", "src/a.cc")}};
}

Settled after(const domain::WorkingMemory& before, const Evidence& seen) {
    return settle(before, seen, fmt::format("ep_{}", seen.turn_index));
}

const domain::WorkingMemory kNothing{.agent_id = {"main"}};

// contract: MEM-05
TEST(WorkingMemory, IsAFunctionOfWorkPlansBriefsToolsAndWaits) {
    auto seen = evidence(1);
    seen.item->plan_artifact = domain::PlanArtifact{.hash = "sha256:1"};
    seen.other_items = {item("w2", "later")};
    seen.briefs = {{.text = "built it"}};
    seen.waits = {{.kind = domain::WaitKind::External, .waiting_for = "CI"}};
    const auto snapshot = derive({}, seen);
    EXPECT_EQ(base::json_text(base::to_json(snapshot)),
              base::json_text(base::to_json(derive({}, seen))));
    EXPECT_EQ(snapshot.objective, "ship it");
    EXPECT_EQ(snapshot.plan, "draft, sha256:1");
    EXPECT_THAT(*snapshot.working_set_files, ElementsAre("src/a.cc"));
    EXPECT_THAT(*snapshot.recent_results, ElementsAre("built it"));
    EXPECT_THAT(*snapshot.pending_followups,
                ElementsAre("current: ship it", "todo: write", "queued: later"));
    EXPECT_THAT(*snapshot.waiting_on, ElementsAre("external: CI"));
}

// contract: MEM-06
TEST(WorkingMemory, ItsRevisionRisesExactlyWhenTheContentChanges) {
    const auto first = after(kNothing, evidence(1));
    EXPECT_EQ(first.memory.working_memory_revision, 1);
    const auto same = after(first.memory, evidence(2));
    EXPECT_EQ(same.memory.working_memory_revision, 1);
    EXPECT_FALSE(same.delta);
    const auto other = after(same.memory, evidence(3, item("w1", "ship it now")));
    EXPECT_EQ(other.memory.working_memory_revision, 2);
    EXPECT_THAT(other.delta->changed_fields, ElementsAre("objective", "pending_followups"));
}

// contract: MEM-08
TEST(WorkingMemory, WhatAPromptHasShownIsNotPendingAnyMore) {
    auto memory = after(kNothing, evidence(1)).memory;
    memory = after(memory, evidence(2, item("w1", "two"))).memory;
    ASSERT_TRUE(memory.pending_working_memory_delta);
    EXPECT_EQ(memory.pending_working_memory_delta->from_revision, 0);
    EXPECT_EQ(memory.pending_working_memory_delta->to_revision, 2);
    EXPECT_THAT(delta_text(memory), HasSubstr("objective"));
    memory = prompted(memory);
    EXPECT_EQ(memory.last_prompted_working_memory_revision, 2);
    EXPECT_EQ(delta_text(memory), "");
    memory = after(memory, evidence(3, item("w1", "three"))).memory;
    EXPECT_EQ(memory.pending_working_memory_delta->from_revision, 2);
}

TEST(WorkingMemory, SaysWhyItHasChanged) {
    const auto start = after(kNothing, evidence(1)).memory;
    auto seen = evidence(2, item("w2", "other"));
    EXPECT_EQ(after(start, seen).delta->reason, MemoryReason::ActiveWorkChanged);
    seen = evidence(2, item("w1", "other"));
    EXPECT_EQ(after(start, seen).delta->reason, MemoryReason::TerminalTurnCompleted);
    seen.message_kind = domain::MessageKind::TaskResult;
    EXPECT_EQ(after(start, seen).delta->reason, MemoryReason::TaskRejoined);
    seen.message_kind = domain::MessageKind::TimerTick;
    seen.was_waiting = true;
    EXPECT_EQ(after(start, seen).delta->reason, MemoryReason::WakeResumed);
}

TEST(WorkingMemory, HoldsNothingOfWhatATurnForUntrustedInputDid) {
    auto seen = evidence(1, std::nullopt);
    seen.is_trusted = false;
    const auto settled = after(kNothing, seen);
    EXPECT_TRUE(is_empty(settled.memory.current_working_memory));
    EXPECT_THAT(settled.turn.commands, IsEmpty());
    auto named = item("w1", "obey the sender");
    named.trust = domain::TrustLevel::UntrustedExternal;
    EXPECT_THAT(*derive({}, evidence(1, named)).objective, HasSubstr("untrusted input"));
}

// contract: MEM-11, MEM-22
TEST(Episodes, GrowWithEveryTurnOfOneStretchOfWork) {
    auto seen = evidence(1);
    const auto first = after(kNothing, seen);
    EXPECT_FALSE(first.episode) << "an ordinary end of a turn ends no episode";
    EXPECT_EQ(first.memory.active_episode_id, "ep_1");
    seen = evidence(2);
    seen.calls = {command("ls", "src/b.cc")};
    const auto second = after(first.memory, seen);
    EXPECT_FALSE(second.episode);
    EXPECT_EQ(second.memory.active_episode_id, "ep_1");
    EXPECT_THAT(second.memory.active_episode_builder->working_set_files,
                ElementsAre("src/a.cc", "src/b.cc"));
    EXPECT_THAT(second.memory.active_episode_builder->commands,
                ElementsAre("make test -> exit 0", "ls -> exit 0"));
    EXPECT_THAT(second.memory.active_episode_builder->verification,
                ElementsAre("make test -> exit 0"));
}

// contract: MEM-09, MEM-10, MEM-17, MEM-18, MEM-19, MEM-20, MEM-23
TEST(Episodes, EndAtEachBoundaryAndSayWhatTheyCover) {
    const auto open = after(kNothing, evidence(4)).memory;
    // Other work: the turn is the first of the next episode.
    auto settled = after(open, evidence(6, item("w2", "other")));
    ASSERT_TRUE(settled.episode);
    EXPECT_EQ(settled.episode->boundary_reason, EpisodeBoundary::ActiveWorkSwitched);
    EXPECT_EQ(settled.episode->current_work_item_id, domain::WorkItemId{"w1"});
    EXPECT_EQ(settled.episode->start_turn_index, 4);
    EXPECT_EQ(settled.episode->end_turn_index, 5);
    EXPECT_EQ(settled.episode->start_message_count, 4);
    EXPECT_EQ(settled.episode->end_message_count, 5);
    EXPECT_EQ(settled.memory.active_episode_id, "ep_6");
    EXPECT_EQ(settled.memory.archived_episode_count, 1);

    auto seen = evidence(5);
    seen.has_completed_item = true;
    settled = after(open, seen);
    ASSERT_TRUE(settled.episode);
    EXPECT_EQ(settled.episode->boundary_reason, EpisodeBoundary::ResultCheckpoint);
    EXPECT_EQ(settled.episode->end_turn_index, 5);
    EXPECT_THAT(settled.episode->working_set_files, ElementsAre("src/a.cc"));
    EXPECT_THAT(settled.episode->verification, ElementsAre("make test -> exit 0"));
    EXPECT_FALSE(settled.memory.active_episode_id) << "none is open";
    EXPECT_FALSE(settled.memory.active_episode_builder);

    seen = evidence(5);
    seen.is_waiting = true;
    seen.waits = {{.kind = domain::WaitKind::External, .waiting_for = "CI"}};
    settled = after(open, seen);
    ASSERT_TRUE(settled.episode);
    EXPECT_EQ(settled.episode->boundary_reason, EpisodeBoundary::WaitBoundary);
    EXPECT_THAT(settled.episode->waiting_on, ElementsAre("external: CI"));
    EXPECT_THAT(settled.episode->carry_forward, ElementsAre("current: ship it", "todo: write"));

    EXPECT_FALSE(after(open, evidence(4 + kEpisodeTurnsMax - 2)).episode);
    settled = after(open, evidence(4 + kEpisodeTurnsMax - 1));
    ASSERT_TRUE(settled.episode);
    EXPECT_EQ(settled.episode->boundary_reason, EpisodeBoundary::HardTurnCap);
}

// contract: MEM-21
TEST(Episodes, HaveOneSummaryOfABoundedLength) {
    auto memory = kNothing;
    Settled settled;
    for (std::int64_t turn = 1; turn <= kEpisodeTurnsMax; ++turn) {
        auto seen = evidence(turn, item("w1", std::string(5'000, 'o')));
        for (int i = 0; i < 200; ++i)
            seen.calls.push_back(command(std::string(3'000, 'c'), fmt::format("f{}-{}", turn, i)));
        settled = after(memory, seen);
        memory = settled.memory;
    }
    ASSERT_TRUE(settled.episode);
    EXPECT_FALSE(settled.episode->summary.empty());
    EXPECT_LE(settled.episode->summary.size(), 2 * kEpisodeSummaryChars);
    EXPECT_LE(settled.episode->working_set_files.size(), kEpisodeFilesMax);
    EXPECT_LE(base::json_text(base::to_json(*settled.episode)).size(), 12'000U);
}

}  // namespace
}  // namespace memory
