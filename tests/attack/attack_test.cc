// Runs every case of cases/ in the real sandbox and then checks, outside of it, whether it escaped.
//
// A case says what it tries; what it prints proves nothing. The judges below do: the marker that
// lies in every hidden place was not printed, nothing outside the writable root changed, nobody
// outside was talked to, nothing runs on.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "base/hash.h"
#include "base/ids.h"
#include "base/os/asio_loop.h"
#include "base/os/files.h"
#include "base/os/process_runner.h"
#include "exec/sandbox/confine.h"
#include "tests/support/skip.h"

namespace {

namespace fs = std::filesystem;

// Lies in everything that is hidden. Cases never write it themselves.
constexpr std::string_view kMarker = "xK9-hidden-marker-7Qz";
constexpr std::chrono::seconds kCaseTimeout{8};
constexpr std::size_t kOutputBytesMax = 256 * 1024;

struct Case {
    std::string family;
    std::string name;
    std::string script;
    bool is_python{false};
    bool is_honest{false};  // Must succeed.
};

// "## name" starts a case; "#!python" as its first line makes it one.
std::vector<Case> read_cases() {
    std::vector<Case> cases;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(HOLON_ATTACK_CASES))
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
    for (const fs::path& folder : {fs::path(HOLON_ATTACK_FOLDER), fs::path("/var/lib/holon-attack"),
                                   fs::path(home ? home : "/") / "holon-attack"}) {
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

class Boundary : public testing::Test {
protected:
    void SetUp() override {
        const auto lacks = sandbox::missing(machine());
        if (!lacks.empty())
            HOLON_SKIP(fmt::format("this machine cannot confine: {}", fmt::join(lacks, "; ")));
        const auto folder = stage();
        if (folder.empty()) HOLON_SKIP("there is no folder outside /tmp to run the cases in");
        top_ = folder / ids_.hex32().substr(0, 8);
        root_ = top_ / "root";
        write_file(root_ / "work.txt", "work\n");
        write_file(root_ / ".git/config",
                   "[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
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
        write_file(top_ / "home/.bashrc", "# rc\n");
        write_file(top_ / "home/notes.txt", "notes\n");
        write_file(top_ / "holon/credentials.json", secret);
        write_file(top_ / "holon/agents/other/memory/self.md", secret);
        write_file(top_ / "outside/file.txt", "canary\n");
        write_file(top_ / "outside/dir/inner.txt", "canary\n");
        fs::create_symlink(top_ / "home/.ssh/id_ed25519", root_ / "link-to-secret");
        fs::create_symlink(top_ / "outside", root_ / "link-to-outside");
        fs::create_symlink(top_ / "home/.ssh", top_ / "outside/ssh-alias");
    }
    void TearDown() override {
        if (top_.empty()) return;
        std::error_code ignored;
        fs::remove_all(top_, ignored);
        fs::remove(top_.parent_path(), ignored);  // The last one takes the stage with it.
    }

    static const sandbox::Machine& machine() {
        static const auto machine = sandbox::probe(HOLON_BINARY);
        return machine;
    }

    sandbox::Policy policy() const {
        sandbox::Policy policy = network_;
        policy.writable_roots.push_back(root_.string());
        std::ranges::copy(sandbox::usual_secrets(top_ / "home", top_ / "holon"),
                          std::back_inserter(policy.hidden));
        policy.limits = {.cpu_s = 2,
                         .memory_bytes = 512 << 20,
                         .processes = 320,
                         .file_bytes = 16 << 20,
                         .open_files = 256,
                         .private_tmp_bytes = 32 << 20};
        return policy;
    }

    enum class Confined { No, Yes };

    base::ProcessExit run(const Case& attack, Confined confined, int port, pid_t victim,
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

    // Runs it and looks around. What was found, in words.
    std::vector<std::string> attempt(const Case& attack, Confined confined);

    // Short: the address of a Unix socket holds 107 bytes.
    fs::path socket_file() const { return top_ / "s"; }

    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    base::AsioLoop loop_;
    base::SystemProcessRunner runner_{loop_};
    fs::path top_, root_;
    sandbox::Policy network_;  // The usual is added to it.
    base::ProcessExit exit_;
    std::string said_;
    std::vector<std::string> argv_;  // Of the last confined command.
};

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
        if (!entry.is_regular_file() || entry.is_symlink() || entry.file_size() > (1 << 20))
            continue;
        const auto text = base::read_file(entry.path(), 1 << 20);
        if (text && text->find(kMarker) != std::string::npos) files += entry.path().string() + " ";
    }
    return files;
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
    if (const auto who = listeners.heard(); !who.empty()) findings.push_back("reached: " + who);
    if (victim.was_ended()) findings.emplace_back("a process outside was ended");
    for (const auto& process : left_over(mark)) findings.push_back("still runs: " + process);
    ::unlink(socket_file().c_str());
    return findings;
}

class Attack : public Boundary, public testing::WithParamInterface<Case> {};

TEST_P(Attack, StaysInside) {
    const auto findings = attempt(GetParam(), Confined::Yes);
    EXPECT_EQ(findings, std::vector<std::string>{}) << said_;
    if (GetParam().is_honest) EXPECT_EQ(exit_.exit_code, 0) << said_;
}

INSTANTIATE_TEST_SUITE_P(Cases, Attack, testing::ValuesIn(read_cases()),
                         [](const testing::TestParamInfo<Case>& info) {
                             std::string name = info.param.family + "_" + info.param.name;
                             for (char& c : name)
                                 if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                             return fmt::format("{:03}_{}", info.index, name);
                         });

// The judges are worth something: without the sandbox they find each of these.
using Judges = Boundary;
TEST_F(Judges, DetectEscapes) {
    const std::pair<const char*, const char*> escapes[] = {
        {"a hidden file was read", "cat \"$TARGET\""},
        {"a hidden file was copied", "cp \"$TARGET\" copy"},
        {"outside changed", "echo x >> \"$OUTSIDE/file.txt\""},
        {"outside changed", "chmod 777 \"$OUTSIDE/file.txt\""},
        {"home changed", "echo x >> \"$HOME/.bashrc\""},
        {"holon changed", "echo x > \"$HOLON/config.json\""},
        {"hooks changed", "echo id > .git/hooks/pre-commit"},
        {"hooks changed", "mv .git .git2; mkdir -p .git/hooks; echo id > .git/hooks/pre-commit"},
        {"git settings changed", "echo >> .git/config"},
        {"agent settings changed", "echo x > .holon/extra"},
        {"reached: tcp", "bash -c \"echo x > /dev/tcp/127.0.0.1/$PORT\""},
        {"reached: udp", "bash -c \"echo x > /dev/udp/127.0.0.1/$PORT\""},
        {"reached: unix",
         "python3 -c 'import os,socket; socket.socket(1).connect(os.environ[\"SOCKET\"])'"},
        {"a process outside was ended", "kill -9 $VICTIM"},
    };
    for (const auto& [finding, script] : escapes) {
        SetUp();
        EXPECT_THAT(attempt({.family = "bare", .script = script}, Confined::No),
                    testing::Contains(testing::HasSubstr(finding)))
            << script << "\n"
            << said_;
        TearDown();
    }
}

// A server outside that says one word to everybody.
class WordServer {
public:
    WordServer() {
        sockaddr_in ip{};
        ip.sin_family = AF_INET;
        ip.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&ip), sizeof ip), 0);
        EXPECT_EQ(::listen(listener_, 16), 0);
        socklen_t length = sizeof ip;
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&ip), &length);
        port = ntohs(ip.sin_port);
        thread_ = std::thread([this] {
            for (int peer = ::accept(listener_, nullptr, nullptr); peer >= 0;
                 peer = ::accept(listener_, nullptr, nullptr)) {
                char request[4096];
                [[maybe_unused]] const auto got = ::read(peer, request, sizeof request);
                base::write_all(peer, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nallowed\n");
                ::close(peer);
            }
        });
    }
    ~WordServer() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }
    int port{0};

