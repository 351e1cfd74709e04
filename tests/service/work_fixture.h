// Agents that work through their objectives by themselves, on made-up time.
#pragma once

#include <gmock/gmock.h>

#include "exec/tools/work_tools/work_tools.h"
#include "tests/service/fixture.h"

namespace service {

// Picks what it is offered and completes it with a report.
inline constexpr std::string_view kWorker = R"({"rounds":[
  {"tool_calls":[{"name":"PickWorkItem","input":{"work_item_id":"$work_item"}}]},
  {"text":"It is shipped.","tool_calls":[{"name":"CompleteWorkItem","input":{"work_item_id":"$work_item"}}]},
  {"text":"Turn over."}],"loop":true})";
inline constexpr std::string_view kTalker =
    R"({"rounds":[{"text":"I am thinking about it."}],"loop":true})";

class WorkTest : public ServiceTest {
protected:
    void SetUp() override {
        ServiceTest::SetUp();
        work_tools::add_all(registry_, {.store = *store_, .loop = loop_, .clock = loop_});
    }

    std::string add(const std::string& objective) {
        const auto item = service_->create_work_item("main", {.objective = objective}, operator_);
        EXPECT_TRUE(item) << item.error().message;
        return item ? item->id.value : "";
    }
    domain::WorkItem item(const std::string& id) {
        std::optional<domain::WorkItem> found;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            found = TRY(tx.work_item({id}));
            return {};
        }));
        return found.value();
    }
    domain::Agent agent() {
        std::optional<domain::Agent> found;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            found = TRY(tx.agent({"main"}));
            return {};
        }));
        return found.value();
    }
    std::vector<domain::Wait> waits_of(const std::string& id) {
        std::vector<domain::Wait> list;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            list = TRY(tx.open_waits_of({id}));
            return {};
        }));
        return list;
    }
    json::object change(const std::string& id, WorkItemChange wanted) {
        auto shown = service_->change_work_item("main", id, wanted, operator_);
        EXPECT_TRUE(shown) << shown.error().message;
        return shown.value_or(json::object{});
    }
    json::object closure() { return service_->status("main").value().at("closure").as_object(); }
    std::vector<domain::Brief> briefs(domain::BriefVisibility visibility) {
        auto list = service_->briefs("main", {.limit = 100}).value().items;
        std::erase_if(list, [&](const auto& brief) { return brief.visibility != visibility; });
        return list;
    }
    std::vector<domain::Message> ticks(std::string_view subsystem = "work_queue") {
        std::vector<domain::Message> list;
        for (auto& queued : messages())
            if (const auto* from = std::get_if<domain::SystemOrigin>(&queued.message.origin);
                from && from->subsystem == subsystem)
                list.push_back(std::move(queued.message));
        return list;
    }
    // What the tool answered in this request, which has its results.
    std::string receipt(std::size_t request, std::size_t call = 0) {
        const auto& turns = model_->requests.at(request).conversation;
        for (auto turn = turns.rbegin(); turn != turns.rend(); ++turn)
            if (const auto* results = std::get_if<provider::ToolResultsTurn>(&*turn))
                return results->results.at(call).content;
        return {};
    }
    json::value result(std::size_t request, std::size_t call = 0) {
        return base::parse_json(receipt(request, call)).value();
    }
};

}  // namespace service
