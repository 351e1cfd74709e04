#include "service/local/run_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/sql/sqlite/sqlite_store.h"

namespace service {
namespace {

const domain::AgentId kAgent{"main"};

class RunResultTest : public testing::Test {
protected:
    RunResultTest() {
        write([](store::Tx& tx) { return tx.put_agent({.agent_id = kAgent}); });
    }

    void write(const std::function<base::Status(store::Tx&)>& work) {
        const auto status = store_->write(store::Durability::Process, work);
        ASSERT_TRUE(status) << status.error().message;
    }

    static domain::Attempt attempt(const std::string& run, const std::string& message) {
        return {.run_id = {run},
                .agent_id = kAgent,
                .message_id = {message},
                .state = domain::Closed{},
                .terminal = domain::TurnTerminal{.last_assistant_message = "text of " + run}};
    }
    // An attempt at a message, with one model round and what that cost.
    void add_turn(const std::string& run, const domain::Message& message) {
        write([&](store::Tx& tx) -> base::Status {
            TRY(tx.append_message(message, std::nullopt));
            TRY(tx.open_attempt(attempt(run, message.id.value)));
            auto agent = TRY(tx.agent(kAgent));
            ++agent->turn_index;
            TRY(tx.put_agent(*agent));
            return tx.append_transcript(
                {.id = "t-" + run,
                 .agent_id = kAgent,
                 .run_id = {run},
                 .kind = domain::TranscriptKind::AssistantRound,
                 .round = 1,
                 .related_message_id = message.id,
                 .input_tokens = 10,
                 .output_tokens = 5,
                 .data = json::object{
                     {"token_usage",
                      {{"input_tokens", 10}, {"output_tokens", 5}, {"total_tokens", 15}}},
                     {"provider_cache_usage",
                      {{"read_input_tokens", 4}, {"creation_input_tokens", 1}}}}});
        });
    }
    void add_call(const std::string& run, const std::string& call, const std::string& tool,
                  json::value args, domain::ResultStatus status = domain::ResultStatus::Ok,
                  std::optional<json::value> data = {}) {
        write([&](store::Tx& tx) {
            return tx.put_tool_execution(
                {.call = {.call_id = {call}, .run_id = {run}, .tool = tool, .args = args},
                 .round = 1,
                 .ordinal = next_call_++,
                 .state = domain::CallState::Finished,
                 .result = domain::ToolResult{.call_id = {call}, .status = status, .data = data}});
        });
    }
    static domain::Message message(const std::string& id, domain::Origin origin) {
        return {.id = {id}, .agent_id = kAgent, .origin = std::move(origin)};
    }
    static domain::Message prompt(const std::string& id) {
        return message(id, domain::OperatorOrigin{"holon_run"});
    }

    RunBaseline baseline() {
        RunBaseline found;
        write([&](store::Tx& tx) -> base::Status {
            found = TRY(load_baseline(tx, kAgent));
            return {};
        });
        return found;
    }
    RunResponse result(const RunFacts& run) {
        RunResponse response;
        write([&](store::Tx& tx) -> base::Status {
            response = TRY(make_result(tx, run, [](const std::string& tool) {
                static const tools::ToolSpec one{.command_lines = tools::CommandLines::One};
                static const tools::ToolSpec batch{.command_lines = tools::CommandLines::Batch};
                static const tools::ToolSpec patch{.changes_files = true};
                return tool == "one"     ? &one
                       : tool == "batch" ? &batch
                       : tool == "patch" ? &patch
                                         : nullptr;
            }));
            return {};
        });
        return response;
    }

