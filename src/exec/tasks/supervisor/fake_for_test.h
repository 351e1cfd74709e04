// Supervised commands without processes. The machine they run on outlives the supervisor, as the
// real one outlives the program.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/os/loop.h"
#include "exec/tasks/supervisor/supervisor.h"

namespace supervisor {

struct FakeMachine {
    struct Command {
        Spec spec;
        std::optional<End> end{};
        std::string out{};
        std::string input{};
        std::vector<std::chrono::milliseconds> stops{};  // The graces of the stops it was given.
    };
    std::map<std::string, Command> commands;
    std::map<std::string, int> starts;  // By command line.
    bool fails_to_start{false};
};

class FakeSupervisor final : public Supervisor {
public:
    FakeSupervisor(base::Loop& loop, FakeMachine& machine) : loop_(loop), machine_(machine) {}

    base::Result<std::shared_ptr<Command>> start(Spec spec, OnEnd on_end) override {
        if (machine_.fails_to_start)
            return base::fail(base::ErrorCode::Unavailable, "no process can be started");
        ++machine_.starts[spec.argv.back()];
        const std::string id = spec.id;
        machine_.commands[id] = {.spec = std::move(spec)};
        return attach(id, std::move(on_end));
    }

    std::shared_ptr<Command> attach(const std::string& id, OnEnd on_end) override {
        waiting_[id] = std::move(on_end);
        const auto found = machine_.commands.find(id);
        if (found == machine_.commands.end())
            report(id, Lost{"nothing is known of it"});
        else if (found->second.end)
            report(id, *found->second.end);
        return std::make_shared<Handle>(machine_, id);
    }

    bool knows(const std::string& id) override { return machine_.commands.contains(id); }
    std::vector<std::string> known() override {
        std::vector<std::string> ids;
        for (const auto& [id, command] : machine_.commands) ids.push_back(id);
        return ids;
    }

    bool is_in_use(const std::string& id) override {
        const auto found = machine_.commands.find(id);
        return found != machine_.commands.end() && !found->second.end;
    }

    void collect(const std::string& id, const std::filesystem::path&, const Ended&, Capture,
                 std::move_only_function<void(base::Result<Captured>)> done) override {
        const std::string& out = machine_.commands.at(id).out;
        done(Captured{
            .out = {.head = out, .bytes = out.size(), .lines = 1, .sha256 = base::sha256_hex(out)},
            .err = {.sha256 = base::sha256_hex("")}});
    }

    void forget(const std::string& id) override { machine_.commands.erase(id); }

    // The command ends; the process that is attached learns it.
    void end(const std::string& id, End end) {
        machine_.commands.at(id).end = end;
        report(id, std::move(end));
    }

private:
    struct Handle final : Command {
        Handle(FakeMachine& machine, std::string id) : machine(machine), id(std::move(id)) {}
        void write(std::string bytes,
                   std::move_only_function<void(base::Result<std::int64_t>)> done) override {
            machine.commands.at(id).input += bytes;
            done(std::ssize(bytes));
        }
        void close_input() override {}
        void stop(std::chrono::milliseconds grace) override {
            if (machine.commands.contains(id)) machine.commands.at(id).stops.push_back(grace);
        }
        FakeMachine& machine;
        std::string id;
    };

    void report(const std::string& id, End end) {
        loop_.post([this, id, end = std::move(end)]() mutable {
            const auto waiting = waiting_.extract(id);
            if (waiting && waiting.mapped()) waiting.mapped()(std::move(end));
        });
    }

    base::Loop& loop_;
    FakeMachine& machine_;
    std::map<std::string, OnEnd> waiting_;
};

}  // namespace supervisor
