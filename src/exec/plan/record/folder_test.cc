#include "exec/plan/record/folder.h"

#include <gmock/gmock.h>

#include "exec/plan/record/chain.h"
#include "exec/tools/patch/folder_for_test.h"

namespace plan {
namespace {

using base::ErrorCode;
using domain::PlanRecordKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RunFolderTest : public testing::Test {
protected:
    domain::PlanRecord record(PlanRecordKind kind) {
        return seal(run.last_seq, run.last_hash, kind, {{"stepId", "a"}});
    }
    void write(std::string_view name, std::string_view text) const {
        ASSERT_TRUE(base::write_file_atomic(path / name, text, 0600));
    }

    patch::TestFolder folder;
    std::filesystem::path path{folder.path() / "run"};
    domain::PlanRun run{.run_id = {"r1"}, .goal = "Tidy", .plan_hash = "h", .vault = "/v"};
    const json::value document{json::object{{"version", "1.0"}}};
};

TEST_F(RunFolderTest, WhatIsWrittenIsReadBackInTheOrderOfItsNumbers) {
    const std::vector first{record(PlanRecordKind::Event), record(PlanRecordKind::Call)};
    auto opened = RunFolder::open(path, run, document, first);
    ASSERT_TRUE(opened) << opened.error().message;
    const std::vector second{record(PlanRecordKind::Result), record(PlanRecordKind::Event)};
    ASSERT_TRUE(opened->append(second));
    run.status = domain::PlanRunStatus::Succeeded;
    ASSERT_TRUE(opened->write_run(run));
    const auto files = read_folder(path);
    ASSERT_TRUE(files) << files.error().message;
    EXPECT_EQ(files->run, run);
    EXPECT_EQ(files->document, document);
    EXPECT_THAT(files->records, ElementsAre(first[0], first[1], second[0], second[1]));
    EXPECT_THAT(files->places, ElementsAre("events.jsonl line 1", "calls.jsonl line 1",
                                           "results.jsonl line 1", "events.jsonl line 2"));
    EXPECT_THAT(files->out_of_order, IsEmpty());
}

TEST_F(RunFolderTest, OpeningAgainReplacesWhatACrashLeft) {
    ASSERT_TRUE(RunFolder::open(path, run, document, {record(PlanRecordKind::Event)}));
    write("calls.jsonl", "half a li");
    ASSERT_TRUE(RunFolder::open(path, run, document, {}));
    EXPECT_THAT(read_folder(path)->records, IsEmpty());
}

TEST_F(RunFolderTest, NamesTheLineThatIsNoRecordOrNotInItsPlace) {
    const std::vector records{record(PlanRecordKind::Event), record(PlanRecordKind::Event)};
    ASSERT_TRUE(RunFolder::open(path, run, document, records));
    write("events.jsonl", records[1].line + "\n" + records[0].line + "\n");
    EXPECT_EQ(read_folder(path)->out_of_order,
              "events.jsonl line 2: record 1 stands behind record 2");
    write("events.jsonl", records[0].line + "\nno json\n");
    const auto broken = read_folder(path);
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code, ErrorCode::Corrupt);
    EXPECT_THAT(broken.error().message, HasSubstr("events.jsonl line 2"));
    write("run.json", R"({"runId": 1})");
    EXPECT_EQ(read_folder(path).error().code, ErrorCode::Corrupt);
    EXPECT_EQ(read_folder(path / "nothing").error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace plan
