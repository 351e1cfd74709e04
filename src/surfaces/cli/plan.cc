// `holon plan …` and `holon tools`.
#include <unistd.h>

#include <charconv>

#include "base/files.h"
#include "base/text.h"
#include "service/plans_json.h"
#include "surfaces/cli/cli.h"
#include "surfaces/cli/plan_progress.h"
#include "surfaces/cli/plan_view.h"

namespace cli {
namespace {

using domain::PlanRunStatus;

constexpr std::int64_t kRecordsCaughtUp = 1'000'000;
constexpr std::size_t kInputBytesMax = std::size_t{16} * 1024 * 1024;
constexpr std::size_t kSelectedFileBytesMax = std::size_t{64} * 1024 * 1024;

// One run of a command: its options, and whether scripts or people read the answer.
struct Call {
    const PlanContext& context;
    bool json;
    bool wants_json() const { return json || !context.terminal.out_is_terminal; }
};

Exit exit_of(PlanRunStatus status) {
    switch (status) {
        case PlanRunStatus::Succeeded:
            return Exit::Success;
        case PlanRunStatus::AwaitingApproval:
            return Exit::Waiting;
        case PlanRunStatus::Cancelled:
            return Exit::Interrupted;
        case PlanRunStatus::Running:
        case PlanRunStatus::Partial:
        case PlanRunStatus::Failed:
            return Exit::Failed;
    }
    return Exit::Error;
}

base::Result<std::string> read_input(const Terminal& terminal, const std::string& file) {
    if (file != "-") return base::read_file(file, kInputBytesMax);
    std::string text;
    std::array<char, 65536> buffer;
    while (true) {
        const ssize_t got = ::read(terminal.in, buffer.data(), buffer.size());
        if (got < 0) return base::fail_errno("read standard input");
        if (got == 0) return text;
        text.append(buffer.data(), static_cast<std::size_t>(got));
        if (text.size() > kInputBytesMax)
            return base::fail(base::ErrorCode::InvalidInput, "standard input is too long");
    }
}

// A value as people type it: JSON where it is, else text.
json::value param_value(const std::string& text) {
    const auto value = base::parse_json(text);
    return value && !value->is_string() ? *value : json::value(json::string(text));
}

base::Result<json::object> selection_of(const PlanSource& source) {
    const std::string& range = *source.selection;
    const std::size_t colon = range.find(':');
    std::size_t start = 0;
    std::size_t end = 0;
    const auto number = [&](std::string_view part, std::size_t& to) {
        return !part.empty() && std::from_chars(part.data(), part.data() + part.size(), to).ptr ==
                                    part.data() + part.size();
    };
    if (colon == std::string::npos || !number(std::string_view(range).substr(0, colon), start) ||
        !number(std::string_view(range).substr(colon + 1), end) || end < start)
        return base::fail(base::ErrorCode::InvalidInput,
                          "--selection is start:end, counted in characters, got '{}'", range);
    json::object selection{{"start", start}, {"end", end}};
    if (!source.active_file)
        return base::fail(base::ErrorCode::InvalidInput, "--selection needs --active-file");
    const auto file = std::filesystem::path(source.vault.value_or(".")) / *source.active_file;
    const auto content = TRY(base::read_file(file, kSelectedFileBytesMax));
    const std::string text = base::to_utf8(content);
    if (end > base::char_count(text))
        return base::fail(base::ErrorCode::InvalidInput,
                          "{} has {} characters, and --selection ends at {}", *source.active_file,
                          base::char_count(text), end);
    selection["text"] = base::last_chars(base::first_chars(text, end), end - start);
    return selection;
}

base::Result<service::PlanRequest> request_of(const PlanSource& source, const Terminal& terminal) {
    service::PlanRequest request{.action = source.action, .vault = source.vault};
    if (!source.action) request.text = TRY(read_input(terminal, source.file));
    for (const auto& param : source.params) {
        const std::size_t equals = param.find('=');
        if (equals == std::string::npos || equals == 0)
            return base::fail(base::ErrorCode::InvalidInput, "--param is name=value, got '{}'",
                              param);
        request.params[param.substr(0, equals)] = param_value(param.substr(equals + 1));
    }
    if (source.policy_file) {
        const auto policy =
            TRY(base::parse_json(TRY(base::read_file(*source.policy_file, kInputBytesMax))));
        if (!policy.is_object())
            return base::fail(base::ErrorCode::InvalidInput, "a policy is a JSON object");
        request.policy = policy.get_object();
    }
    if (source.active_file) request.context["activeFilePath"] = *source.active_file;
    if (source.selection) request.context["selection"] = TRY(selection_of(source));
    if (source.cursor) request.context["cursor"] = *source.cursor;
    return request;
}

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

json::array fault_list(const std::vector<service::PlanFault>& faults) {
    json::array list;
    for (const auto& fault : faults) list.push_back(base::to_json(fault));
    return list;
}

Exit refuse(const Call& call, const std::vector<service::PlanFault>& faults) {
    if (call.wants_json())
        call.context.terminal.print_line(
            base::pretty_json(json::object{{"ok", false}, {"faults", fault_list(faults)}}));
    else
        call.context.terminal.note(faults_text(faults));
    return Exit::Faults;
}

base::Result<Exit> on(const PlanCheckCommand& command, const Call& call) {
    const auto request = TRY(request_of(command.source, call.context.terminal));
    const auto check = TRY(call.context.plans.check(request));
    if (!check.ok) return refuse(call, check.faults);
    if (call.wants_json())
        call.context.terminal.print_line(
            base::pretty_json(json::object{{"ok", true},
                                           {"goal", check.goal},
                                           {"steps", check.steps},
                                           {"riskLevel", check.risk_level},
                                           {"planHash", check.plan_hash},
                                           {"params", base::to_json(check.params)},
                                           {"paramTypes", base::to_json(check.param_types)}}));
    else
        call.context.terminal.print_line(fmt::format(
            "Good: {} steps, {}. {}", check.steps, check.risk_level, base::printable(check.goal)));
    return Exit::Success;
}

// What a stored run is made of, to be looked at before it is approved.
base::Result<service::PlanRequest> request_of_run(const std::string& run, const Call& call) {
    const json::value shown = TRY(call.context.plans.show(run));
    const auto& stored = shown.at("run");
    service::PlanRequest request{.text = base::json_text(shown.at("plan")),
                                 .vault = base::string_at(stored, "vault")};
    for (const auto& [name, to] :
         {std::pair("params", &request.params), std::pair("policy", &request.policy),
          std::pair("context", &request.context)})
        if (const auto* value = base::find(stored, name); value && value->is_object())
            *to = value->get_object();
    return request;
}

base::Result<Exit> show_preview(const PlanSource& source, const Call& call) {
    std::error_code ignored;
    const bool is_run = !source.action && source.file != "-" &&
                        !std::filesystem::exists(source.file, ignored) &&
                        call.context.plans.run(source.file).has_value();
    const auto request = is_run ? TRY(request_of_run(source.file, call))
                                : TRY(request_of(source, call.context.terminal));
    const auto preview = TRY(call.context.plans.preview(request));
    const auto* ok = preview.if_contains("ok");
    const bool good = ok && ok->is_bool() && ok->get_bool();
    if (call.wants_json())
        call.context.terminal.print_line(base::pretty_json(preview));
    else if (!good)
        call.context.terminal.note(faults_text(
            TRY(base::from_json<std::vector<service::PlanFault>>(preview.at("faults")))));
    else
        call.context.terminal.print_line(preview_text(call.context.terminal, preview));
    return good ? Exit::Success : Exit::Faults;
}

base::Result<Exit> on(const PlanPreviewCommand& command, const Call& call) {
    return show_preview(command.source, call);
}

// Where the plan is kept, as the next command has to name it. It cost a model's time: what fails
// here must not lose it.
base::Result<std::string> keep(const PlanMakeCommand& command, const service::PlanMade& made,
                               const Call& call) {
    constexpr std::size_t kDraftNameDigits = 12;
    const std::string digest = made.plan_hash.substr(made.plan_hash.find(':') + 1);
    const std::filesystem::path file =
        command.out ? std::filesystem::path(*command.out)
                    : call.context.drafts / (digest.substr(0, kDraftNameDigits) + ".json");
    if (!command.out) TRY(base::make_folders(call.context.drafts, 0700));
    TRY(base::write_file_atomic(file, base::pretty_json(made.plan) + "\n", 0600));
    if (!command.save) return file.string();
    const auto saved =
        call.context.plans.save(*command.save, "", std::nullopt, base::json_text(made.plan));
    if (!saved)
        return base::fail(saved.error().code, "{}. The plan is kept in {}", saved.error().message,
                          file.string());
    return file.string();
}

// Asked before the model is.
base::Status check_out(const PlanMakeCommand& command) {
    if (!command.out) return {};
    std::error_code ignored;
    const auto folder = std::filesystem::absolute(*command.out, ignored).parent_path();
    if (std::filesystem::is_directory(folder, ignored)) return {};
    return base::fail(base::ErrorCode::InvalidInput,
                      "there is no folder {} for --out; make it first", folder.string());
}

Exit no_plan(const Call& call, const service::PlanMade& made) {
    const std::string message = fmt::format(
        "the model gave no usable plan in {} tries; nothing was run. Say more exactly what is to "
        "be done, or ask another model with --model",
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

base::Result<Exit> on(const PlanMakeCommand& command, const Call& call) {
    const auto& terminal = call.context.terminal;
    TRY(check_out(command));
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
        terminal.print_line("What it would do cannot be shown without values for its parameters.");
    }
    const std::string vault =
        command.request.vault ? " --vault " + shell_word(*command.request.vault) : "";
    terminal.print_line(
        fmt::format("\nNothing was run. To run it:  holon plan run {}{}", shell_word(file), vault));
    return Exit::Success;
}

Exit tell(const Call& call, const domain::PlanRun& run) {
    if (call.wants_json())
        call.context.terminal.print_line(base::json_text(service::plan_run_json(run)));
    else
        call.context.terminal.print_line(run_summary(run));
    return exit_of(run.status);
}

// With bars, where somebody watches.
base::Result<Exit> carry_watched(const Call& call, const std::string& run) {
    const auto& context = call.context;
    const auto shown = TRY(context.plans.show(run));
    PlanProgress progress(context.terminal, context.clock, shown.at("plan"));
    for (const auto& record : TRY(context.plans.records(run, 0, kRecordsCaughtUp)))
        progress.on_record(record);
    const auto ended = context.plans.execute(run, progress);
    progress.finish();
    return tell(call, TRY(ended));
}

base::Result<Exit> carry(const Call& call, const std::string& run) {
    if (!call.json && call.context.terminal.err_is_terminal) return carry_watched(call, run);
    PlanView people(call.context.terminal);
    PlanLines scripts(call.context.terminal);
    service::PlanObserver& observer = call.json ? static_cast<service::PlanObserver&>(scripts)
                                                : static_cast<service::PlanObserver&>(people);
    return tell(call, TRY(call.context.plans.execute(run, observer)));
}

constexpr std::chrono::hours kOwnApproval{24};

// True when somebody at the terminal said yes to what they were shown.
base::Result<bool> ask(const service::PlanRequest& request, const Call& call) {
    const auto& terminal = call.context.terminal;
    terminal.note(preview_text(terminal, TRY(call.context.plans.preview(request))));
    return terminal.confirm("Run it? [y/N] ");
}

base::Result<Exit> on(const PlanRunCommand& command, const Call& call) {
    if (command.dry_run) return show_preview(command.source, call);
    auto& plans = call.context.plans;
    const auto& terminal = call.context.terminal;
    const auto request = TRY(request_of(command.source, terminal));
    const auto created = TRY(plans.create(request));
    if (!created.run) return refuse(call, created.faults);
    const std::string run = created.run->run_id.value;
    if (created.needs_approval && !command.yes) {
        if (!terminal.in_is_terminal || !terminal.err_is_terminal || call.json ||
            command.source.file == "-")
            return tell(call, *created.run);
        if (!TRY(ask(request, call)))
            return tell(call,
                        TRY(plans.reject(run, call.context.user, "rejected at the terminal")));
    }
    if (created.needs_approval) TRY(plans.approve(run, call.context.user, kOwnApproval));
    return carry(call, run);
}

base::Result<Exit> on(const PlanApproveCommand& command, const Call& call) {
    const auto run = TRY(call.context.plans.approve(command.run, call.context.user,
                                                    std::chrono::hours(command.hours)));
    if (call.wants_json())
        call.context.terminal.print_line(base::json_text(service::plan_run_json(run)));
    else
        call.context.terminal.print_line(
            fmt::format("Run {} is approved by {} until {}. Begin it with: holon plan resume {}",
                        run.run_id, base::printable(run.approval->approver),
                        base::to_text(run.approval->expires_at), run.run_id));
    return Exit::Success;
}

base::Result<Exit> on(const PlanRejectCommand& command, const Call& call) {
    const auto run = TRY(call.context.plans.reject(command.run, call.context.user, command.reason));
    tell(call, run);
    return Exit::Success;
}

base::Result<Exit> on(const PlanResumeCommand& command, const Call& call) {
    if (command.yes) TRY(call.context.plans.approve(command.run, call.context.user, kOwnApproval));
    return carry(call, command.run);
}

base::Result<Exit> on(const PlanCancelCommand& command, const Call& call) {
    tell(call, TRY(call.context.plans.cancel(command.run, command.reason)));
    return Exit::Success;
}

base::Result<Exit> on(const PlanStatusCommand& command, const Call& call) {
    const auto run = TRY(call.context.plans.run(command.run));
    const bool carried = TRY(call.context.plans.is_carried(command.run));
    if (call.wants_json()) {
        auto out = service::plan_run_json(run);
        out["isCarried"] = carried;
        call.context.terminal.print_line(base::pretty_json(out));
    } else {
        call.context.terminal.print_line(base::printable(run.goal));
        call.context.terminal.print_line(run_summary(run));
        if (run.status == PlanRunStatus::Running)
            call.context.terminal.print_line(carried ? "A process is at it."
                                                     : "It was cut off; no process is at it.");
    }
    return Exit::Success;
}

base::Result<Exit> on(const PlanListCommand& command, const Call& call) {
    const auto runs = TRY(call.context.plans.runs(command.limit));
    json::array list;
    for (const auto& run : runs) {
        if (call.wants_json()) {
            list.push_back(service::plan_run_json(run));
            continue;
        }
        const auto age = std::chrono::duration_cast<std::chrono::seconds>(call.context.clock.now() -
                                                                          run.created_at);
        call.context.terminal.print_line(fmt::format(
            "{}  {:<17} {:<9} {:>3}/{:<3} {}", run.run_id, base::enum_name(run.status),
            age_text(age.count()), run.counts.succeeded, run.counts.steps,
            base::printable(base::ellipsize(run.goal, 60)) +
                (run.owner ? " (agent " + base::printable(run.owner->agent_id.value) + ")" : "")));
    }
    if (call.wants_json()) call.context.terminal.print_line(base::pretty_json(list));
    return Exit::Success;
}

base::Result<Exit> on(const PlanShowCommand& command, const Call& call) {
    call.context.terminal.print_line(base::pretty_json(TRY(call.context.plans.show(command.run))));
    return Exit::Success;
}

template <class T>
void print_json(const Call& call, const T& value) {
    call.context.terminal.print_line(base::pretty_json(service::plan_json(value)));
}

base::Result<Exit> on(const PlanVerifyCommand& command, const Call& call) {
    const auto verdict = TRY(call.context.plans.verify(command.run));
    if (call.wants_json()) {
        print_json(call, verdict);
    } else {
        for (const auto& fault : verdict.faults)
            call.context.terminal.print_line(styled(call.context.terminal, Style::Red, "✗ ") +
                                             base::printable(fault));
        for (const auto& unknown : verdict.unknown_outcomes)
            call.context.terminal.print_line("? of unknown outcome: " + base::printable(unknown));
        if (verdict.ok)
            call.context.terminal.print_line(fmt::format(
                "Proved: {} calls with their results, {} events, {} approved changes, one unbroken "
                "chain.",
                verdict.calls, verdict.events, verdict.approved_calls));
    }
    return verdict.ok ? Exit::Success : Exit::Failed;
}

base::Result<Exit> on(const PlanReplayCommand& command, const Call& call) {
    const auto replay = TRY(call.context.plans.replay(command.run));
    if (call.wants_json()) {
        print_json(call, replay);
    } else {
        for (const auto& one : replay.divergences)
            call.context.terminal.print_line(base::printable(one));
        if (replay.ok)
            call.context.terminal.print_line(fmt::format(
                "The replay decided the same: {} recorded results served.", replay.served));
    }
    return replay.ok ? Exit::Success : Exit::Failed;
}

base::Result<Exit> on(const PlanRevertCommand& command, const Call& call) {
    const auto& terminal = call.context.terminal;
    const auto run = TRY(call.context.plans.run(command.run));
    if (!command.yes) {
        if (!terminal.in_is_terminal || !terminal.err_is_terminal)
            return base::fail(base::ErrorCode::Refused,
                              "nobody can be asked here; add --yes to take run {} back",
                              run.run_id);
        Progress progress(nullptr);
        for (const auto& record : TRY(call.context.plans.records(command.run, 0, kRecordsCaughtUp)))
            progress.note(record);
        for (const auto& line : changes_text(progress)) terminal.note("  " + line);
        if (!terminal.confirm(fmt::format("Take back what run {} changed ({})? [y/N] ", run.run_id,
                                          base::printable(run.goal))))
            return Exit::Interrupted;
    }
    service::PlanObserver nobody;
    const auto reverted = TRY(call.context.plans.revert(command.run, call.context.user, nobody));
    if (call.wants_json()) {
        json::object out{{"restored", base::to_json(reverted.restored)},
                         {"notRestored", base::to_json(reverted.not_restored)},
                         {"noWayBack", base::to_json(reverted.no_way_back)}};
        if (reverted.run) out["run"] = service::plan_run_json(*reverted.run);
        terminal.print_line(base::pretty_json(out));
    } else {
        for (const auto& one : reverted.restored) terminal.print_line("✓ " + base::printable(one));
        for (const auto& one : reverted.not_restored)
            terminal.print_line(styled(terminal, Style::Red, "✗ ") + base::printable(one));
        for (const auto& one : reverted.no_way_back)
            terminal.print_line(styled(terminal, Style::Yellow, "! ") + base::printable(one) +
                                " left no way back");
        if (!reverted.run && reverted.no_way_back.empty())
            terminal.print_line("The run changed nothing.");
    }
    return reverted.not_restored.empty() && reverted.no_way_back.empty() ? Exit::Success
                                                                         : Exit::Failed;
}

// "folder: string, limit: integer"
std::string params_text(const domain::PlanAction& action) {
    std::string text;
    for (const auto& name : action.params) {
        text += (text.empty() ? "" : ", ") + name;
        if (!action.param_types) continue;
        const auto type = action.param_types->find(name);
        if (type != action.param_types->end()) text += ": " + type->second;
    }
    return text;
}

Exit show_action(const Call& call, const domain::PlanAction& action) {
    if (call.wants_json())
        print_json(call, action);
    else
        call.context.terminal.print_line(fmt::format(
            "{}: {}{}", action.name, base::printable(action.description),
            action.params.empty() ? "" : fmt::format(" (--param {})", params_text(action))));
    return Exit::Success;
}

base::Result<Exit> on(const PlanSaveCommand& command, const Call& call) {
    std::optional<std::string> text;
    if (command.file) text = TRY(read_input(call.context.terminal, *command.file));
    const auto run = command.run || text ? command.run : std::optional<std::string>("last");
    return show_action(call,
                       TRY(call.context.plans.save(command.name, command.description, run, text)));
}

base::Result<Exit> on(const PlanActionsCommand&, const Call& call) {
    const auto actions = TRY(call.context.plans.actions());
    json::array list;
    for (const auto& action : actions) {
        if (!call.wants_json()) {
            show_action(call, action);
            continue;
        }
        list.push_back({{"name", action.name},
                        {"description", action.description},
                        {"params", base::to_json(action.params)},
                        {"paramTypes", base::to_json(action.param_types)},
                        {"planHash", action.plan_hash}});
    }
    if (call.wants_json()) call.context.terminal.print_line(base::pretty_json(list));
    return Exit::Success;
}

base::Result<Exit> on(const PlanExportCommand& command, const Call& call) {
    const auto action = TRY(call.context.plans.action(command.name));
    call.context.terminal.print_line(
        base::pretty_json(json::object{{"name", action.name},
                                       {"description", action.description},
                                       {"planHash", action.plan_hash},
                                       {"plan", action.plan}}));
    return Exit::Success;
}

base::Result<Exit> on(const PlanImportCommand& command, const Call& call) {
    const auto text = TRY(read_input(call.context.terminal, command.file));
    const auto document = TRY(base::parse_json(text));
    const auto* plan = base::find(document, "plan");
    if (!plan)
        return base::fail(base::ErrorCode::InvalidInput,
                          "{} is no exported action; save a bare plan with holon plan save --file",
                          command.file);
    const auto action = TRY(call.context.plans.save(
        command.name.value_or(base::string_at(document, "name")),
        base::string_at(document, "description"), std::nullopt, base::json_text(*plan)));
    const std::string promised = base::string_at(document, "planHash");
    if (!promised.empty() && promised != action.plan_hash)
        call.context.terminal.note("The plan was changed after it was exported.");
    return show_action(call, action);
}

base::Result<Exit> on(const PlanForgetCommand& command, const Call& call) {
    TRY(call.context.plans.remove_action(command.name));
    if (call.wants_json())
        call.context.terminal.print_line(
            base::pretty_json(json::object{{"ok", true}, {"name", command.name}}));
    else
        call.context.terminal.print_line("Removed " + command.name + ".");
    return Exit::Success;
}

base::Result<std::chrono::milliseconds> age_of(const std::string& text) {
    constexpr std::int64_t kAmountMax = 1'000'000;
    std::int64_t amount = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
    const std::string_view unit(end, text.data() + text.size());
    const auto one = unit == "d"   ? std::chrono::minutes(24 * 60)
                     : unit == "h" ? std::chrono::minutes(60)
                     : unit == "m" ? std::chrono::minutes(1)
                                   : std::chrono::minutes(0);
    if (error != std::errc{} || amount < 0 || amount > kAmountMax || one.count() == 0)
        return base::fail(base::ErrorCode::InvalidInput,
                          "--older-than is a number with d, h or m behind it, got '{}'",
                          base::printable(text));
    return one * amount;
}

base::Result<Exit> on(const PlanPruneCommand& command, const Call& call) {
    std::optional<std::chrono::milliseconds> older_than;
    if (command.older_than) older_than = TRY(age_of(*command.older_than));
    const auto pruned = TRY(call.context.plans.prune(older_than, command.dry_run));
    if (call.wants_json()) {
        print_json(call, pruned);
        return Exit::Success;
    }
    if (command.dry_run)
        for (const auto& run : pruned.removed) call.context.terminal.print_line(run);
    call.context.terminal.print_line(fmt::format(
        "{} {} runs, {} kB.{}", command.dry_run ? "Would remove" : "Removed", pruned.removed.size(),
        pruned.bytes / 1000, pruned.has_more ? " There are more; run it again." : ""));
    return Exit::Success;
}

base::Result<Exit> on(const ToolsCommand& command, const Call& call) {
    const auto all = TRY(call.context.plans.tools());
    json::array list;
    std::vector<std::string> names;
    for (const auto& tool : all) {
        names.push_back(tool.name);
        if (command.name && *command.name != tool.name) continue;
        if (call.wants_json())
            list.push_back(service::plan_json(tool));
        else if (command.name)
            call.context.terminal.print_line(base::pretty_json(service::plan_json(tool)));
        else
            call.context.terminal.print_line(
                fmt::format("{:<28} {:<10} {}", tool.name, tool.risk_level,
                            base::printable(base::ellipsize(tool.description, 80))));
    }
    if (command.name && std::ranges::find(names, *command.name) == names.end()) {
        const std::string near = base::nearest(*command.name, names);
        return base::fail(base::ErrorCode::NotFound, "there is no tool '{}'{}", *command.name,
                          near.empty() ? "" : "; did you mean " + near + "?");
    }
    if (call.wants_json()) call.context.terminal.print_line(base::pretty_json(list));
    return Exit::Success;
}

}  // namespace

Exit execute(const PlanCommand& command, const PlanContext& context) {
    const Call call{context, command.json};
    const auto exit =
        std::visit([&](const auto& action) { return on(action, call); }, command.action);
    if (!exit) return report(context.terminal, exit.error());
    return settle(context.terminal, *exit);
}

}  // namespace cli
