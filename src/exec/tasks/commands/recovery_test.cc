// What a start finds: files that no record names, and a store that others hold.
#include <thread>

#include "base/os/asio_loop.h"
#include "base/os/files.h"
#include "store/sql/sqlite/temp_database.h"
#include "tests/support/host_fixture.h"
#include "tests/support/lock_holder.h"

namespace tasks {
namespace {

using domain::TaskStatus;
using supervisor::Ended;
using testing::IsEmpty;

class SweepTest : public HostTest {
protected:
    SweepTest() {
        std::string name = std::filesystem::temp_directory_path() / "holon-sweep-XXXXXX";
        agents_folder_ = ::mkdtemp(name.data());
        restart();
    }
    ~SweepTest() override { std::filesystem::remove_all(agents_folder_); }

    std::filesystem::path log(const std::string& file, const std::string& agent = "main") {
        const auto folder = agents_folder_ / agent / kOutputFolder;
        std::filesystem::create_directories(folder);
        EXPECT_TRUE(base::write_file_atomic(folder / file, "printed", 0600));
        return folder / file;
    }
    void call(const std::string& id, domain::CallState state, const char* agent = "main") {
        ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) {
            domain::ToolExecution execution{.call = {.call_id = {id}, .agent_id = {agent}}};
            execution.state = state;
            return tx.put_tool_execution(execution);
        }));
    }
    void left_behind(const std::string& id) {
        machine_.commands[id] = {.spec = {.id = id}, .end = Ended{.exit_code = 0}};
    }
};

TEST_F(SweepTest, RemovesWhatNoRecordNames) {
    std::vector<std::filesystem::path> logs;
    for (std::size_t i = 0; i < 3 * kSweepStep; ++i) {
        const std::string id = fmt::format("gone-{}", i);
        left_behind(id);
        logs.push_back(log(id + ".log"));
        if (i % 3 == 0) call(id, domain::CallState::Finished);
    }
    logs.push_back(log("gone-0.network.jsonl"));
    logs.push_back(log("elsewhere.log", "other"));
    host_->recover_all(10);
    loop_.run();
    EXPECT_THAT(machine_.commands, IsEmpty());
    for (const auto& file : logs) EXPECT_FALSE(std::filesystem::exists(file)) << file;
}

TEST_F(SweepTest, LeavesWhatIsNeededOrMayBeInUse) {
    a_task("task");
    a_task("over");
    supervisor_->end("over", Ended{.exit_code = 0});
    loop_.run();
    restart();
    left_behind("resumed");
    call("resumed", domain::CallState::Started);
    machine_.commands["strange"] = {.spec = {.id = "strange"}};  // It runs, and no record names it.
    const auto young = log("young.log");
    const std::vector kept{log("task.log"),    log("over.log"),  log("resumed.log"),
                           log("strange.log"), log("notes.txt"), young};
    std::filesystem::last_write_time(
        young, std::chrono::file_clock::from_sys(
                   std::chrono::time_point_cast<std::chrono::nanoseconds>(loop_.now())));
    host_->recover_all(10);
    loop_.run();
    for (const char* id : {"task", "resumed", "strange"})
        EXPECT_TRUE(machine_.commands.contains(id)) << id;
    for (const auto& file : kept) EXPECT_TRUE(std::filesystem::exists(file)) << file;
    EXPECT_TRUE(machine_.commands.at("strange").stops.empty());
    EXPECT_EQ(task("task").status, TaskStatus::Running);
}

TEST_F(SweepTest, LeavesAloneWhatIsOfOtherAgents) {
    left_behind("theirs");
    call("theirs", domain::CallState::Finished, "other");
    left_behind("ours");
    call("ours", domain::CallState::Finished);
    const auto theirs = log("theirs.log", "other");
    host_->recover({agent_});
    loop_.run();
    EXPECT_TRUE(machine_.commands.contains("theirs"));
    EXPECT_FALSE(machine_.commands.contains("ours"));
    EXPECT_TRUE(std::filesystem::exists(theirs));
}

