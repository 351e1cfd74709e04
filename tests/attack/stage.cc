#include "tests/attack/stage.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "base/hash.h"
#include "base/os/files.h"
#include "tests/support/skip.h"

namespace attack {

namespace {

// Holds the cases and the stage where as_user has made one.
fs::path room() {
    const char* folder = std::getenv("HOLON_ATTACK_ROOM");
    return folder ? fs::path(folder) : fs::path(HOLON_ATTACK_CASES).parent_path();
}

}  // namespace

std::vector<Case> read_cases() {
    std::vector<Case> cases;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(room() / "cases"))
        files.push_back(entry.path());
    std::ranges::sort(files);
    for (const auto& file : files) {
        std::ifstream in(file);
        std::string line;
        while (std::getline(in, line)) {
            if (line.starts_with("## ")) {
                cases.push_back({.family = file.stem().string(), .name = line.substr(3)});
                cases.back().is_honest = cases.back().family == "honest";
            } else if (!cases.empty() && line == "#!python" && cases.back().script.empty()) {
                cases.back().is_python = true;
            } else if (!cases.empty() && cases.back().family == file.stem()) {
                cases.back().script += line + "\n";
            }
        }
    }
    return cases;
}

void write_file(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

namespace {

constexpr std::chrono::seconds kCaseTimeout{8};
constexpr std::size_t kOutputBytesMax = 256 * 1024;

// Every path below `folder` with its kind, mode and content.
std::map<std::string, std::string> listing(const fs::path& folder) {
    std::map<std::string, std::string> list;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        std::string what = std::to_string(static_cast<int>(entry.symlink_status().type())) + " " +
                           std::to_string(static_cast<int>(entry.symlink_status().permissions()));
        if (entry.is_regular_file() && !entry.is_symlink()) {
            std::ifstream in(entry.path());
            std::stringstream text;
            text << in.rdbuf();
            what += " " + base::sha256_hex(text.str());
        }
        list[fs::relative(entry.path(), folder).string()] = what;
    }
    return list;
}

int listen_on(int family, int kind, const sockaddr* address, socklen_t length) {
    const int fd = ::socket(family, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(fd, address, length), 0) << std::strerror(errno);
    if (kind == SOCK_STREAM) EXPECT_EQ(::listen(fd, 16), 0);
    return fd;
}

// People outside who must hear nothing.
class Listeners {
public:
    explicit Listeners(const fs::path& socket_file, const std::string& abstract) {
        sockaddr_in ip{};
        ip.sin_family = AF_INET;
        ip.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        tcp_ = listen_on(AF_INET, SOCK_STREAM, reinterpret_cast<sockaddr*>(&ip), sizeof ip);
        socklen_t length = sizeof ip;
        ::getsockname(tcp_, reinterpret_cast<sockaddr*>(&ip), &length);
        port = ntohs(ip.sin_port);
        udp_ = listen_on(AF_INET, SOCK_DGRAM, reinterpret_cast<sockaddr*>(&ip), sizeof ip);
        sockaddr_un un{};
        un.sun_family = AF_UNIX;
        std::strncpy(un.sun_path, socket_file.c_str(), sizeof un.sun_path - 1);
        unix_ = listen_on(AF_UNIX, SOCK_STREAM, reinterpret_cast<sockaddr*>(&un), sizeof un);
        ::chmod(socket_file.c_str(), 0777);
        sockaddr_un hidden{};
        hidden.sun_family = AF_UNIX;
        std::memcpy(hidden.sun_path + 1, abstract.data(), abstract.size());
        abstract_ = listen_on(
            AF_UNIX, SOCK_STREAM, reinterpret_cast<sockaddr*>(&hidden),
            static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + abstract.size()));
    }
    ~Listeners() {
        for (const int fd : {tcp_, udp_, unix_, abstract_}) ::close(fd);
    }

    // Who was reached since the last look.
    std::string heard() const {
        std::string who;
        char byte = 0;
        for (const auto& [fd, name] :
             {std::pair{tcp_, "tcp"}, {unix_, "unix"}, {abstract_, "abstract"}})
            for (int peer = ::accept(fd, nullptr, nullptr); peer >= 0;
                 peer = ::accept(fd, nullptr, nullptr)) {
                who += std::string(name) + " ";
                ::close(peer);
            }
        while (::recv(udp_, &byte, 1, 0) >= 0) who += "udp ";
        return who;
    }

    int port{0};

private:
    int tcp_{-1}, udp_{-1}, unix_{-1}, abstract_{-1};
};

// Where the cases happen: not in a folder that is private inside, which would prove nothing. Empty
// when there is none to write in.
fs::path stage() {
    const char* home = std::getenv("HOME");
    const bool is_given = std::getenv("HOLON_ATTACK_ROOM") != nullptr;
    for (const fs::path& folder :
         {is_given ? room() / "stage" : fs::path(HOLON_ATTACK_FOLDER),
          fs::path("/var/lib/holon-attack"), fs::path(home ? home : "/") / "holon-attack"}) {
        const std::string text = folder.string();
        const bool is_private = std::ranges::any_of(
            std::initializer_list<std::string_view>{"/tmp/", "/var/tmp/", "/run/", "/dev/"},
            [&](std::string_view prefix) { return text.starts_with(prefix); });
        std::error_code failed;
        fs::create_directories(folder, failed);
        if (!is_private && ::access(folder.c_str(), W_OK) == 0) return folder;
    }
    return {};
}

