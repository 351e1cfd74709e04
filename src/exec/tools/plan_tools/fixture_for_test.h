// The tools of plans behind a real dispatcher, loop and process runner: `vault` is the vault.
#pragma once

#include "base/os/asio_loop.h"
#include "base/os/files.h"
#include "base/os/process_runner.h"
#include "exec/tools/dispatcher.h"
#include "exec/tools/patch/folder_for_test.h"
#include "exec/tools/plan_tools/plan_tools.h"

#include <gmock/gmock.h>

namespace plan_tools {

class PlanToolsTest : public testing::Test {
protected:
    explicit PlanToolsTest(bool allow_delete = true)
        : shell_(loop_, runner_, {.environment = {{"PATH", "/usr/bin:/bin"}}}),
          dispatcher_({.registry = registry_, .clock = clock_, .ids = ids_}) {
        std::filesystem::create_directories(folder_.at("vault"));
        add_all(
            registry_,
            {.loop = loop_,
             .shell = shell_,
             .context = [this](const domain::RunId&,
                               const tools::ExecutionContext&) { return context_; },
             .commands = {{"say",
                           "Write words to a file.",
                           {"sh", "-c", "printf '%s' \"$1\" > \"$2\"", "sh", "{text}", "{file}"}},
                          {"fail", "Fails.", {"sh", "-c", "echo oops >&2; exit 3"}},
                          {"wait", "Waits.", {"sleep", "600"}, 20}},
             .allow_delete = allow_delete});
        place_ = {.agent_id = {"default"},
                  .agent_home = folder_.path() / "home",
                  .workspace = {.execution_root = folder_.at("vault"), .cwd = folder_.at("vault")}};
    }

    domain::ToolCall call(std::string tool, json::value args,
                          domain::CallSource source = domain::CallSource::PlanStep) {
        return dispatcher_.describe({.call_id = {"call-1"},
                                     .run_id = {"run-1"},
                                     .step_id = "step",
                                     .source = source,
                                     .tool = std::move(tool),
                                     .args = std::move(args)},
                                    place_);
    }
    std::shared_ptr<tools::Running> start(const domain::ToolCall& call) {
        return dispatcher_.dispatch(call, domain::ProfilePreset::PublicNamed, place_,
                                    [this](tools::Dispatched dispatched) {
                                        ended_ = std::move(dispatched);
                                        loop_.stop();
                                    });
    }
    domain::ToolResult end() {
        while (!ended_) loop_.run();
        return std::exchange(ended_, std::nullopt)->result;
    }
    domain::ToolResult run(std::string tool, json::value args) {
        start(call(std::move(tool), std::move(args)));
        return end();
    }
    // The code of a failure, or "ok".
    std::string code(std::string tool, json::value args) {
        const auto result = run(std::move(tool), std::move(args));
        return result.error ? result.error->code : "ok";
    }
    base::Result<json::object> preview(const std::string& tool, const json::value& args) {
        return registry_.find(tool)->preview(args, place_);
    }
    static std::vector<vault::UndoEntry> undo_of(const domain::ToolResult& result) {
        return base::from_json<std::vector<vault::UndoEntry>>(result.data->at("undo")).value();
    }

    void write(std::string_view path, std::string_view bytes) {
        folder_.write("vault/" + std::string(path), bytes);
    }
    std::map<std::string, std::string> all() {
        std::map<std::string, std::string> out;
        for (const auto& [path, text] : folder_.all())
            if (path.starts_with("vault/")) out[path.substr(6)] = text;
        return out;
    }

    patch::TestFolder folder_;
    base::AsioLoop loop_;
    base::SystemProcessRunner runner_{loop_};
    builtin::Shell shell_;
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    RunContext context_;
    tools::Registry registry_;
    tools::Dispatcher dispatcher_;
    tools::ExecutionContext place_;
    std::optional<tools::Dispatched> ended_;
};

}  // namespace plan_tools
