#include "tests/plans/world.h"

#include <stdlib.h>

#include "base/os/files.h"
#include "exec/tools/patch/folder_for_test.h"
#include "exec/tools/plan_tools/plan_tools.h"
#include "flow/admission/rejoin.h"

namespace plans_test {

namespace fs = std::filesystem;

World::World() {
    std::string name = (patch::TestFolder::in_memory() / "holon-plans-XXXXXX").string();
    CHECK(mkdtemp(name.data()) != nullptr, "no folder for a test");
    folder_ = fs::canonical(name);
    fs::create_directories(vault());
}

World::~World() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

void World::put(const std::string& path, const std::string& content) const {
    if (path.ends_with('/')) {
        fs::create_directories(vault() / path);
        return;
    }
    fs::create_directories((vault() / path).parent_path());
    CHECK(base::write_file_atomic(vault() / path, content, 0644).has_value(),
          "a vault can be made");
}

std::map<std::string, std::string> World::files() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(vault())) {
        const std::string path = entry.path().lexically_relative(vault()).string();
        if (entry.is_directory()) {
            if (fs::is_empty(entry.path())) found[path + "/"] = "";
        } else {
            found[path] = base::read_file(entry.path(), 1 << 24).value();
        }
    }
    return found;
}

Life::Life(World& world, sim::FaultPlan plan) : Life(world, world.disk.open(plan)) {}

Life::Life(World& world, std::unique_ptr<store::Store> store)
    : store_(std::move(store)),
      ids_(loop_, world.seed * 1000 + static_cast<std::uint64_t>(++world.lives)),
      dispatcher_({.registry = with_tools(world), .clock = loop_, .ids = ids_}),
      supervisor_(loop_, world.machine),
      tasks_({.store = *store_,
              .loop = loop_,
              .clock = loop_,
              .ids = ids_,
              .feed = feed_,
              .supervisor = supervisor_,
              .rejoin = admission::rejoin}),
      plans_({.store = *store_,
              .loop = loop_,
              .clock = loop_,
              .ids = ids_,
              .agent_feed = feed_,
              .dispatcher = dispatcher_,
              .home = world.home(),
              .vault = world.vault(),
              .run_loop =
                  [this] {
                      stopped_ = false;
                      loop_.run_until([this] { return stopped_; });
                  },
              .stop_loop = [this] { stopped_ = true; },
              .owners = &agent_plans_,
              .settings = world.settings}),
      agent_plans_({.store = *store_,
                    .loop = loop_,
                    .clock = loop_,
                    .ids = ids_,
                    .feed = feed_,
                    .tasks = tasks_,
                    .rejoin = admission::rejoin,
                    .plans = plans_}) {
    // What the last process had running ended with it, and this one starts later.
    world.tools.running = 0;
    loop_.after(std::chrono::minutes(world.lives), [] {});
    loop_.run();
}

const tools::Registry& Life::with_tools(World& world) {
    add_case_tools(registry_, loop_, world.tools);
    plan_tools::add_all(registry_,
                        {.loop = loop_,
                         .shell = shell_,
                         .context = [](const auto&, const tools::ExecutionContext& place) {
                             return plan_tools::context_from(place.context);
                         }});
    return registry_;
}

std::vector<json::value> of_kind(const std::vector<domain::PlanRecord>& records,
                                 domain::PlanRecordKind kind) {
    std::vector<json::value> list;
    for (const auto& record : records)
        if (record.kind == kind) list.push_back(base::parse_json(record.line).value());
    return list;
}

namespace {
base::Time time_at(const json::value& record, std::string_view name) {
    return base::parse_time(base::string_at(record, name)).value();
}
}  // namespace

std::vector<std::string> broken_promises(const std::vector<domain::PlanRecord>& records) {
    struct Seen {
        int calls{0}, starts{0}, results{0}, ends{0};
    };
    std::map<std::string, Seen> seen;
    std::vector<std::string> broken;
    for (const auto& record : records) {
        const auto value = base::parse_json(record.line).value();
        const std::string id = base::string_at(value, "callId");
        if (id.empty()) continue;
        auto& one = seen[id];
        const std::string type = base::string_at(value, "type");
        const std::string who = fmt::format("{} ({})", base::string_at(value, "stepId"), id);
        if (record.kind == domain::PlanRecordKind::Call) {
            if (one.calls++ > 0) broken.push_back(who + " is called twice");
        } else if (record.kind == domain::PlanRecordKind::Result) {
            if (one.starts == 0) broken.push_back(who + " has a result before it starts");
            if (one.results++ > 0) broken.push_back(who + " has two results");
            if (base::millis_between(time_at(value, "startedAt"), time_at(value, "endedAt")) !=
                base::int_at(value, "durationMs"))
                broken.push_back(who + " took another time than from its start to its end");
        } else if (type == "step.started") {
            if (one.calls == 0) broken.push_back(who + " starts before it is called");
            if (one.starts++ > 0) broken.push_back(who + " starts twice");
        } else if (type == "step.finished" || type == "step.failed") {
            if (one.results == 0) broken.push_back(who + " ends before its result");
            if (one.ends++ > 0) broken.push_back(who + " ends twice");
        }
    }
    for (const auto& [id, one] : seen)
        if (one.calls != 1 || one.starts != 1 || one.results != 1 || one.ends != 1)
            broken.push_back(fmt::format("call {} has {} calls, {} starts, {} results, {} ends", id,
                                         one.calls, one.starts, one.results, one.ends));
    return broken;
}

}  // namespace plans_test
