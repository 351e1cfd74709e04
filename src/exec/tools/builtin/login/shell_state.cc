#include "exec/tools/builtin/login/shell_state.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/os/spawn.h"
#include "base/text.h"

namespace builtin {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kStateBytesMax = std::size_t{16} << 20;
// Between the sections of what a shell prints. Start files may print, too, before the first one.
constexpr std::string_view kMark = "\x01holon-state\x01";

// Sections: environment, unexported variables, functions, names of functions, options, umask,
// traps, folder. `command` skips functions and aliases of the same name.
constexpr const char* kBashDump = R"sh(
printf '\001holon-state\001'; command /usr/bin/env -0
printf '\001holon-state\001'; declare -p
printf '\001holon-state\001'; declare -f
printf '\001holon-state\001'; declare -F
printf '\001holon-state\001'; set +o; shopt -p
printf '\001holon-state\001'; umask
printf '\001holon-state\001'; trap -p
printf '\001holon-state\001'; pwd
printf '\001holon-state\001'
)sh";
constexpr const char* kPosixDump = R"sh(
printf '\001holon-state\001'; command /usr/bin/env -0
printf '\001holon-state\001'; set
printf '\001holon-state\001'
printf '\001holon-state\001'
printf '\001holon-state\001'; set +o
printf '\001holon-state\001'; umask
printf '\001holon-state\001'; trap
printf '\001holon-state\001'; pwd
printf '\001holon-state\001'
)sh";
constexpr const char* kZshDump = R"sh(
printf '\001holon-state\001'; command /usr/bin/env -0
printf '\001holon-state\001'; set
printf '\001holon-state\001'
printf '\001holon-state\001'; print -rl -- ${(k)functions}
printf '\001holon-state\001'; set +o
printf '\001holon-state\001'; umask
printf '\001holon-state\001'; trap
printf '\001holon-state\001'; pwd
printf '\001holon-state\001'
)sh";
constexpr std::size_t kSections = 8;

const char* dump_of(ShellKind kind) {
    switch (kind) {
        case ShellKind::Bash:
            return kBashDump;
        case ShellKind::Zsh:
            return kZshDump;
        case ShellKind::Posix:
            return kPosixDump;
    }
    return kPosixDump;
}

// Each shell sets these by itself, differently in each process.
bool is_own_variable(std::string_view name) {
    constexpr std::string_view kOwn[] = {"_",
                                         "SHLVL",
                                         "PWD",
                                         "OLDPWD",
                                         "PPID",
                                         "RANDOM",
                                         "SRANDOM",
                                         "SECONDS",
                                         "LINENO",
                                         "EPOCHSECONDS",
                                         "EPOCHREALTIME",
                                         "PIPESTATUS",
                                         "FUNCNAME",
                                         "DIRSTACK",
                                         "GROUPS",
                                         "HISTCMD",
                                         "SHELLOPTS",
                                         "OPTIND",
                                         "OPTERR",
                                         "OPTARG",
                                         "EUID",
                                         "UID",
                                         "TTYIDLE",
                                         "status",
                                         "pipestatus",
                                         "options",
                                         "?",
                                         "$",
                                         "!",
                                         "#",
                                         "-",
                                         "*",
                                         "@",
                                         "0",
                                         "ARGC",
                                         "argv"};
    return name.starts_with("BASH") || std::ranges::find(kOwn, name) != std::end(kOwn);
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::map<std::string, std::string> environment_in(std::string_view text) {
    std::map<std::string, std::string> variables;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\0'), text.size());
        const std::string_view one = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::size_t equals = one.find('=');
        if (equals != one.npos && equals > 0)
            variables.emplace(one.substr(0, equals), one.substr(equals + 1));
    }
    return variables;
}

// Statements of `declare -p`, which may be several lines long, of variables that are not exported
// and can be set.
std::map<std::string, std::string> declared_in(std::string_view text) {
    std::map<std::string, std::string> variables;
    std::string* last = nullptr;
    for (const auto line : lines_of(text)) {
        if (!line.starts_with("declare -")) {
            if (last) *last += "\n" + std::string(line);
            continue;
        }
        last = nullptr;
        const std::size_t end_of_flags = line.find(' ', 8);
        if (end_of_flags == line.npos) continue;
        const std::string_view flags = line.substr(9, end_of_flags - 9);
        const std::string_view rest = line.substr(end_of_flags + 1);
        const std::string name(rest.substr(0, rest.find('=')));
        if (flags.contains('x') || flags.contains('r') || is_own_variable(name)) continue;
        last = &(variables[name] = std::string(line));
    }
    return variables;
}