private:
    int listener_{-1};
    std::thread thread_;
};

using Allowlist = Boundary;

TEST_F(Allowlist, ReachesWhatItNamesAndWritesEachDestinationDown) {
    const WordServer server;
    network_ = {.network = sandbox::Network::Allowlist,
                .allowed_hosts = {fmt::format("127.0.0.1:{}", server.port), "localhost:1"},
                .network_log = (top_ / "network.jsonl").string()};
    const auto findings =
        attempt({.family = "net",
                 .script = fmt::format("import urllib.request as u\n"
                                       "print(u.urlopen('http://127.0.0.1:{0}/x').read())\n"
                                       "for url in ('http://127.0.0.1:9/', 'http://localhost:1/', "
                                       "'https://example.com/'):\n"
                                       "    try: u.urlopen(url, timeout=5); print('reached', url)\n"
                                       "    except OSError as e: print(e, e.fp.read() if "
                                       "hasattr(e, 'fp') else '')\n",
                                       server.port),
                 .is_python = true},
                Confined::Yes);
    EXPECT_EQ(findings, std::vector<std::string>{});
    EXPECT_THAT(said_, testing::HasSubstr("allowed"));
    EXPECT_THAT(said_, testing::Not(testing::HasSubstr("reached")));
    EXPECT_THAT(said_, testing::HasSubstr("its operator can allow the address itself"));
    EXPECT_EQ(base::read_file(top_ / "network.jsonl", 1 << 20),
              fmt::format("{{\"host\":\"127.0.0.1\",\"port\":{},\"outcome\":\"connected\"}}\n"
                          "{{\"host\":\"127.0.0.1\",\"port\":9,\"outcome\":\"refused\"}}\n"
                          "{{\"host\":\"localhost\",\"port\":1,\"outcome\":\"private_address\"}}\n"
                          "{{\"host\":\"example.com\",\"port\":443,\"outcome\":\"refused\"}}\n",
                          server.port));
}

