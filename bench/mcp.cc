// What MCP servers cost: three configured servers in `holon run`, and a call over stdio on top of a
// bare client that speaks to the same server. Usage: bench_mcp HOLON
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

#include "base/os/asio_loop.h"
#include "bench/support/child.h"
#include "bench/support/figures.h"
#include "bench/support/loopback_model.h"
#include "exec/tools/dispatcher.h"
#include "exec/tools/mcp/servers.h"
#include "exec/tools/mcp/system_child.h"

namespace {

using bench::at_most;
using bench::figure;
using bench::note;

constexpr int kRuns = 15;
constexpr int kCalls = 500;
constexpr int kBlocks = 4;  // Both clients take turns, so that a busy machine is fair to them.
constexpr double kStartMsMax = 20;
constexpr double kCallMsMax = 1;
constexpr const char* kPython = "/usr/bin/python3";
constexpr const char* kPath = "PATH=/usr/local/bin:/usr/bin:/bin";

double ms(bench::Steady::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

std::filesystem::path make_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "holon-bench-XXXXXX").string();
    CHECK(::mkdtemp(pattern.data()) != nullptr, "a temporary folder can be made");
    return pattern;
}

void write_config(const std::filesystem::path& home, int servers) {
    std::filesystem::create_directories(home);
    json::object list;
    for (int i = 0; i < servers; ++i)
        list[fmt::format("s{}", i)] =
            json::object{{"command", kPython}, {"args", {HOLON_MCP_SERVER}}};
    const json::object config{{"mcp", json::object{{"servers", list}}},
                              {"sandbox", json::object{{"backend", "host_local"}}}};
    CHECK(base::write_file_atomic(home / "config.json", base::json_text(config), 0600).has_value(),
          "the settings can be written");
}

double run_ms(const std::string& program, const std::filesystem::path& home,
              bench::LoopbackModel& model) {
    model.script({});
    const auto end = bench::run(
        {.argv = {program, "run", "Do it.", "--json"},
         .environment = {kPath, "HOME=" + home.string(), "HOLON_HOME=" + home.string(),
                         "HOLON_MODEL=vllm/bench", "HOLON_VLLM_BASE_URL=" + model.base_url()},
         .cwd = home.string()});
    CHECK(end.succeeded, "holon run succeeds");
    return end.took.count();
}

void measure_start(const std::string& program, const std::filesystem::path& folder) {
    bench::LoopbackModel model;
    const auto without = folder / "without", with = folder / "with";
    write_config(without, 0);
    write_config(with, 3);
    // The first runs make the databases and learn the lists of tools.
    run_ms(program, without, model);
    const double first = run_ms(program, with, model);
    std::vector<double> bare, three;
    for (int i = 0; i < kRuns; ++i) {
        bare.push_back(run_ms(program, without, model));
        three.push_back(run_ms(program, with, model));
    }
    note(
        fmt::format("`holon run` with one request: {:.1f} ms without servers, {:.1f} ms with three "
                    "(p50 of {}); the first run, which waits for their lists, {:.0f} ms",
                    bench::median(bare), bench::median(three), kRuns, first));
    figure("mcp_three_servers_p50", bench::median(three) - bench::median(bare), "ms",
           at_most(kStartMsMax));
}

// A client that does nothing but to write a line and to read one.
class Bare {
public:
    Bare() {
        int in[2] = {-1, -1}, out[2] = {-1, -1};
        CHECK(::pipe(in) == 0 && ::pipe(out) == 0, "pipes can be made");
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(in[0], 0);
            ::dup2(out[1], 1);
            for (const int fd : {in[0], in[1], out[0], out[1]}) ::close(fd);
            ::execl(kPython, kPython, HOLON_MCP_SERVER, nullptr);
            ::_exit(127);
        }
        ::close(in[0]);
        ::close(out[1]);
        to_ = base::Fd(in[1]);
        from_ = ::fdopen(out[0], "r");
        ask(mcp::request(0, "initialize",
                         {{"protocolVersion", "2025-11-25"},
                          {"capabilities", json::object{}},
                          {"clientInfo", json::object{{"name", "bare"}, {"version", "1"}}}}));
        base::write_all(to_.get(), mcp::notification("notifications/initialized", {}));
    }
    ~Bare() {
        to_.reset();
        ::waitpid(pid_, nullptr, 0);
        std::fclose(from_);
        ::free(line_);
    }
    Bare(const Bare&) = delete;
    Bare& operator=(const Bare&) = delete;

    double call_ms() {
        const auto start = bench::Steady::now();
        ask(mcp::request(++id_, "tools/call",
                         {{"name", "echo"}, {"arguments", json::object{{"text", "hello"}}}}));
        return ms(bench::Steady::now() - start);
    }

