// A Host over commands that only pretend to run, and a store that fails when a test says so.
#pragma once

#include "exec/tasks/host.h"
#include "exec/tasks/supervisor/fake_for_test.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "tests/support/fake_loop.h"

#include <gmock/gmock.h>

namespace tasks {

// The next writes fail as those on a full disk do.
class FailingStore final : public store::Store {
public:
    store::Status write(store::Durability durability, store::Work work) override {
        ++writes;
        if (writes_to_fail > 0) {
            --writes_to_fail;
            return base::fail(base::ErrorCode::Io, "the disk is full (simulated)");
        }
        return inner_->write(durability, std::move(work));
    }
    void write_async(store::Durability durability, store::Work work,
                     std::move_only_function<void(store::Status)> done) override {
        done(write(durability, std::move(work)));
    }
    store::Status read(store::Work work) override {
        if (reads_to_fail > 0) {
            --reads_to_fail;
            return base::fail(base::ErrorCode::Io, "the disk does not answer (simulated)");
        }
        return inner_->read(std::move(work));
    }
    int writes{0};
    int writes_to_fail{0};
    int reads_to_fail{0};

private:
    std::unique_ptr<store::Store> inner_{sqlite::open_inline({.file = ":memory:"}).value()};
};

// Rejects what the test says, with these words.
class FakeOutputGate final : public OutputGate {
public:
    domain::GatePolicy policy(const domain::AgentId&, domain::TrustLevel) const override {
        return wanted;
    }
    void judge(FinishedOutput finished, std::move_only_function<void(OutputAnswer)> done) override {
        judged.push_back(finished.task.id.value);
        done({.mark = {.policy = wanted}, .instead = instead});
    }
    domain::GatePolicy wanted{domain::GatePolicy::Off};
    std::optional<std::string> instead{};
    std::vector<std::string> judged;
};

class HostTest : public testing::Test {
protected:
    HostTest() {
        EXPECT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) {
            return tx.put_agent({.agent_id = agent_, .identity = {.agent_id = agent_}});
        }));
        restart();
    }

    // A new process: the store and the machine stay.
    void restart() {
        host_.reset();
        supervisor_.reset();
        supervisor_.emplace(loop_, machine_);
        host_.emplace(
            Parts{.store = *store_,
                  .loop = loop_,
                  .clock = loop_,
                  .ids = ids_,
                  .feed = feed_,
                  .supervisor = *supervisor_,
                  .rejoin = [](events::Log& log, domain::Message message) -> base::Status {
                      TRY(log.tx().append_message(message, std::nullopt));
                      return {};
                  },
                  .gate = &gate_,
                  .output_bytes_max = output_bytes_max_,
                  .agents_folder = agents_folder_});
        host_->set_listener(
            {.on_result = [&](const domain::AgentId& agent) { woken_.push_back(agent.value); },
             .on_stuck = [&](const auto&, const base::Error& error) { stuck_ = error.message; }});
    }

    CommandRequest request(std::string id = "t1") {
        return {.id = {std::move(id)},
                .agent_id = agent_,
                .summary = "Command: make",
                .spec = {.cmd = "make"},
                .argv = {"sh", "-c", "make"},
                .workdir = "/repo",
                .output_path = folder_ / "t1.log"};
    }
    // Started, and no further.
    void start(CommandRequest request) {
        std::optional<base::Status> started;
        host_->start(
            std::move(request), [&](supervisor::End end) { ends_.push_back(std::move(end)); },
            [&](base::Status status) { started = std::move(status); });
        loop_.run_until([&] { return started.has_value(); });
        ASSERT_TRUE(started && *started);
    }
    void promote(const std::string& id = "t1") {
        host_->promote({id}, [&](base::Result<domain::Task> task) {
            promoted_.push_back(task ? base::to_json(task->status) : json::value(nullptr));
        });
    }
    void a_task(const std::string& id = "t1") {
        start(request(id));
        promote(id);
        loop_.run();
        ASSERT_EQ(task(id).status, domain::TaskStatus::Running);
    }
    base::Result<domain::Task> find(const std::string& id) {
        std::optional<base::Result<domain::Task>> found;
        host_->find(agent_, {id}, [&](auto task) { found = std::move(task); });
        loop_.run_until([&] { return found.has_value(); });
        return *found;
    }
    domain::Task task(const std::string& id = "t1") { return find(id).value(); }
    std::vector<store::QueuedMessage> messages() {
        std::vector<store::QueuedMessage> list;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            for (auto& entry : TRY(tx.messages(agent_, {.limit = 100})))
                list.push_back(std::move(entry.record));
            return {};
        }));
        return list;
    }
    std::vector<std::string> task_events() {
        std::vector<std::string> kinds;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            for (const auto& event : TRY(tx.events(agent_, {.limit = 100})))
                if (event.kind.contains("task")) {
                    kinds.push_back(event.kind);
                    EXPECT_EQ(base::string_at(event.data, "task_id"), "t1") << event.kind;
                }
            return {};
        }));
        return kinds;
    }

    const domain::AgentId agent_{"main"};
    const std::filesystem::path folder_{std::filesystem::temp_directory_path()};
    test_support::FakeLoop loop_;
    base::RandomIds ids_{loop_, 1};
    std::unique_ptr<FailingStore> store_{std::make_unique<FailingStore>()};
    events::Feed feed_;
    std::uint64_t output_bytes_max_{supervisor::kLogBytesMax};
    std::filesystem::path agents_folder_;
    FakeOutputGate gate_;
    supervisor::FakeMachine machine_;
    std::optional<supervisor::FakeSupervisor> supervisor_;
    std::optional<Host> host_;
    std::vector<supervisor::End> ends_;
    std::vector<json::value> promoted_;
    std::vector<std::string> woken_;
    std::string stuck_;
};

}  // namespace tasks