TEST_F(Allowlist, GoesAroundTheProxyNowhere) {
    network_ = {.network = sandbox::Network::Allowlist, .allowed_hosts = {"example.com"}};
    for (const char* script :
         {"bash -c \"echo x > /dev/tcp/127.0.0.1/$PORT\"",
          "bash -c \"exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT 127.0.0.1:$PORT "
          "HTTP/1.1\\r\\n\\r\\n' >&3; head -1 <&3\"",
          "kill -9 $(pgrep -f holon-init); cat /proc/*/mem > /dev/null; ls -l /proc/*/fd"})
        EXPECT_EQ(attempt({.family = "net", .script = script}, Confined::Yes),
                  std::vector<std::string>{})
            << script << said_;
}

// Whatever is killed, and when: there is no socket in the file system that could stay.
TEST_F(Allowlist, MakesNoFilesAndKeepsTheExitStatus) {
    network_ = {.network = sandbox::Network::Allowlist};
    attempt({.family = "net", .script = "exit 7"}, Confined::Yes);
    EXPECT_EQ(exit_.exit_code, 7) << said_;
    // But for the programs themselves, wherever they were built.
    std::erase_if(argv_, [](const std::string& word) { return word.contains("/holon-"); });
    EXPECT_THAT(argv_, testing::Not(testing::Contains(testing::StartsWith("/tmp/"))));
}

TEST_F(Allowlist, GivesTheCommandNoDescriptorOfTheProxy) {
    network_ = {.network = sandbox::Network::Allowlist, .allowed_hosts = {"example.com"}};
    attempt({.family = "net",
             .script = "import os\n"
                       "for fd in range(3, 256):\n"
                       "    try: os.fstat(fd)\n"
                       "    except OSError: continue\n"
                       "    raise SystemExit(f'descriptor {fd}')\n"
                       "for link in ('/proc/1/fd/3', '/proc/self/fd/3'):\n"
                       "    try: os.open(link, os.O_RDWR)\n"
                       "    except OSError: continue\n"
                       "    raise SystemExit('opened ' + link)\n",
             .is_python = true},
            Confined::Yes);
    EXPECT_EQ(exit_.exit_code, 0) << said_;
}

TEST_F(Allowlist, ServesManyConnectionsAtOnce) {
    const WordServer server;
    network_ = {.network = sandbox::Network::Allowlist,
                .allowed_hosts = {fmt::format("127.0.0.1:{}", server.port)}};
    attempt(
        {.family = "net",
         .script = fmt::format("import concurrent.futures as f, urllib.request as u\n"
                               "get = lambda n: u.urlopen('http://127.0.0.1:{}/').read()\n"
                               "with f.ThreadPoolExecutor(40) as pool:\n"
                               "    assert set(pool.map(get, range(200))) == {{b'allowed\\n'}}\n",
                               server.port),
         .is_python = true},
        Confined::Yes);
    EXPECT_EQ(exit_.exit_code, 0) << said_;
}

// A command may move what it can write; the next one must not find what is hidden in it.
TEST_F(Boundary, AHiddenPathInAWritableFolderIsHiddenFromTheNextCommand) {
    write_file(top_ / "shared/conf/deep/key", std::string(kMarker));
    network_.hidden = {(top_ / "shared/conf/deep/key").string()};
    network_.writable_roots = {(top_ / "shared").string()};
    const auto shared = (top_ / "shared").string();
    attempt({.family = "two", .script = "mv " + shared + "/conf " + shared + "/conf2"},
            Confined::Yes);
    EXPECT_TRUE(fs::exists(top_ / "shared/conf/deep/key")) << said_;
    EXPECT_EQ(attempt({.family = "two", .script = "cat " + shared + "/*/*/key"}, Confined::Yes),
              std::vector<std::string>{});
}

TEST(AttackCases, AreManyAndDistinct) {
    const auto cases = read_cases();
    EXPECT_GE(std::ranges::count(cases, false, &Case::is_honest), 150);
    std::map<std::string, int> scripts;
    for (const auto& one : cases) EXPECT_EQ(++scripts[one.script], 1) << one.name;
}

}  // namespace
