#include "tests/remote/plan_world.h"

#include <future>

#include "exec/tools/plan_tools/plan_tools.h"
#include "store/sql/sqlite/sqlite_store.h"

namespace plans_test {

Resident::Resident(const std::filesystem::path& folder)
    : folder_(folder),
      store_([&] {
          std::filesystem::create_directories(folder / "vault");
          return sqlite::open({.file = folder / "holon.db"}).value();
      }()),
      dispatcher_({.registry = with_tools(), .clock = clock_, .ids = ids_}) {
    plans_.emplace(plans::Parts{.store = *store_,
                                .loop = loop_,
                                .clock = clock_,
                                .ids = ids_,
                                .agent_feed = feed_,
                                .dispatcher = dispatcher_,
                                .home = folder / "home",
                                .vault = vault(),
                                .run_loop = [] {},
                                .stop_loop = [] {}});
    service_.emplace(*plans_);
    CHECK(plans_->host().stay().has_value(), "it stays");
    thread_ = std::jthread([this] { loop_.run(); });
}

Resident::~Resident() {
    loop_.stop();
    thread_.join();
    service_.reset();
    plans_.reset();
}

void Resident::drain() {
    std::promise<void> done;
    loop_.post([&] { plans_->host().drain([&] { done.set_value(); }); });
    done.get_future().wait();
}

const tools::Registry& Resident::with_tools() {
    add_case_tools(registry_, loop_, world_);
    plan_tools::add_all(registry_,
                        {.loop = loop_,
                         .shell = shell_,
                         .context = [](const auto&, const tools::ExecutionContext& place) {
                             return plan_tools::context_from(place.context);
                         }});
    return registry_;
}

void PlanServerTest::serve(http_surface::Options options) {
    server_.reset();
    if (!resident_) resident_ = std::make_unique<Resident>(folder_);
    options.tcp = {{.host = "127.0.0.1", .port = 0}};
    options.socket_path = socket_path();
    auto server =
        test_http::Server::start({.service = service_,
                                  .settings = settings_,
                                  .clock = clock_,
                                  .plans = &plans(),
                                  .plan_totals = [this] { return resident_->host().totals(); }},
                                 std::move(options));
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
}

json::object PlanServerTest::loop_plan(std::string_view tool, std::int64_t count, std::int64_t ms) {
    json::array steps{
        {{"id", "list"}, {"tool", "test.list"}, {"args", {{"count", count}}}},
        {{"id", "each"},
         {"tool", tool},
         {"foreach", {{"from", "$steps.list.items"}, {"itemName", "item"}, {"concurrency", 4}}},
         {"args", {{"name", "{item.name}"}, {"ms", ms}}}}};
    return {{"version", "1.0"},
            {"goal", "Go over them"},
            {"riskLevel", "read-only"},
            {"steps", std::move(steps)}};
}

json::object PlanServerTest::write_plan(std::string_view path, std::string_view content) {
    json::array steps{{{"id", "make"},
                       {"tool", "vault.createFile"},
                       {"args", {{"path", path}, {"content", content}}}}};
    return {{"version", "1.0"},
            {"goal", "Make a note"},
            {"riskLevel", "writes"},
            {"steps", std::move(steps)}};
}

}  // namespace plans_test