// NAME=value lines of `set`; what follows a line of another form belongs to a value.
std::map<std::string, std::string> set_in(std::string_view text) {
    std::map<std::string, std::string> variables;
    for (const auto line : lines_of(text)) {
        const std::size_t equals = line.find('=');
        if (equals == line.npos || equals == 0) continue;
        const std::string_view name = line.substr(0, equals);
        const bool is_name = std::ranges::all_of(
            name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
        if (is_name && !is_own_variable(name)) variables.emplace(name, line.substr(equals + 1));
    }
    return variables;
}

std::set<std::string> function_names(ShellKind kind, std::string_view text) {
    std::set<std::string> names;
    for (auto line : lines_of(text)) {
        if (kind == ShellKind::Bash) {
            // An exported one is in the environment.
            if (!line.starts_with("declare -f ")) continue;
            line.remove_prefix(std::string_view("declare -f ").size());
        }
        if (!line.empty()) names.emplace(line);
    }
    return names;
}

std::optional<ShellState> parse(ShellKind kind, std::string_view text) {
    std::array<std::string_view, kSections> section;
    std::size_t at = text.find(kMark);
    for (auto& one : section) {
        if (at == text.npos) return std::nullopt;
        const std::size_t begin = at + kMark.size();
        at = text.find(kMark, begin);
        if (at == text.npos) return std::nullopt;
        one = text.substr(begin, at - begin);
    }
    ShellState state{
        .environment = environment_in(section[0]),
        .unexported = kind == ShellKind::Bash ? declared_in(section[1]) : set_in(section[1]),
        .functions = function_names(kind, section[3]),
        .function_text = std::string(section[2]),
        .umask = std::string(base::trim(section[5])),
        .traps = std::string(base::trim(section[6])),
        .folder = std::string(base::trim(section[7]))};
    for (const auto& [name, value] : state.environment) state.unexported.erase(name);
    for (const auto line : lines_of(section[4]))
        // Whether a shell is a login shell is no option that can be set.
        if (!line.empty() && !line.contains("login_shell") && !line.contains("restricted"))
            state.options.emplace(line);
    return state;
}

bool has_all(std::string_view text) {
    std::size_t marks = 0;
    for (std::size_t at = text.find(kMark); at != text.npos; at = text.find(kMark, at + 1)) ++marks;
    return marks > kSections;
}

// Until it has all, its end, or the deadline.
std::string read_until_complete(int fd, Clock::time_point deadline) {
    std::string text;
    std::array<char, 65536> buffer{};
    while (text.size() < kStateBytesMax) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        pollfd ready{fd, POLLIN, 0};
        if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) == 0) break;
        const ssize_t count = ::read(fd, buffer.data(), buffer.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (count <= 0) break;
        text.append(buffer.data(), static_cast<std::size_t>(count));
        if (text.ends_with(kMark) && has_all(text)) break;
    }
    return text;
}

}  // namespace

std::optional<KnownShell> known_shell(const std::string& name) {
    constexpr std::pair<std::string_view, ShellKind> kShells[] = {{"bash", ShellKind::Bash},
                                                                  {"zsh", ShellKind::Zsh},
                                                                  {"sh", ShellKind::Posix},
                                                                  {"dash", ShellKind::Posix}};
    for (const auto& [known, kind] : kShells)
        for (const char* folder : {"/bin/", "/usr/bin/"}) {
            const std::string path = folder + std::string(known);
            if ((name == known || name == path) && ::access(path.c_str(), X_OK) == 0)
                return KnownShell{kind, path};
        }
    return std::nullopt;
}

const char* plain_flag(ShellKind kind) {
    return kind == ShellKind::Zsh ? "-fc" : "-c";
}

base::Result<ShellState> read_state(const ShellRun& run) {
    auto pipe = TRY(base::make_pipe());
    base::ProcessSpec spec{
        .argv = {run.shell.program.string(), run.is_login ? "-lc" : plain_flag(run.shell.kind),
                 dump_of(run.shell.kind)},
        .cwd = run.folder,
        .environment = run.environment};
    if (run.preamble) {
        spec.files = {run.preamble};
        spec.environment.emplace_back("BASH_ENV", base::kFirstFile);
    }
    const auto program = TRY(base::find_program(spec));
    pid_t pid = 0;
    if (const int failed = base::spawn(program, spec, {.out = pipe.write.get()}, pid); failed != 0)
        return base::spawn_failure(failed, program);
    pipe.write = {};
    const std::string text = read_until_complete(pipe.read.get(), Clock::now() + run.timeout);
    const auto state = parse(run.shell.kind, text);
    // It leads a session of its own. What its start files started on purpose has left its group.
    if (!state) ::kill(-pid, SIGKILL);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (!state)
        return base::fail(base::ErrorCode::Unavailable,
                          "the start files of {} did not end in {} ms, or replaced the shell",
                          run.shell.program.string(), run.timeout.count());
    return *state;
}

std::optional<Difference> difference(ShellKind kind, const ShellState& login,
                                     const ShellState& plain) {
    const auto without_own = [](std::map<std::string, std::string> variables) {
        std::erase_if(variables, [](const auto& one) { return is_own_variable(one.first); });
        return variables;
    };
    if (login.folder != plain.folder || login.traps != plain.traps ||
        without_own(login.environment) != without_own(plain.environment))
        return std::nullopt;
    Difference made;
    if (login.umask != plain.umask) made.settings += "umask " + login.umask + "\n";
    for (const auto& option : login.options)
        if (!plain.options.contains(option)) made.settings += option + "\n";
    for (const auto& [name, statement] : login.unexported) {
        const auto same = plain.unexported.find(name);
        if (same == plain.unexported.end() || same->second != statement)
            made.settings += statement + "\n";
    }
    if (login.functions != plain.functions) {
        made.functions = login.function_text;
        made.function_names = login.functions;
    }
    const bool is_same = made.settings.empty() && made.function_names.empty();
    if (kind != ShellKind::Bash && !is_same) return std::nullopt;
    return made;
}

}  // namespace builtin
