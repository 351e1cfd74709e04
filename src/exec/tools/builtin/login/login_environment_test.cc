#include "exec/tools/builtin/login/login_environment.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/os/spawn.h"
#include "base/text.h"
#include "exec/tools/builtin/login/start_files.h"

namespace builtin {
namespace {

using testing::HasSubstr;
using testing::Not;

class SetClock final : public base::Clock {
public:
    base::Time time{base::from_micros(1'000'000'000'000)};
    base::Time now() override { return time; }
};

void write(const std::filesystem::path& file, const std::string& text, bool is_program = false) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    if (is_program) std::filesystem::permissions(file, std::filesystem::perms::owner_all);
}

std::string output_of(const base::ProcessSpec& spec) {
    auto pipe = base::make_pipe().value();
    pid_t pid = 0;
    EXPECT_EQ(base::spawn(base::find_program(spec).value(), spec, {.out = pipe.write.get()}, pid),
              0);
    pipe.write = {};
    int status = 0;
    std::string text;
    std::array<char, 4096> buffer{};
    for (;;) {
        const ssize_t count = ::read(pipe.read.get(), buffer.data(), buffer.size());
        if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
        if (count == 0) break;
        if (count < 0 && errno == EAGAIN) {
            pollfd readable{.fd = pipe.read.get(), .events = POLLIN, .revents = 0};
            ::poll(&readable, 1, -1);
        }
    }
    ::waitpid(pid, &status, 0);
    return text;
}

// A home with a profile, and a workspace.
class LoginEnvironmentTest : public testing::Test {
protected:
    LoginEnvironmentTest() {
        std::string pattern = testing::TempDir() + "holon-login-XXXXXX";
        root = mkdtemp(pattern.data());
        home = root / "home";
        workspace = root / "work";
        std::filesystem::create_directories(home);
        std::filesystem::create_directories(workspace);
        environment = {{"HOME", home.string()}, {"USER", "ada"},           {"SHELL", "/bin/bash"},
                       {"SHLVL", "2"},          {"PATH", "/usr/bin:/bin"}, {"HOLON_RUNTIME", "1"}};
    }
    ~LoginEnvironmentTest() override { std::filesystem::remove_all(root); }

    std::string by_login(const std::string& command, const std::string& shell = "bash") {
        return output_of(
            {.argv = {shell, "-lc", command}, .cwd = workspace, .environment = environment});
    }
    std::optional<LoginEnvironments::Start> start(const std::string& command,
                                                  const std::string& shell = "bash") {
        return login.start(shell, workspace, environment, command);
    }
    static base::ProcessSpec spec_of(const LoginEnvironments::Start& start,
                                     const std::filesystem::path& folder,
                                     const std::string& command, const std::string& shell) {
        base::ProcessSpec spec{
            .argv = {shell, start.flag, command}, .cwd = folder, .environment = start.environment};
        if (start.preamble) spec.files = {start.preamble};
        return spec;
    }
    std::string by_capture(const std::string& command, const std::string& shell = "bash") {
        const auto made = start(command, shell);
        if (!made) return "a login shell is needed";
        return output_of(spec_of(*made, workspace, command, shell));
    }
    // How often the profile ran, which appends a line each time.
    std::size_t runs() const {
        std::ifstream file(home / "runs");
        std::size_t lines = 0;
        for (std::string line; std::getline(file, line);) ++lines;
        return lines;
    }

