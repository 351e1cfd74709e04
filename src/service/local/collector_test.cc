#include "service/local/collector.h"

#include <gtest/gtest.h>

namespace service {
namespace {

domain::Event event(std::string kind, json::object data) {
    return {.kind = std::move(kind), .data = std::move(data)};
}

// contract: CMD-20
TEST(Collector, TellsOneCallOfABatchFromTheCommandsInIt) {
    Collector collector;
    json::array items;
    for (int i = 1; i <= 5; ++i) items.push_back(json::object{{"index", i}, {"cmd", "true"}});
    collector.add(event("tool_executed", {{"tool_name", "ExecCommandBatch"},
                                          {"exec_command_batch_items", std::move(items)}}));
    RunResponse response;
    collector.fill(response);
    EXPECT_EQ(response.tool_calls, 1);
    EXPECT_EQ(response.exec_command_items, 5);
    EXPECT_EQ(response.batched_exec_command_items, 5);
}

TEST(Collector, NamesEachTaskOnceInTheOrderTheyAppeared) {
    Collector collector;
    collector.add(event("task_created", {{"id", "b"}}));
    collector.add(event("task_result_received", {{"id", "a"}}));
    collector.add(event("task_result_received", {{"id", "b"}}));
    EXPECT_EQ(collector.tasks(), (std::vector<std::string>{"b", "a"}));
}

}  // namespace
}  // namespace service
