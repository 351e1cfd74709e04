// What child agents cost, through the built program: memory of a daemon for each sleeping child,
// and the time from the answer that makes a child to the child's first request, against a prompt to
// a new agent. Usage: bench_children HOLON. TMPDIR says which disk.
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/json.h"
#include "bench/support/child.h"
#include "bench/support/figures.h"
#include "bench/support/loopback_model.h"
#include "service/remote/remote_service.h"

namespace {

using bench::Steady;

constexpr int kSpawns = 60;
constexpr int kFew = 10;
constexpr int kMany = 1'010;
constexpr int kAtOnce = 10;  // Calls in one answer.
constexpr double kBytesPerChildMax = 1024;
constexpr std::chrono::minutes kPatience{5};
// What a start needed is given back by then, and what the check of the store needed.
constexpr std::chrono::seconds kUntilRest{25};

double millis(Steady::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

template <class Condition>
void await(const Condition& is_met) {
    for (const auto end = Steady::now() + kPatience; !is_met();) {
        CHECK(Steady::now() < end, "what is measured happens");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

std::string free_address() {
    const base::Fd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{
        .sin_family = AF_INET, .sin_port = 0, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(probe.get(), generic, size) == 0, "a loopback port can be bound");
    CHECK(::getsockname(probe.get(), generic, &size) == 0, "the port can be read");
    return fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
}

// A daemon with a home of its own, and the model that its agents ask. Parents make a child, or
// several; children sleep; others answer.
class Daemon {
public:
    explicit Daemon(const std::string& program)
        : program_(std::filesystem::absolute(program).string()) {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "holon-children-XXXXXX").string();
        CHECK(::mkdtemp(pattern.data()) != nullptr, "a temporary folder can be made");
        home_ = pattern;
        std::ofstream(home_ / "config.json")
            << R"({"children": {"max_alive": 2000, "max_tree_alive": 2000},
                   "sandbox": {"backend": "host_local"}})";
        model_.answer_with([this](std::string_view body) { return answer(body); });
        start();
    }
    ~Daemon() {
        stop();
        std::error_code ignored;
        std::filesystem::remove_all(home_, ignored);
    }
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    void start() { command({"daemon", "start"}); }
    void stop() { command({"daemon", "stop"}); }
    service::RemoteService service() const {
        return service::RemoteService({.address = {.socket = home_ / "run" / "holon.sock"}});
    }
    // Its own memory; the pages of the program are the same for any number of agents.
    double resident_bytes() const {
        long pid = 0;
        std::ifstream(home_ / "run" / "holon.pid") >> pid;
        std::ifstream status("/proc/" + std::to_string(pid) + "/status");
        double kilobytes = 0;
        for (std::string word; status >> word;)
            if (word == "RssAnon:") status >> kilobytes;
        CHECK(kilobytes > 0, "the daemon runs");
        return kilobytes * 1024;
    }

    std::atomic<Steady::time_point> spawned_at{};
    std::atomic<Steady::time_point> child_asked_at{};
    std::atomic<Steady::time_point> plain_asked_at{};
    std::atomic<int> children{0};  // That have asked.
    std::atomic<int> plain{0};
    std::atomic<int> spawns_at_once{1};

private:
    std::string answer(std::string_view body) {
        const auto asked = Steady::now();
        if (body.find("measured child") != body.npos && body.find("spawn now") == body.npos) {
            child_asked_at = asked;
            ++children;
            return bench::calls("Sleep",
                                R"({"reason": "until tomorrow", "duration_ms": 86400000})");
        }
        // The last thing said is the prompt, unless the call has been answered already.
        const auto prompt = body.rfind("spawn now");
        if (prompt != body.npos && body.find("tool_call_id", prompt) == body.npos) {
            spawned_at = Steady::now();
            return bench::calls("SpawnAgent", R"({"initial_message": "measured child"})",
                                spawns_at_once);
        }
        plain_asked_at = asked;
        ++plain;
        return bench::says("done");
    }
    void command(std::vector<std::string> words) {
        words.insert(words.begin(), program_);
        const auto end =
            bench::run({.argv = std::move(words),
                        .environment = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                        "HOME=" + home_.string(), "HOLON_HOME=" + home_.string(),
                                        "HOLON_MODEL=vllm/bench", "HOLON_HTTP_ADDR=" + address_,
                                        "HOLON_VLLM_BASE_URL=" + model_.base_url()},
                        .cwd = home_.string()});
        CHECK(end.succeeded, "holon succeeds");
    }

    std::string program_;
    std::string address_{free_address()};
    std::filesystem::path home_;
    bench::LoopbackModel model_;
};

const service::Caller kOperator{};

void spawn(Daemon& daemon, service::Service& service, const std::string& parent) {
    const int before = daemon.children;
    CHECK(service.prompt(parent, "spawn now", kOperator).has_value(), "it is admitted");
    await([&] { return daemon.children == before + daemon.spawns_at_once; });
}

// Both in ms: to the first request of a child, and of a new agent.
std::pair<std::vector<double>, std::vector<double>> first_requests(const std::string& program) {
    Daemon daemon(program);
    auto service = daemon.service();
    std::vector<double> spawned, prompted;
    for (int n = 0; n < kSpawns; ++n) {
        const std::string parent = fmt::format("parent-{}", n);
        CHECK(service.create_agent(parent, std::nullopt, kOperator).has_value(), "it is made");
        spawn(daemon, service, parent);
        spawned.push_back(millis(daemon.child_asked_at.load() - daemon.spawned_at.load()));
        const std::string other = fmt::format("other-{}", n);
        CHECK(service.create_agent(other, std::nullopt, kOperator).has_value(), "it is made");
        const int before = daemon.plain;
        const auto begun = Steady::now();
        CHECK(service.prompt(other, "hello", kOperator).has_value(), "it is admitted");
        await([&] { return daemon.plain > before; });
        prompted.push_back(millis(daemon.plain_asked_at.load() - begun));
    }
    return {spawned, prompted};
}

// The memory of a daemon at rest, with so many sleeping children of one parent.
double memory(const std::string& program, int children) {
    Daemon daemon(program);
    {
        auto service = daemon.service();
        CHECK(service.create_agent("parent", std::nullopt, kOperator).has_value(), "it is made");
        daemon.spawns_at_once = kAtOnce;
        for (int n = 0; n < children; n += kAtOnce) spawn(daemon, service, "parent");
        await([&] { return service.activity().value().at("processing_agent_count") == 0; });
    }
    daemon.stop();
    daemon.start();
    CHECK(daemon.service().activity().has_value(), "the daemon answers");
    std::this_thread::sleep_for(kUntilRest);
    return daemon.resident_bytes();
}

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc == 2, "usage: bench_children HOLON");
    const auto [spawned, prompted] = first_requests(argv[1]);
    bench::figure("spawn_to_child_request_p50", bench::median(spawned), "ms");
    bench::figure("prompt_to_new_agent_request_p50", bench::median(prompted), "ms");
    bench::figure("spawn_against_prompt", bench::median(spawned) / bench::median(prompted), "x");
    const double few = memory(argv[1], kFew);
    const double many = memory(argv[1], kMany);
    bench::note(fmt::format("at rest: {:.0f} KB with {} children, {:.0f} KB with {}", few / 1024,
                            kFew, many / 1024, kMany));
    bench::figure("sleeping_child_bytes", (many - few) / (kMany - kFew), "bytes",
                  bench::at_most(kBytesPerChildMax));
}