    std::unique_ptr<store::Store> store_ = sqlite::open_inline({.file = ":memory:"}).value();
    std::int64_t next_call_{0};
};

// contract: CMD-20
TEST_F(RunResultTest, TellsOneCallOfABatchFromTheCommandsInIt) {
    const auto before = baseline();
    add_turn("r", prompt("m"));
    json::array items;
    for (int i = 1; i <= 5; ++i) items.push_back(json::object{{"cmd", "true"}});
    add_call("r", "c1", "batch", json::object{{"items", std::move(items)}});
    const auto response =
        result({.agent_id = kAgent, .baseline = before, .message_id = domain::MessageId{"m"}});
    EXPECT_EQ(response.tool_calls, 1);
    EXPECT_EQ(response.exec_command_items, 5);
    EXPECT_EQ(response.batched_exec_command_items, 5);
}

TEST_F(RunResultTest, CountsCallsByWhatTheirToolsDeclare) {
    const auto before = baseline();
    add_turn("r", prompt("m"));
    add_call("r", "c1", "one", json::object{{"cmd", "true"}});
    add_call("r", "c2", "unknown", json::object{});
    add_call("r", "c3", "patch", json::object{}, domain::ResultStatus::Ok,
             json::object{{"changed_files",
                           json::array{json::object{{"path", "b"}}, json::object{{"path", "a"}}}}});
    add_call("r", "c4", "one", json::object{{"cmd", "never"}}, domain::ResultStatus::Skipped);
    const auto response =
        result({.agent_id = kAgent, .baseline = before, .message_id = domain::MessageId{"m"}});
    EXPECT_EQ(response.tool_calls, 3);  // A call that was never made is none.
    EXPECT_EQ(response.shell_commands, 1);
    EXPECT_EQ(response.changed_files, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(response.model_rounds, 1);
    EXPECT_EQ(response.message_count, 1);
    EXPECT_EQ(response.token_usage.total_tokens, 15);
    ASSERT_TRUE(response.provider_cache_usage);
    EXPECT_EQ(response.provider_cache_usage->hit_rate, 0.4);
}

TEST_F(RunResultTest, LeavesOutWhatWasThereBefore) {
    add_turn("old", prompt("m0"));
    add_call("old", "c0", "one", json::object{{"cmd", "true"}});
    write([](store::Tx& tx) {
        return tx.put_task(
            {.id = {"t0"}, .agent_id = kAgent, .status = domain::TaskStatus::Completed});
    });
    auto open = attempt("old", "m0");
    open.state = domain::Thinking{2};
    write([&](store::Tx& tx) { return tx.put_attempt(open); });
    const auto before = baseline();
    EXPECT_EQ(before.open_attempt, domain::RunId{"old"});
    write([&](store::Tx& tx) { return tx.put_attempt(attempt("old", "m0")); });
    add_call("old", "c1", "one", json::object{{"cmd", "true"}});
    write([](store::Tx& tx) {
        return tx.append_transcript({.id = "t1",
                                     .agent_id = kAgent,
                                     .run_id = {"old"},
                                     .kind = domain::TranscriptKind::AssistantRound,
                                     .round = 2,
                                     .related_message_id = domain::MessageId{"m0"}});
    });
    const auto response = result({.agent_id = kAgent, .baseline = before});
    EXPECT_EQ(response.message_count, 0);
    EXPECT_EQ(response.model_rounds, 1);
    EXPECT_EQ(response.tool_calls, 1);
    EXPECT_TRUE(response.tasks.empty());
    EXPECT_EQ(response.final_text, "text of old");
}

TEST_F(RunResultTest, NamesTasksThatBeganOrEndedEachOnceAndInOrder) {
    const auto put = [&](const std::string& id, domain::TaskStatus status) {
        write([&](store::Tx& tx) {
            return tx.put_task({.id = {id}, .agent_id = kAgent, .status = status});
        });
    };
    put("before", domain::TaskStatus::Completed);
    put("ends", domain::TaskStatus::Running);
    put("stays", domain::TaskStatus::Running);
    const auto before = baseline();
    put("new", domain::TaskStatus::Running);
    put("newer", domain::TaskStatus::Completed);
    put("ends", domain::TaskStatus::Failed);
    std::vector<std::string> ids;
    for (const auto& entry : result({.agent_id = kAgent, .baseline = before}).tasks)
        ids.push_back(base::string_at(entry.at("task"), "task_id"));
    EXPECT_EQ(ids, (std::vector<std::string>{"ends", "new", "newer"}));
}

TEST_F(RunResultTest, AnswersWithItsOwnTurnAndNotWithThatOfAnotherMessage) {
    const auto before = baseline();
    add_turn("own", prompt("m"));
    add_turn("other", message("w", domain::WebhookOrigin{.source = "http"}));
    const auto response =
        result({.agent_id = kAgent, .baseline = before, .message_id = domain::MessageId{"m"}});
    EXPECT_EQ(response.final_text, "text of own");
    EXPECT_EQ(response.model_rounds, 2);
}

}  // namespace
}  // namespace service