TEST(LockedStore, TheEndOfATaskIsCommittedWhenAnotherProcessReleasesTheStore) {
    const sqlite::TempDatabase database;
    test_support::LockHolder other(database.file());
    test_support::ContendedStore store(database.file());
    test_support::FakeLoop loop;
    base::RandomIds ids(loop, 1);
    events::Feed feed;
    supervisor::FakeMachine machine;
    supervisor::FakeSupervisor supervisor(loop, machine);
    std::vector<domain::Message> results;
    Host host({.store = store,
               .loop = loop,
               .clock = loop,
               .ids = ids,
               .feed = feed,
               .supervisor = supervisor,
               .rejoin = [&](events::Log&, domain::Message message) -> base::Status {
                   results.push_back(std::move(message));
                   return {};
               }});
    ASSERT_TRUE(store.write(store::Durability::Disk, [](store::Tx& tx) {
        return tx.put_agent({.agent_id = {"main"}, .identity = {.agent_id = {"main"}}});
    }));
    host.create({.id = {"t1"},
                 .agent_id = {"main"},
                 .summary = "Command: make",
                 .spec = {.cmd = "make"},
                 .argv = {"make"},
                 .workdir = "/",
                 .output_path = database.file().parent_path() / "t1.log"},
                [](const auto&) {});
    loop.run();
    std::string stuck;
    host.set_listener(
        {.on_stuck = [&](const auto&, const base::Error& error) { stuck = error.message; }});

    other.hold();
    store.on_failure = [&](int failures) {
        if (failures == 3) other.release();
    };
    supervisor.end("t1", Ended{.exit_code = 0});
    loop.run();
    EXPECT_EQ(store.failures, 3) << "it met the lock, and tried again";
    EXPECT_EQ(stuck, "");
    ASSERT_EQ(results.size(), 1U);
    EXPECT_THAT(machine.commands, IsEmpty()) << "the supervisor kept it until it was saved";
}

// Says on which threads its files were touched.
class ThreadNotingSupervisor final : public supervisor::Supervisor {
public:
    explicit ThreadNotingSupervisor(base::Loop& loop) : inner_(loop, machine) {}
    base::Result<std::shared_ptr<Command>> start(supervisor::Spec spec,
                                                 supervisor::OnEnd on_end) override {
        return inner_.start(std::move(spec), std::move(on_end));
    }
    std::shared_ptr<Command> attach(const std::string& id, supervisor::OnEnd on_end) override {
        return inner_.attach(id, std::move(on_end));
    }
    void collect(const std::string& id, const std::filesystem::path& log,
                 const supervisor::Ended& ended, supervisor::Capture capture,
                 std::move_only_function<void(base::Result<supervisor::Captured>)> done) override {
        inner_.collect(id, log, ended, std::move(capture), std::move(done));
    }
    bool knows(const std::string&) override {
        note("knows");
        return false;
    }
    std::vector<std::string> known() override {
        note("known");
        return {"left"};
    }
    bool is_in_use(const std::string&) override {
        note("is_in_use");
        return false;
    }
    void forget(const std::string&) override { note("forget"); }

    std::set<std::string> touched() {
        const std::lock_guard lock(mutex_);
        return touched_;
    }
    std::set<std::string> on_the_loop() {
        const std::lock_guard lock(mutex_);
        return on_the_loop_;
    }
    supervisor::FakeMachine machine;

private:
    void note(const std::string& what) {
        const std::lock_guard lock(mutex_);
        touched_.insert(what);
        if (std::this_thread::get_id() == loop_thread_) on_the_loop_.insert(what);
    }
    const std::thread::id loop_thread_{std::this_thread::get_id()};
    std::mutex mutex_;
    std::set<std::string> touched_, on_the_loop_;
    supervisor::FakeSupervisor inner_;
};

TEST(HostOnALoop, TouchesNoFilesOfCommandsThere) {
    base::AsioLoop loop;
    base::SystemClock clock;
    base::RandomIds ids(clock);
    events::Feed feed;
    const auto store = sqlite::open_inline({.file = ":memory:"}).value();
    ThreadNotingSupervisor supervisor(loop);
    Host host({.store = *store,
               .loop = loop,
               .clock = clock,
               .ids = ids,
               .feed = feed,
               .supervisor = supervisor,
               .rejoin = [](events::Log&, domain::Message) { return base::Status{}; }});
    int left = 3;
    const auto done = [&] {
        if (--left == 0) loop.stop();
    };
    loop.post([&] {
        host.recover_all(10);
        host.knows({"one"}, [&](bool) { done(); });
        host.load_command({"main"}, {"one"}, [&](const auto&) { done(); });
        host.start(
            {.id = {"two"},
             .agent_id = {"main"},
             .argv = {"make"},
             .output_path = std::filesystem::temp_directory_path() / "two.log"},
            [](const supervisor::End&) {}, [&](const base::Status&) { done(); });
    });
    loop.run();
    const std::set<std::string> all{"forget", "is_in_use", "known", "knows"};
    while (supervisor.touched() != all) {
        loop.post([&] { loop.stop(); });
        loop.run();
    }
    EXPECT_THAT(supervisor.on_the_loop(), IsEmpty());
}

}  // namespace
}  // namespace tasks