// Processes outside the sandbox whose environment holds the mark.
std::vector<std::string> left_over(const std::string& mark) {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        std::ifstream in(entry.path() / "environ");
        std::stringstream text;
        text << in.rdbuf();
        if (text.str().find("MARK=" + mark) != std::string::npos) found.push_back(entry.path());
    }
    return found;
}

// Files of the workspace that hold the marker.
std::string taken(const fs::path& root) {
    std::string files;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
        if (entry.is_symlink() || !entry.is_regular_file() || entry.file_size() > (1 << 20))
            continue;
        const auto text = base::read_file(entry.path(), 1 << 20);
        if (text && text->find(kMarker) != std::string::npos) files += entry.path().string() + " ";
    }
    return files;
}

// What the operator's git would execute or follow, and programs that lend their owner's identity.
std::vector<std::string> left_in_workspace(const fs::path& root) {
    std::vector<std::string> findings;
    for (const char* name : {"commondir", "config.worktree", "info/attributes", "info/grafts",
                             "modules", "worktrees", "rebase-merge"})
        if (fs::exists(fs::symlink_status(root / ".git" / name)))
            findings.push_back(std::string("left for git: ") + name);
    for (const auto& entry :
         fs::recursive_directory_iterator(root, fs::directory_options::skip_permission_denied)) {
        const auto kind = entry.symlink_status();
        const bool is_gits = entry.path().string().contains("/.git/");
        if (is_gits && !fs::is_regular_file(kind) && !fs::is_directory(kind))
            findings.push_back("a link or pipe for git: " + entry.path().string());
        constexpr auto kSetId = fs::perms::set_uid | fs::perms::set_gid;
        if (fs::is_regular_file(kind) && (kind.permissions() & kSetId) != fs::perms::none)
            findings.push_back("lends its owner's identity: " + entry.path().string());
    }
    return findings;
}

// A process outside that ends by itself once no process holds the pipe.
class Victim {
public:
    Victim() {
        CHECK(::pipe2(pipe_, O_CLOEXEC) == 0, "a pipe can be made");
        pid_ = ::fork();
        CHECK(pid_ >= 0, "a process can be made");
        if (pid_ == 0) {
            ::close(pipe_[1]);
            char byte = 0;
            while (::read(pipe_[0], &byte, 1) > 0) {
            }
            ::_exit(0);
        }
        ::close(pipe_[0]);
    }
    pid_t pid() const { return pid_; }
    // Whether a signal was quicker than we are. Only once.
    bool was_ended() {
        ::close(pipe_[1]);
        ::kill(pid_, SIGCONT);  // In case a case has stopped it.
        int status = 0;
        CHECK(::waitpid(pid_, &status, 0) == pid_, "it is our child");
        return !WIFEXITED(status);
    }

private:
    int pipe_[2]{};
    pid_t pid_{};
};

}  // namespace