    std::filesystem::path root, home, workspace;
    Variables environment;
    SetClock clock;
    LoginEnvironments login{clock};
};

struct Profile {
    std::string name;
    std::string text;
    bool is_captured{true};
};

// As installers and manuals of these programs write them.
const Profile kProfiles[] = {
    {"empty", ""},
    {"debian", R"sh(
if [ -n "$BASH_VERSION" ]; then
    if [ -f "$HOME/.bashrc" ]; then . "$HOME/.bashrc"; fi
fi
if [ -d "$HOME/bin" ]; then PATH="$HOME/bin:$PATH"; fi
if [ -d "$HOME/.local/bin" ]; then PATH="$HOME/.local/bin:$PATH"; fi
)sh"},
    {"nvm", R"sh(
export NVM_DIR="$HOME/.nvm"
[ -s "$NVM_DIR/nvm.sh" ] && \. "$NVM_DIR/nvm.sh"
[ -s "$NVM_DIR/bash_completion" ] && \. "$NVM_DIR/bash_completion"
)sh"},
    {"direnv", R"sh(
export PATH="$HOME/tools:$PATH"
eval "$(direnv hook bash)"
eval "$(direnv export bash)"
)sh"},
    {"nix", R"sh(
if [ -n "$HOME" ] && [ -n "$USER" ]; then
    NIX_LINK="$HOME/.nix-profile"
    export NIX_PROFILES="/nix/var/nix/profiles/default $NIX_LINK"
    if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
        export NIX_SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
    fi
    __nix_append() { export XDG_DATA_DIRS="${XDG_DATA_DIRS:-/usr/share}:$1"; }
    __nix_append "$NIX_LINK/share"
    unset -f __nix_append
    export PATH="$NIX_LINK/bin:$PATH"
    unset NIX_LINK
fi
)sh"},
    {"conda", R"sh(
__conda_setup="$(printf 'export CONDA_SHLVL=0\nexport CONDA_EXE=%s/conda\n' "$HOME")"
if [ $? -eq 0 ]; then eval "$__conda_setup"; fi
unset __conda_setup
conda() {
    \local cmd="${1-__missing__}"
    case "$cmd" in
    activate) shift ;;
    *) command conda "$@" ;;
    esac
}
)sh"},
    {"cargo", R"sh(
case ":${PATH}:" in
    *:"$HOME/.cargo/bin":*) ;;
    *) export PATH="$HOME/.cargo/bin:$PATH" ;;
esac
)sh"},
    {"pyenv", R"sh(
export PYENV_ROOT="$HOME/.pyenv"
command -v pyenv >/dev/null || export PATH="$PYENV_ROOT/bin:$PATH"
pyenv() {
  local command=${1:-}
  [ "$#" -gt 0 ] && shift
  case "$command" in
  rehash|shell) eval "$(pyenv "sh-$command" "$@")" ;;
  *) command pyenv "$command" "$@" ;;
  esac
}
)sh"},
    {"unexported", "answer=42\ndeclare -a list=(a 'b c' $'d\\ne')\ndeclare -A map=([k]=v)\n"},
    {"options", "set -o pipefail\nshopt -s globstar nullglob\numask 077\n"},
    {"exported function", "greet() { echo \"hello $1\"; }\nexport -f greet\n"},
    {"values with newlines", "export MULTI=$'one\\ntwo=three\\n'\nexport EMPTY=\n"},
    {"prints", "echo welcome; printf 'no newline'\n"},
    {"leaves a process running", "sleep 1 & disown\n"},
    {"secrets", "export SERVICE_PASSWORD=hunter2\n"},
    {"changes the folder", "cd /\n", false},
    {"sets a trap", "trap 'echo bye' EXIT\n", false},
    {"counts its shells", "export TIMES=$(( ${TIMES:-0} + 1 ))\n"},
    {"replaces the shell", "exec true\n", false},
};

class Profiles : public LoginEnvironmentTest, public testing::WithParamInterface<Profile> {
protected:
    void SetUp() override {
        write(home / ".bash_profile", GetParam().text);
        write(home / ".bashrc", "export FROM_BASHRC=1\nll() { ls -l \"$@\"; }\n");
        write(home / ".nvm/nvm.sh",
              "nvm_echo() { command printf %s\\\\n \"$*\"; }\n"
              "nvm() { if [ \"$1\" = current ]; then nvm_echo v20.1.0; fi; }\n"
              "nvm_auto() { [ -f .nvmrc ] && export NVM_BIN=\"$NVM_DIR/versions/$(cat .nvmrc)\";"
              " export PATH=\"$NVM_DIR/versions/v20/bin:$PATH\"; }\n"
              "nvm_auto\n");
        write(home / ".nvm/bash_completion", "__nvm() { :; }\n");
        write(home / "tools/direnv",
              "#!/bin/sh\n"
              "if [ \"$1\" = hook ]; then\n"
              "  echo '_direnv_hook() { local x=1; eval \"$(direnv export bash)\"; };'\n"
              "  echo 'PROMPT_COMMAND=\"_direnv_hook${PROMPT_COMMAND:+;$PROMPT_COMMAND}\"'\n"
              "elif [ -f \"$PWD/.envrc\" ]; then\n"
              "  cat \"$PWD/.envrc\"; echo \"export DIRENV_DIR=-$PWD\"\n"
              "fi\n",
              true);
        write(workspace / ".envrc", "export PROJECT=holon\nexport DATABASE=\"test db\"\n");
        write(workspace / ".nvmrc", "v18.2.0");
    }
};