private:
    void ask(const std::string& line) {
        CHECK(base::write_all(to_.get(), line) && ::getline(&line_, &size_, from_) > 0,
              "the server answers");
    }
    pid_t pid_{-1};
    base::Fd to_;
    FILE* from_{nullptr};
    char* line_{nullptr};
    std::size_t size_{0};
    std::int64_t id_{0};
};

// The way of a turn: through the dispatcher to the tool, and its result back.
class Ours {
public:
    explicit Ours(const std::filesystem::path& folder)
        : configured_{{.name = "s",
                       .command = kPython,
                       .args = {HOLON_MCP_SERVER},
                       .environment = {{"PATH", "/usr/bin:/bin"}},
                       .cwd = folder}},
          servers_({.servers = configured_,
                    .loop = loop_,
                    .clock = clock_,
                    .children = children_,
                    .boundary = boundary_,
                    .log_of = [folder](const std::string&) { return folder / "s.log"; }}),
          place_{.agent_id = {"a"},
                 .agent_home = folder / "agent",
                 .workspace = {.execution_root = folder, .cwd = folder}} {
        servers_.offer(registry_, [this] { loop_.stop(); });
        loop_.run();
        dispatcher_.emplace(
            tools::DispatcherParts{.registry = registry_, .clock = clock_, .ids = ids_});
    }

    double call_ms() {
        const auto start = bench::Steady::now();
        bool is_good = false;
        const auto call = dispatcher_->describe({.call_id = {fmt::format("c-{}", ++calls_)},
                                                 .run_id = {"r"},
                                                 .step_id = "s",
                                                 .tool = "mcp__s__echo",
                                                 .args = json::object{{"text", "hello"}}},
                                                place_);
        const auto running = dispatcher_->dispatch(call, domain::ProfilePreset::PublicNamed, place_,
                                                   [&](const tools::Dispatched& ended) {
                                                       is_good = ended.envelope.ok();
                                                       loop_.stop();
                                                   });
        loop_.run();
        CHECK(is_good, "the call succeeds");
        return ms(bench::Steady::now() - start);
    }

private:
    base::AsioLoop loop_;
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    sandbox::Boundary boundary_;
    mcp::SystemChildRunner children_{loop_};
    tools::Registry registry_;
    std::vector<config::McpServer> configured_;
    mcp::Servers servers_;
    tools::ExecutionContext place_;
    std::optional<tools::Dispatcher> dispatcher_;
    int calls_{0};
};

void measure_calls(const std::filesystem::path& folder) {
    Bare bare;
    Ours ours(folder);
    std::vector<double> least, own;
    for (int block = 0; block < kBlocks; ++block) {
        for (int i = 0; i < kCalls; ++i) least.push_back(bare.call_ms());
        for (int i = 0; i < kCalls; ++i) own.push_back(ours.call_ms());
    }
    note(fmt::format(
        "a call over stdio: {:.3f} ms by a bare client, {:.3f} ms by holon (p50 of {}), "
        "{:.3f} and {:.3f} ms (p95)",
        bench::median(least), bench::median(own), own.size(), bench::percentile(least, 0.95),
        bench::percentile(own, 0.95)));
    figure("mcp_call_overhead_p50", bench::median(own) - bench::median(least), "ms",
           at_most(kCallMsMax));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("Usage: bench_mcp HOLON\n", stderr);
        return 2;
    }
    ::signal(SIGPIPE, SIG_IGN);
    const auto folder = make_folder();
    measure_calls(folder);
    measure_start(std::filesystem::absolute(argv[1]).string(), folder);
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return 0;
}