void Boundary::SetUp() {
    const auto lacks = sandbox::missing(machine());
    if (!lacks.empty())
        HOLON_SKIP(fmt::format("this machine cannot confine: {}", fmt::join(lacks, "; ")));
    const auto folder = stage();
    if (folder.empty()) HOLON_SKIP("there is no folder outside /tmp to run the cases in");
    top_ = folder / ids_.hex32().substr(0, 8);
    root_ = top_ / "root";
    write_file(root_ / "work.txt", "work\n");
    write_file(root_ / ".git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
    write_file(root_ / ".git/HEAD", "ref: refs/heads/main\n");
    fs::create_directories(root_ / ".git/objects");
    fs::create_directories(root_ / ".git/refs/heads");
    write_file(root_ / ".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
    write_file(root_ / ".holon/config.json", "{}\n");
    const std::string secret(kMarker);
    write_file(top_ / "home/.ssh/id_ed25519", secret);
    write_file(top_ / "home/.aws/credentials", secret);
    write_file(top_ / "home/.netrc", secret);
    write_file(top_ / "home/.config/gh/hosts.yml", secret);
    write_file(top_ / "home/.bashrc", secret);
    write_file(top_ / "home/notes.txt", secret);
    write_file(top_ / "home/.cargo/config.toml", secret);
    write_file(top_ / "home/.cargo/bin/tool", "tool\n");
    for (const auto& one : read_cases())  // Every file that a case names.
        if (one.family == "08-homes" && one.name.starts_with("read "))
            write_file(top_ / "home" / one.name.substr(5), secret);
    write_file(top_ / "beside/file.txt", secret);
    write_file(top_ / "holon/credentials.json", secret);
    write_file(top_ / "holon/agents/other/memory/self.md", secret);
    write_file(top_ / "outside/file.txt", "canary\n");
    write_file(top_ / "outside/dir/inner.txt", "canary\n");
    fs::create_symlink(top_ / "home/.ssh/id_ed25519", root_ / "link-to-secret");
    fs::create_symlink(top_ / "outside", root_ / "link-to-outside");
    fs::create_symlink(top_ / "home/.ssh", top_ / "outside/ssh-alias");
}

void Boundary::TearDown() {
    if (top_.empty()) return;
    std::error_code ignored;
    fs::remove_all(top_, ignored);
    fs::remove(top_.parent_path(), ignored);  // The last one takes the stage with it.
}

const sandbox::Machine& Boundary::machine() {
    static const auto machine = sandbox::probe();
    return machine;
}

sandbox::Policy Boundary::policy() const {
    sandbox::Policy policy = network_;
    policy.writable_roots.push_back(root_.string());
    policy.homes.push_back((top_ / "home").string());
    policy.hidden.push_back((top_ / "holon").string());
    // Readable, so that every attempt to write there meets the boundary.
    policy.read_only.push_back((top_ / "outside").string());
    policy.read_only.push_back((top_ / "home/.cargo/bin").string());
    policy.limits = {.cpu_s = 2,
                     .memory_bytes = 512 << 20,
                     .processes = 320,
                     .file_bytes = 16 << 20,
                     .open_files = 256,
                     .private_tmp_bytes = 32 << 20};
    return policy;
}

base::ProcessExit Boundary::run(const Case& attack, Confined confined, int port, pid_t victim,
                                const std::string& mark) {
    base::ProcessSpec spec{.argv = {"/bin/sh", "-c", attack.script}, .cwd = root_};
    if (attack.is_python) spec.argv = {"/usr/bin/python3", "-c", attack.script};
    spec.environment = {{"PATH", std::getenv("PATH")},
                        {"HOME", (top_ / "home").string()},
                        {"ROOT", root_.string()},
                        {"OUTSIDE", (top_ / "outside").string()},
                        {"TARGET", (top_ / "home/.ssh/id_ed25519").string()},
                        {"HOLON", (top_ / "holon").string()},
                        {"PORT", std::to_string(port)},
                        {"SOCKET", socket_file().string()},
                        {"ABSTRACT", mark},
                        {"VICTIM", std::to_string(victim)},
                        {"MARK", mark}};
    spec.timeout = kCaseTimeout;
    spec.memory_bytes_max = kOutputBytesMax;
    if (confined == Confined::Yes) {
        auto inside = sandbox::confine(std::move(spec), policy(), machine());
        EXPECT_TRUE(inside) << inside.error().message;
        spec = std::move(*inside);
        argv_ = spec.argv;
    }
    base::ProcessExit exit;
    auto started = runner_.start(std::move(spec), [&](base::ProcessExit ended) {
        exit = std::move(ended);
        loop_.stop();
    });
    EXPECT_TRUE(started) << started.error().message;
    loop_.run();
    return exit;
}

std::vector<std::string> Boundary::attempt(const Case& attack, Confined confined) {
    const std::string mark = "holon-attack-" + ids_.hex32();
    const Listeners listeners(socket_file(), mark);
    Victim victim;
    const std::pair<const char*, fs::path> watched[] = {{"outside", top_ / "outside"},
                                                        {"home", top_ / "home"},
                                                        {"holon", top_ / "holon"},
                                                        {"hooks", root_ / ".git/hooks"},
                                                        {"agent settings", root_ / ".holon"}};
    std::vector<std::map<std::string, std::string>> before;
    for (const auto& [name, folder] : watched) before.push_back(listing(folder));
    const auto git_config = base::read_file(root_ / ".git/config", 1 << 20);

    exit_ = run(attack, confined, listeners.port, victim.pid(), mark);
    said_ = exit_.out.head + exit_.out.tail + exit_.err.head + exit_.err.tail;

    std::vector<std::string> findings;
    if (said_.find(kMarker) != std::string::npos) findings.emplace_back("a hidden file was read");
    if (const auto files = taken(root_); !files.empty())
        findings.push_back("a hidden file was copied to " + files);
    for (std::size_t i = 0; i < std::size(watched); ++i)
        if (!fs::exists(watched[i].second) || listing(watched[i].second) != before[i])
            findings.push_back(std::string(watched[i].first) + " changed");
    if (base::read_file(root_ / ".git/config", 1 << 20) != git_config)
        findings.emplace_back("git settings changed");
    for (auto& finding : left_in_workspace(root_)) findings.push_back(std::move(finding));
    if (const auto who = listeners.heard(); !who.empty()) findings.push_back("reached: " + who);
    if (victim.was_ended()) findings.emplace_back("a process outside was ended");
    for (const auto& process : left_over(mark)) findings.push_back("still runs: " + process);
    ::unlink(socket_file().c_str());
    return findings;
}

}  // namespace attack