constexpr const char* kShow =
    "command env -0 | sort -z | grep -zv -e '^_=' -e '^BASH_ENV='; declare -F; umask; "
    "echo \"$answer|${list[*]}|${map[k]}\"; set -o; shopt | grep -v login_shell; pwd; echo "
    "\"$#|$-\"; "
    "ls /proc/self/fd | tr '\\n' ' '; eval true";

TEST_P(Profiles, ACommandFindsWhatItFindsInALoginShell) {
    EXPECT_EQ(start("true").has_value(), GetParam().is_captured);
    if (!GetParam().is_captured) return;
    std::string in_login = by_login(kShow);
    const std::string captured = by_capture(kShow);
    // What start files print is the one difference, and it is no part of what the command prints.
    if (GetParam().name == "prints") in_login.erase(0, std::string("welcome\nno newline").size());
    EXPECT_EQ(captured, in_login);
    EXPECT_THAT(captured, HasSubstr("SHLVL=3"));
}

TEST_P(Profiles, TheSameHoldsForCommandsThatCallNoFunction) {
    if (!GetParam().is_captured || GetParam().name == "prints") return;
    constexpr const char* kPlain =
        "/usr/bin/env -0 | sort -z | grep -zv -e ^_= -e ^BASH_ENV=; umask";
    EXPECT_EQ(by_capture(kPlain), by_login(kPlain));
}

INSTANTIATE_TEST_SUITE_P(InTheWild, Profiles, testing::ValuesIn(kProfiles), [](const auto& info) {
    std::string name;
    for (const char c : info.param.name) name += c == ' ' ? '_' : c;
    return name;
});

TEST_F(LoginEnvironmentTest, FunctionsOfTheProfileCanBeCalled) {
    write(home / ".bash_profile", "nvm() { nvm_echo \"node $1\"; }\nnvm_echo() { echo \"$@\"; }\n");
    EXPECT_EQ(by_capture("nvm current"), "node current\n");
    EXPECT_EQ(by_capture("cd / && x=$(nvm 1) && echo \"$x\""), "node 1\n");
    // A command that names none does not pay for them, and finds no trace of how they came.
    EXPECT_EQ(start("make test")->preamble, nullptr);
    EXPECT_EQ(
        by_capture("nvm 1; echo \"${BASH_ENV-none}\"; sh -c 'ls /proc/self/fd/3' 2>/dev/null"),
        "node 1\nnone\n");
}

TEST_F(LoginEnvironmentTest, TheProfileRunsOnceForManyCommands) {
    write(home / ".bash_profile", "echo x >> \"$HOME/runs\"\nexport A=1\n");
    for (int n = 0; n < 5; ++n) EXPECT_EQ(by_capture("echo $A"), "1\n");
    EXPECT_EQ(runs(), 1U);
}

TEST_F(LoginEnvironmentTest, AChangedStartFileIsReadAgain) {
    write(home / ".bash_profile", "export A=1\n. \"$HOME/.more\"\n");
    EXPECT_EQ(by_capture("echo $A $B"), "1\n");
    write(home / ".bash_profile", "export A=22\n. \"$HOME/.more\"\n");
    EXPECT_EQ(by_capture("echo $A $B"), "22\n");
    // One that it names, and that was not there before.
    write(home / ".more", "export B=3\n");
    EXPECT_EQ(by_capture("echo $A $B"), "22 3\n");
}

TEST_F(LoginEnvironmentTest, EachFolderHasItsOwnAndItsFilesAreChecked) {
    write(home / ".bash_profile", "[ -f .envrc ] && . ./.envrc\n:\n");
    write(workspace / ".envrc", "export A=1\n");
    std::filesystem::create_directories(root / "other");
    EXPECT_EQ(by_capture("echo $A"), "1\n");
    const auto other = login.start("bash", root / "other", environment, "echo $A");
    ASSERT_TRUE(other);
    EXPECT_EQ(output_of(spec_of(*other, root / "other", "echo $A", "bash")), "\n");
    write(workspace / ".envrc", "export A=222\n");
    EXPECT_EQ(by_capture("echo $A"), "222\n");
}

TEST_F(LoginEnvironmentTest, ACaptureEndsAfterItsTime) {
    write(home / ".bash_profile", "echo x >> \"$HOME/runs\"\n");
    by_capture("true");
    clock.time += kCaptureAge - std::chrono::seconds(1);
    by_capture("true");
    EXPECT_EQ(runs(), 1U);
    clock.time += std::chrono::seconds(1);
    by_capture("true");
    EXPECT_EQ(runs(), 2U);
}

