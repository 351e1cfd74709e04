#include "exec/tools/builtin/login/login_environment.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "base/log/log.h"
#include "base/os/fs/memory_file.h"
#include "base/os/process.h"
#include "base/scan/redact.h"
#include "base/scan/secrets.h"
#include "base/text.h"
#include "exec/tools/builtin/login/start_files.h"

namespace builtin {
namespace {

constexpr std::size_t kEntriesMax = 64;
constexpr const char* kSystemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string value_of(const Variables& environment, std::string_view name) {
    const auto found = std::ranges::find(environment, name, &Variables::value_type::first);
    return found == environment.end() ? "" : found->second;
}

void put(Variables& environment, const std::string& name, const std::string& value) {
    std::erase_if(environment, [&](const auto& one) { return one.first == name; });
    environment.emplace_back(name, value);
}

std::filesystem::path home_of(const Variables& environment) {
    const std::filesystem::path home = value_of(environment, "HOME");
    return home.is_absolute() ? home : std::filesystem::path();
}

// What a shell gets so that its own count is that of a login shell started by us.
Variables captured_variables(const ShellState& state, const Variables& base_environment) {
    Variables variables;
    for (const auto& [name, value] : state.environment)
        if (name != "_" && name != "SHLVL" && name != "PWD") variables.emplace_back(name, value);
    const std::string level = value_of(base_environment, "SHLVL");
    if (!level.empty()) variables.emplace_back("SHLVL", level);
    return variables;
}

// Bash reads the whole file before it executes a line of it, so the file can be closed there. What
// the command starts finds neither the variable nor the descriptor.
std::shared_ptr<const base::Fd> preamble_of(const std::string& text) {
    auto file = base::make_memory_file("holon-profile", "unset BASH_ENV\nexec 3<&-\n" + text,
                                       base::MemoryFile::Data);
    if (!file) return nullptr;
    return std::make_shared<const base::Fd>(std::move(*file));
}

std::vector<std::string> elements(std::string_view path) {
    std::vector<std::string> list;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find(':'), path.size());
        if (end > 0) list.emplace_back(path.substr(0, end));
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return list;
}

// A runtime that was started by the system has only the system's search path, and the profile knows
// better. Started from a shell, it has the operator's choice: an activated environment, say.
std::string merged_path(const std::string& own, const std::string& of_profile) {
    const auto system = elements(kSystemPath);
    const bool is_bare = std::ranges::all_of(elements(own), [&](const std::string& one) {
        return std::ranges::find(system, one) != system.end();
    });
    auto list = elements(is_bare ? of_profile : own);
    for (auto& one : elements(is_bare ? own : of_profile))
        if (std::ranges::find(list, one) == list.end()) list.push_back(std::move(one));
    return fmt::format("{}", fmt::join(list, ":"));
}

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.' ||
           c == ':' || c == '+' || c == '@';
}

// Whether the command may call a function: it names one, or runs text that is not in it.
bool may_call(const std::string& command, const std::set<std::string>& functions) {
    constexpr std::string_view kIndirect[] = {".",       "source", "eval",    "declare",
                                              "typeset", "type",   "command", "set",
                                              "compgen", "export", "unset",   "which"};
    if (base::trim(command).starts_with('$') || command.contains('`')) return true;
    std::string_view text = command;
    while (!text.empty()) {
        const auto begin = std::ranges::find_if(text, is_word);
        text.remove_prefix(static_cast<std::size_t>(begin - text.begin()));
        const auto end = std::ranges::find_if_not(text, is_word);
        const std::string word(text.begin(), end);
        text.remove_prefix(word.size());
        if (functions.contains(word) || std::ranges::find(kIndirect, word) != std::end(kIndirect))
            return true;
    }
    return false;
}

// A function of the operator may hold a token.
std::string without_suspects(const std::string& text) {
    static const auto redactor = scan::Redactor::make({}, scan::Suspects::Redact);
    return redactor ? scan::without_credentials(redactor->redact(text)) : std::string();
}

}  // namespace

std::shared_ptr<LoginEnvironments::Entry> LoginEnvironments::entry_of(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    if (entries_.size() >= kEntriesMax && !entries_.contains(key)) entries_.clear();
    auto& entry = entries_[key];
    if (!entry) entry = std::make_shared<Entry>();
    return entry;
}

bool LoginEnvironments::is_fresh(const Entry& entry) const {
    const auto age = clock_.now() - entry.at;
    // A clock that was set back makes a capture old, too.
    return entry.is_known && age >= age.zero() && age < kCaptureAge &&
           stamp_of(entry.files) == entry.stamp;
}

