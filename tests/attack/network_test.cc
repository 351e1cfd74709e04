// The network of a confined command: only what the allow-list names, through the proxy.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/os/files.h"
#include "tests/attack/stage.h"

namespace attack {
namespace {

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
          "kill -9 $(pgrep -f holon-confine); cat /proc/*/mem > /dev/null; ls -l /proc/*/fd"})
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

}  // namespace
}  // namespace attack
