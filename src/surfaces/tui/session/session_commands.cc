// The slash commands.
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/os/files.h"
#include "base/text.h"
#include "surfaces/show/words.h"
#include "surfaces/tui/overlays/transcript_text.h"
#include "surfaces/tui/session/session.h"

namespace tui {
namespace {

constexpr std::int64_t kExportedMax = 10'000;
constexpr std::size_t kPlanBytesMax = 4 * 1024 * 1024;

std::string absolute(const std::filesystem::path& cwd, std::string_view path) {
    if (path.starts_with("~/"))
        if (const char* home = std::getenv("HOME"); home != nullptr)
            return (std::filesystem::path(home) / path.substr(2)).lexically_normal();
    return (cwd / path).lexically_normal();
}

}  // namespace

template <class Job>
void Session::act(Job job, std::string done) {
    writes_.run(shared_from_this(), std::move(job),
                [this, done = std::move(done)](const auto& result) {
                    note(result ? done : result.error().message);
                    if (result) refresh_status();
                });
}

void Session::run_command(const std::string& line) {
    if (is_prompt_word(line)) return run_prompt(line);
    const auto command = read_command(line);
    if (!command) return note(command.error().message);
    if (!*command) return send(line);  // A word that only looks like a command is a message.
    composer_.taken();
    run_command(**command);
}

void Session::run_command(const Command& command) {
    const auto& agent = view_.agent_id;
    switch (command.name) {
        case CommandName::Help:
            return open(help_overlay(desk_));
        case CommandName::Agents:
            return open(agents_overlay(desk_, view_.children));
        case CommandName::Agent:
            return run_agent_command(command);
        case CommandName::Events:
            return open(events_overlay(desk_));
        case CommandName::Tasks:
            return open(tasks_overlay(desk_, {recent_tasks_.begin(), recent_tasks_.end()}));
        case CommandName::Work:
            return open(work_overlay(desk_));
        case CommandName::Approvals:
            return open(approvals_overlay(desk_));
        case CommandName::Plan:
            return open_plan(command.rest);
        case CommandName::Compact:
            return compact();
        case CommandName::Undo:
            return undo(command.arguments.empty() ? "" : command.arguments.front());
        case CommandName::Transcript:
            return open(transcript_overlay(desk_, ""));
        case CommandName::Search:
            return open(transcript_overlay(desk_, command.rest));
        case CommandName::State:
            return open(state_overlay(desk_));
        case CommandName::Model:
            return set_model(command.arguments.empty() ? "" : command.arguments.front());
        case CommandName::Mcp:
            return open(prompts_overlay(desk_));
        case CommandName::DebugPrompt:
            return open(prompt_overlay(desk_, command.rest));
        case CommandName::Display:
            return set_display(command.arguments.front());
        case CommandName::Export:
            return export_transcript(command.rest);
        case CommandName::Refresh:
            follower_.reset();
            return load(parts_.agent);
        case CommandName::ClearStatus:
            return note_.clear();
        case CommandName::Abort:
            return interrupt();
        case CommandName::Skills:
            return open(skills_overlay(desk_));
        case CommandName::SkillInstall:
            return act(
                [this, agent, name = command.arguments.front()] {
                    return parts_.service.install_skill(
                        agent, {.name = name, .mode = service::SkillInstallMode::Linked},
                        desk_.caller);
                },
                "Installed the skill " + command.arguments.front());
        case CommandName::SkillUninstall:
            return act(
                [this, agent, name = command.arguments.front()] {
                    return parts_.service.uninstall_skill(agent, name, desk_.caller);
                },
                "Removed the skill " + command.arguments.front());
        case CommandName::Attach: {
            const std::string path = absolute(parts_.cwd, command.rest);
            return act(
                [this, agent, path] {
                    return parts_.service.attach_workspace(agent, path, desk_.caller);
                },
                "Attached " + path);
        }
        case CommandName::Enter: {
            const std::string path = absolute(parts_.cwd, command.rest);
            return act([this, agent,
                        path] { return parts_.service.move_agent(agent, path, desk_.caller); },
                       fmt::format("Agent {} works in {} from its next turn on", agent, path));
        }
        case CommandName::Leave:
            return act([this, agent] { return parts_.service.exit_workspace(agent, desk_.caller); },
                       fmt::format("Agent {} is back in its own folder", agent));
        case CommandName::Quit:
            request_ = Request::Quit;
            return;
    }
}

void Session::run_agent_command(const Command& command) {
    const auto& verb = command.arguments.front();
    const std::string name = command.arguments.size() > 1 ? command.arguments[1] : view_.agent_id;
    if (verb == "switch") return switch_agent(name);
    if (verb == "create")
        return act(
            [this, name] { return parts_.service.create_agent(name, std::nullopt, desk_.caller); },
            fmt::format("Agent {0} exists; switch to it with /agent switch {0}", name));
    const auto action =
        verb == "start" ? service::LifecycleAction::Start : service::LifecycleAction::Stop;
    act([this, name, action] { return parts_.service.set_lifecycle(name, action, desk_.caller); },
        fmt::format("Agent {} {}", name, verb == "start" ? "is started" : "is stopped"));
}

// A file of this machine, else a plan that was saved under this name.
void Session::open_plan(const std::string& name) {
    if (name.empty()) return open(plans_overlay(desk_));
    service::PlanRequest request{.vault = view_.workspace.empty() ? parts_.cwd.string()
                                                                  : view_.workspace};
    const std::string path = absolute(parts_.cwd, name);
    std::error_code failed;
    if (std::filesystem::is_regular_file(path, failed)) {
        auto text = base::read_file(path, kPlanBytesMax);
        if (!text) return note(text.error().message);
        request.text = std::move(*text);
    } else if (name.contains('/') || name.contains('.')) {
        return note("There is no file " + path);
    } else {
        request.action = name;
    }
    open(plan_preview_overlay(desk_, std::move(request)));
}

void Session::compact() {
    writes_.run(
        shared_from_this(),
        [this, agent = view_.agent_id] {
            return parts_.service.compact_conversation(agent, desk_.caller);
        },
        [this](const base::Result<json::object>& made) {
            if (!made) return note(made.error().message);
            if (!base::bool_at(*made, "compacted")) return note(base::string_at(*made, "reason"));
            note(fmt::format("the conversation was compacted from about {} to {} tokens",
                             base::int_at(*made, "previous_estimated_tokens"),
                             base::int_at(*made, "projected_estimated_tokens")));
        });
}

void Session::undo(const std::string& patches) {
    service::UndoRequest request;
    if (!patches.empty()) {
        std::int64_t count = 0;
        const char* const end = patches.data() + patches.size();
        const auto [at, failed] = std::from_chars(patches.data(), end, count);
        if (failed != std::errc() || at != end || count < 1)
            return note("Usage: /undo [how many patches]");
        request.patches = count;
    }
    writes_.run(
        shared_from_this(),
        [this, agent = view_.agent_id, request] {
            return parts_.service.undo(agent, request, desk_.caller);
        },
        [this](const base::Result<service::Undone>& undone) {
            note(undone ? show::undone_text(*undone) : undone.error().message);
        });
}

void Session::set_display(const std::string& name) {
    const auto mode = views::parse_display_mode(name);
    if (!mode) return note("There is no display mode " + name + "; use info, verbose or debug");
    conversation_.set_mode(*mode);
    note(fmt::format("Display mode {}", base::enum_name(*mode)));
}

void Session::set_model(const std::string& model) {
    const auto& agent = view_.agent_id;
    if (model.empty()) return open(model_overlay(desk_));
    if (model == "default")
        return act([this, agent] { return parts_.service.clear_model(agent); },
                   "The agent asks the default model from its next turn on");
    act([this, agent, model] { return parts_.service.set_model(agent, model); },
        fmt::format("The agent asks {} from its next turn on", model));
}

void Session::export_transcript(const std::string& path) {
    const std::string file =
        absolute(parts_.cwd, path.empty() ? fmt::format("holon-{}.md", view_.agent_id) : path);
    act(
        [this, agent = view_.agent_id, file]() -> base::Status {
            std::error_code failed;
            if (std::filesystem::exists(file, failed))
                return base::fail(base::ErrorCode::Conflict, "{} exists already; name another file",
                                  file);
            const auto entries = TRY(parts_.service.transcript(agent, {.limit = kExportedMax}));
            return base::write_file_atomic(file, transcript_markdown(entries.items), 0600);
        },
        "The conversation was written to " + file);
}

}  // namespace tui