void LoginEnvironments::capture(Entry& entry, const KnownShell& shell,
                                const std::filesystem::path& folder, const Variables& environment,
                                bool needs_same_shell) {
    entry.state.reset();
    entry.settings.reset();
    entry.all.reset();
    entry.function_names.clear();
    entry.shown_functions.reset();
    ShellRun run{.shell = shell, .is_login = true, .folder = folder, .environment = environment};
    auto login = read_state(run);
    if (!login) {
        base::log_warn("every command starts a login shell: {}", login.error().message);
        return;
    }
    if (!needs_same_shell) {
        entry.state = std::move(*login);
        return;
    }
    if (shell.kind == ShellKind::Posix && defines_function(entry.files)) return;
    run.is_login = false;
    run.environment = captured_variables(*login, environment);
    const auto plain = read_state(run);
    const auto differs = plain ? difference(shell.kind, *login, *plain) : std::nullopt;
    if (!differs) return;
    if (!differs->settings.empty()) entry.settings = preamble_of(differs->settings);
    if (!differs->function_names.empty())
        entry.all = preamble_of(differs->functions + differs->settings);
    entry.function_names = differs->function_names;
    run.preamble = entry.all ? entry.all : entry.settings;
    if (run.preamble) {
        const auto checked = read_state(run);
        const auto left = checked ? difference(shell.kind, *login, *checked) : std::nullopt;
        if (!left || !left->settings.empty() || !left->function_names.empty()) return;
    } else if (!differs->settings.empty() || !differs->function_names.empty()) {
        return;  // No memory file could be made.
    }
    entry.state = std::move(*login);
}

std::optional<LoginEnvironments::Start> LoginEnvironments::start(
    const std::string& shell, const std::filesystem::path& folder, const Variables& environment,
    const std::string& command) {
    const auto known = known_shell(shell);
    if (!known || !value_of(environment, "BASH_ENV").empty()) return std::nullopt;
    const auto entry =
        entry_of(fmt::format("{}\n{}\n{}", known->program.string(), ::geteuid(), folder.string()));
    const std::scoped_lock lock(entry->mutex);
    if (!is_fresh(*entry)) {
        entry->files = start_files(known->kind, home_of(environment));
        const auto of_workspace = workspace_files(folder);
        entry->files.insert(entry->files.end(), of_workspace.begin(), of_workspace.end());
        entry->stamp = stamp_of(entry->files);
        entry->at = clock_.now();
        entry->is_known = true;
        capture(*entry, *known, folder, environment, true);
    }
    if (!entry->state) return std::nullopt;
    Start made{.program = known->program,
               .flag = plain_flag(known->kind),
               .environment = captured_variables(*entry->state, environment)};
    made.preamble =
        entry->all && may_call(command, entry->function_names) ? entry->all : entry->settings;
    if (made.preamble) put(made.environment, "BASH_ENV", base::kFirstFile);
    return made;
}

LoginEnvironments::ConfinedStart LoginEnvironments::confined(const std::string& shell,
                                                             const Variables& environment,
                                                             const std::string& command) {
    const auto known = known_shell(shell);
    const auto home = home_of(environment);
    if (!known || home.empty() || !value_of(environment, "BASH_ENV").empty()) return {environment};
    // As login(1) begins. The search path of the runtime may lead into a workspace.
    Variables clean{{"PATH", kSystemPath}};
    for (const auto& [name, value] : environment)
        if (name == "HOME" || name == "USER" || name == "LOGNAME" || name == "SHELL" ||
            name == "TERM" || name == "TZ" || name == "LANG" || name.starts_with("LC_"))
            clean.emplace_back(name, value);
    const auto entry = entry_of(fmt::format("{}\n{}\n", known->program.string(), ::geteuid()));
    const std::scoped_lock lock(entry->mutex);
    if (!is_fresh(*entry)) {
        entry->files = start_files(known->kind, home);
        entry->stamp = stamp_of(entry->files);
        entry->at = clock_.now();
        entry->is_known = true;
        capture(*entry, *known, home, clean, false);
    }
    if (!entry->state) return {environment};
    // What the runtime was started with is closer to what the operator wants now.
    ConfinedStart made{.environment = environment};
    auto& merged = made.environment;
    for (const auto& [name, value] : captured_variables(*entry->state, clean))
        if (name != "OLDPWD" && value_of(environment, name).empty()) put(merged, name, value);
    put(merged, "PATH",
        merged_path(value_of(environment, "PATH"), entry->state->environment["PATH"]));
    if (known->kind == ShellKind::Bash && may_call(command, entry->state->functions)) {
        if (!entry->shown_functions)
            entry->shown_functions = without_suspects(entry->state->function_text);
        made.functions = *entry->shown_functions;
    }
    return made;
}

}  // namespace builtin
