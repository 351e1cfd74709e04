#include "exec/sandbox/machine.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"
#include "exec/sandbox/policy.h"

namespace sandbox {
namespace {

// In the folders where systems install programs; PATH belongs to the user and proves nothing.
std::filesystem::path find_bwrap() {
    for (const char* folder : {"/usr/bin", "/bin", "/usr/local/bin"}) {
        const auto file = std::filesystem::path(folder) / "bwrap";
        if (::access(file.c_str(), X_OK) == 0) return file;
    }
    return {};
}

bool kernel_is_at_least(int major, int minor) {
    utsname name{};
    int has_major = 0;
    int has_minor = 0;
    if (::uname(&name) != 0 || std::sscanf(name.release, "%d.%d", &has_major, &has_minor) != 2)
        return false;
    return std::pair(has_major, has_minor) >= std::pair(major, minor);
}

struct Ran {
    int status{-1};
    std::string said{};
};

// `command` consists of fixed text; it contains no user input.
Ran run(const std::string& command) {
    FILE* pipe = ::popen((command + " 2>&1 </dev/null").c_str(), "re");
    if (!pipe) return {-1, "it could not be started"};
    std::string said(1024, '\0');
    said.resize(std::fread(said.data(), 1, said.size(), pipe));
    const int status = ::pclose(pipe);
    while (!said.empty() && said.back() == '\n') said.pop_back();
    return {status, base::printable(base::to_utf8(said))};
}

// Runs bwrap once: only that shows what containers and kernel settings allow.
std::string try_bwrap(const std::filesystem::path& bwrap) {
    const auto [status, said] =
        run(bwrap.string() +
            " --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-net "
            "--die-with-parent --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp /bin/true");
    if (status == 0) return {};
    return said.empty() ? "it ended with status " + std::to_string(status) : said;
}

// "bubblewrap 0.8.0" -> "0.8.0".
std::string version_of(const std::filesystem::path& bwrap) {
    const auto [status, said] = run(bwrap.string() + " --version");
    return status == 0 ? said.substr(said.rfind(' ') + 1) : std::string();
}

}  // namespace

bool is_readable_dot_name(std::string_view name) {
    return std::ranges::find(kReadableDotNames, name) != std::end(kReadableDotNames);
}

bool is_secret_variable(std::string_view name) {
    std::string upper(name);
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    constexpr std::string_view kParts[] = {
        "SECRET",     "TOKEN",       "PASSWORD",     "PASSWD",  "PASSPHRASE",
        "CREDENTIAL", "PRIVATE_KEY", "ACCESS_KEY",   "API_KEY", "APIKEY",
        "AUTH_SOCK",  "_DSN",        "DATABASE_URL", "NETRC",   "BUS_ADDRESS"};
    return upper.ends_with("_KEY") || upper.ends_with("_PASS") || upper.ends_with("_PAT") ||
           std::ranges::any_of(kParts, [&](auto part) { return upper.contains(part); });
}

Machine probe(const std::filesystem::path& own_program) {
    Machine machine{.bwrap = find_bwrap(),
                    .is_root = ::geteuid() == 0,
                    .bounded_process_table = kernel_is_at_least(6, 14)};
    const auto next_to_program = [&](const char* name) {
        const auto file = own_program.parent_path() / name;
        return ::access(file.c_str(), X_OK) == 0 ? file : std::filesystem::path();
    };
    machine.init = next_to_program("holon-init");
    machine.proxy = next_to_program("holon-proxy");
    machine.seccomp = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
    if (machine.bwrap.empty()) return machine;
    machine.version = version_of(machine.bwrap);
    machine.failure = try_bwrap(machine.bwrap);
    machine.namespaces = machine.failure.empty();
    return machine;
}

std::vector<std::string> missing(const Machine& machine) {
    std::vector<std::string> list;
    if (machine.bwrap.empty())
        list.emplace_back("bubblewrap is not installed; install the package bubblewrap");
    else if (!machine.namespaces)
        list.push_back("bubblewrap cannot make namespaces here (" + machine.failure +
                       "); allow user namespaces (sysctl user.max_user_namespaces=15000, "
                       "kernel.unprivileged_userns_clone=1 or "
                       "kernel.apparmor_restrict_unprivileged_userns=0), or run the container with "
                       "them");
    if (machine.init.empty())
        list.emplace_back(
            "the program holon-init is not in the folder of holon; install both together");
    if (!machine.seccomp)
        list.emplace_back("the kernel has no seccomp; use one with CONFIG_SECCOMP_FILTER");
    if (machine.is_root && !machine.bounded_process_table)
        list.emplace_back(
            "the number of processes cannot be bounded for root on this kernel; run "
            "holon as another user, or use kernel 6.14 or newer");
    return list;
}

}  // namespace sandbox
