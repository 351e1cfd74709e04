// `holon plan make`: asks a model for a plan and keeps it.
#include "base/os/files.h"
#include "base/text.h"
#include "surfaces/cli/plan/call.h"
#include "surfaces/cli/plan/drafts.h"
#include "surfaces/cli/plan/view.h"

namespace cli {
namespace {

// A word for a shell, as it can be pasted.
std::string shell_word(std::string_view word) {
    const bool plain = !word.empty() && std::ranges::all_of(word, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
               std::string_view("/._-+=:@").contains(c);
    });
    if (plain) return std::string(word);
    std::string out = "'";
    for (const char c : base::printable(base::to_utf8(word)))
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

// The file of the plan, for the next command. A model's answer is expensive: a failure here must
// not lose it.
base::Result<std::string> keep(const PlanMakeCommand& command, const service::PlanMade& made,
                               const PlanCall& call) {
    const std::string text = base::pretty_json(made.plan) + "\n";
    std::filesystem::path file;
    if (command.out) {
        file = *command.out;
        TRY(base::write_file_atomic(file, text, 0600));
    } else {
        file = TRY(keep_draft(call.context.drafts, made.plan_hash, text));
    }
    if (!command.save) return file.string();
    const auto saved =
        call.context.plans.save(*command.save, "", std::nullopt, base::json_text(made.plan));
    if (!saved)
        return base::fail(saved.error().code, "{}. The plan is kept in {}", saved.error().message,
                          file.string());
    return file.string();
}

// Checked before the model is called.
base::Status check_overwrite(const PlanMakeCommand& command, const Terminal& terminal) {
    std::error_code ignored;
    if (command.force || !std::filesystem::exists(*command.out, ignored)) return {};
    if (terminal.in_is_terminal && terminal.err_is_terminal &&
        terminal.confirm(
            fmt::format("{} exists. Overwrite it? [y/N] ", base::printable(*command.out))))
        return {};
    return base::fail(base::ErrorCode::Conflict,
                      "{} exists and was left as it is; name another file, or add --force",
                      *command.out);
}

base::Status check_out(const PlanMakeCommand& command, const Terminal& terminal) {
    if (!command.out) return {};
    std::error_code ignored;
    const auto folder = std::filesystem::absolute(*command.out, ignored).parent_path();
    if (std::filesystem::is_directory(folder, ignored)) return check_overwrite(command, terminal);
    return base::fail(base::ErrorCode::InvalidInput,
                      "there is no folder {} for --out; create it first", folder.string());
}

Exit no_plan(const PlanCall& call, const service::PlanMade& made) {
    const std::string message = fmt::format(
        "the model gave no usable plan in {} tries; nothing was run. Describe the goal more "
        "precisely, or choose another model with --model",
        made.tries);
    if (call.wants_json()) {
        call.context.terminal.print_line(
            base::pretty_json(json::object{{"ok", false},
                                           {"error", message},
                                           {"tries", made.tries},
                                           {"plannerVersion", made.planner_version},
                                           {"faults", fault_list(made.faults)}}));
    } else {
        call.context.terminal.note("Error: " + message + ". The faults of the last one:");
        call.context.terminal.note(faults_text(made.faults));
    }
    return Exit::Faults;
}

}  // namespace

base::Result<Exit> on(const PlanMakeCommand& command, const PlanCall& call) {
    const auto& terminal = call.context.terminal;
    TRY(check_out(command, terminal));
    if (terminal.err_is_terminal && !call.wants_json())
        terminal.note("Asking the model for a plan…");
    const auto made = call.context.plans.make(command.request);
    if (!made && made.error().kind == service::kInterrupted) {
        terminal.note("Interrupted; no plan was made.");
        return Exit::Interrupted;
    }
    if (!made) return std::unexpected(made.error());
    if (!made->ok) return no_plan(call, *made);
    const std::string file = TRY(keep(command, *made, call));
    if (call.wants_json()) {
        terminal.print_line(
            base::pretty_json(json::object{{"ok", true},
                                           {"file", file},
                                           {"plan", made->plan},
                                           {"planHash", made->plan_hash},
                                           {"plannerVersion", made->planner_version},
                                           {"tries", made->tries},
                                           {"preview", made->preview}}));
        return Exit::Success;
    }
    if (base::bool_at(made->preview, "ok")) {
        terminal.print_line(preview_text(terminal, made->preview));
    } else {
        terminal.print_line("No preview: the plan needs values for its parameters.");
    }
    const std::string vault =
        command.request.vault ? " --vault " + shell_word(*command.request.vault) : "";
    terminal.print_line(
        fmt::format("\nNothing was run. To run it:  holon plan run {}{}", shell_word(file), vault));
    return Exit::Success;
}

}  // namespace cli