TEST_F(LoginEnvironmentTest, APosixShellIsCapturedUnlessItsProfileDefinesFunctions) {
    write(home / ".profile", "export A=1\n");
    constexpr const char* kShowPosix = "env | grep -v -e ^_= | sort; umask; pwd";
    EXPECT_EQ(by_capture(kShowPosix, "sh"), by_login(kShowPosix, "sh"));
    EXPECT_THAT(by_capture(kShowPosix, "sh"), HasSubstr("A=1"));
    write(home / ".profile", "export A=1\nhello() { echo hi; }\n");
    EXPECT_FALSE(start("hello", "sh"));
    // Nor can a variable that is not exported be handed on.
    write(home / ".profile", "answer=42\n");
    EXPECT_FALSE(start("echo $answer", "sh"));
}

TEST_F(LoginEnvironmentTest, OtherShellsThanTheSystemsAreNotStarted) {
    write(workspace / "bash", "#!/bin/sh\ntouch \"$HOME/escaped\"\n", true);
    for (const std::string& shell : {(workspace / "bash").string(), std::string("./bash"),
                                     std::string("fish"), std::string("python3")}) {
        EXPECT_FALSE(start("true", shell)) << shell;
        EXPECT_EQ(login.confined(shell, environment, "true").environment, environment) << shell;
    }
    // A search path that leads into a workspace does not choose the shell.
    environment[4].second = workspace.string() + ":/usr/bin:/bin";
    start("true");
    login.confined("bash", environment, "true");
    EXPECT_FALSE(std::filesystem::exists(home / "escaped"));
}

// The boundary is for what agents write; a capture happens outside of it.
TEST_F(LoginEnvironmentTest, AConfinedCommandsVariablesComeFromTheOperatorsFilesOnly) {
    write(home / ".bash_profile",
          "export NVM_DIR=$HOME/.nvm\nPATH=$HOME/.nvm/bin:$PATH\n"
          "[ -f .envrc ] && . ./.envrc\n:\n");
    write(workspace / ".envrc", "touch \"$HOME/escaped\"; export STOLEN=1\n");
    write(workspace / "bin/ls", "#!/bin/sh\ntouch \"$HOME/escaped\"\n", true);
    environment[4].second = (workspace / "bin").string() + ":/usr/bin:/bin";
    const auto variables = login.confined("bash", environment, "true").environment;
    EXPECT_FALSE(std::filesystem::exists(home / "escaped"));
    EXPECT_THAT(variables, testing::Contains(testing::Pair("NVM_DIR", home.string() + "/.nvm")));
    EXPECT_THAT(variables, Not(testing::Contains(testing::Key("STOLEN"))));
    // The operator's own choice comes first, what the profile adds after it.
    const auto path = std::ranges::find(variables, "PATH", &Variables::value_type::first)->second;
    EXPECT_THAT(path, testing::StartsWith((workspace / "bin").string() + ":/usr/bin:/bin"));
    EXPECT_THAT(path, HasSubstr(home.string() + "/.nvm/bin"));
    // A runtime that the system started has no choice of its own.
    environment[4].second = "/usr/bin:/bin";
    const auto bare = login.confined("bash", environment, "true").environment;
    EXPECT_THAT(std::ranges::find(bare, "PATH", &Variables::value_type::first)->second,
                testing::StartsWith(home.string() + "/.nvm/bin:"));
}

TEST_F(LoginEnvironmentTest, AConfinedCommandGetsTheFunctionsItMayCallWithoutTheirSecrets) {
    write(
        home / ".bash_profile",
        "greet() { echo \"hello $1\"; }\n"
        "deploy() { curl -H 'Authorization: Bearer ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8'; }\n");
    EXPECT_EQ(login.confined("bash", environment, "ls").functions, "");
    const auto functions = login.confined("bash", environment, "greet you").functions;
    EXPECT_THAT(functions, HasSubstr("hello $1"));
    EXPECT_THAT(functions, HasSubstr("deploy"));
    EXPECT_THAT(functions, Not(HasSubstr("A1b2C3d4")));
    EXPECT_EQ(login.confined("sh", environment, "greet you").functions, "");
}

TEST(ShellState, AShellThatNeverPrintsIsGivenUp) {
    std::string pattern = testing::TempDir() + "holon-login-XXXXXX";
    const std::filesystem::path home = mkdtemp(pattern.data());
    write(home / ".bash_profile", "sleep 60\n");
    const auto state = read_state({.shell = *known_shell("bash"),
                                   .is_login = true,
                                   .folder = home,
                                   .environment = {{"HOME", home.string()}},
                                   .timeout = std::chrono::milliseconds(50)});
    EXPECT_FALSE(state);
    std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace builtin
