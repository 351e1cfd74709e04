// What a profile costs each command: `shell -c true`, a login shell, and a command on the captured
// login, turn by turn, with everything that is done for each command.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include <sys/wait.h>

#include "base/os/spawn.h"
#include "bench/support/figures.h"
#include "exec/tools/builtin/login/login_environment.h"

namespace {

constexpr int kRounds = 100;
constexpr double kTimesPlainTarget = 2;

double ms_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
}

void run(const base::ProcessSpec& spec) {
    const auto program = base::find_program(spec);
    pid_t pid = 0;
    int status = -1;
    if (!program || base::spawn(*program, spec, {}, pid) != 0 ||
        ::waitpid(pid, &status, 0) != pid || status != 0) {
        std::fprintf(stderr, "bench_login_command: %s failed\n", spec.argv[0].c_str());
        std::exit(1);
    }
}

// As nvm, conda and pyenv have it: thousands of lines of functions, and programs that are run.
void write_profile(const std::filesystem::path& home) {
    std::ofstream file(home / ".bash_profile");
    for (int n = 0; n < 400; ++n)
        file << "tool_function_" << n << "() {\n  local a=\"$1\"\n  if [ -n \"$a\" ]; then\n"
             << "    command printf '%s\\n' \"$a\"\n  else\n    return 3\n  fi\n}\n";
    file << "export TOOL_DIR=\"$HOME/.tool\"\nPATH=\"$TOOL_DIR/bin:$PATH\"\nunexported=1\n";
    for (int n = 0; n < 20; ++n) file << "eval \"$(printf 'export TOOL_" << n << "=1')\"\n";
}

}  // namespace

int main() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bench-login-XXXXXX").string();
    const std::filesystem::path home = ::mkdtemp(pattern.data());
    write_profile(home);
    const builtin::Variables environment{{"HOME", home.string()}, {"PATH", "/usr/bin:/bin"}};
    base::SystemClock clock;
    builtin::LoginEnvironments login(clock);
    std::vector<double> plain, by_login, captured;
    for (int round = 0; round < kRounds; ++round) {
        auto begin = std::chrono::steady_clock::now();
        run({.argv = {"bash", "-c", "true"}, .cwd = home, .environment = environment});
        plain.push_back(ms_since(begin));
        begin = std::chrono::steady_clock::now();
        run({.argv = {"bash", "-lc", "true"}, .cwd = home, .environment = environment});
        by_login.push_back(ms_since(begin));
        begin = std::chrono::steady_clock::now();
        auto start = login.start("bash", home, environment, "true");
        if (!start) {
            std::fprintf(stderr, "bench_login_command: the profile was not captured\n");
            return 1;
        }
        base::ProcessSpec spec{.argv = {"bash", start->flag, "true"},
                               .cwd = home,
                               .environment = std::move(start->environment)};
        if (start->preamble) spec.files = {start->preamble};
        run(spec);
        if (round > 0) captured.push_back(ms_since(begin));  // The first one captures.
    }
    std::filesystem::remove_all(home);
    bench::figure("shell_plain_p50", bench::median(plain), "ms");
    bench::figure("shell_login_p50", bench::median(by_login), "ms");
    bench::figure("shell_captured_p50", bench::median(captured), "ms");
    bench::figure("shell_captured_times_plain", bench::median(captured) / bench::median(plain),
                  "times", bench::at_most(kTimesPlainTarget));
}
