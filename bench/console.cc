// What the console costs: bytes for the terminal, time, CPU and memory.
#include <arpa/inet.h>
#include <poll.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/os/files.h"
#include "bench/support/child.h"
#include "bench/support/figures.h"
#include "domain/events/messages.h"
#include "service/remote/remote_plans.h"
#include "surfaces/tui/screen/presenter.h"
#include "surfaces/tui/session/session.h"
#include "tests/support/no_service.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kTokens = 2000;
constexpr std::int64_t kEvents = 10'000;
constexpr std::size_t kColumns = 100;
constexpr std::size_t kRows = 40;
constexpr int kStarts = 10;
constexpr std::chrono::seconds kRest{5};
constexpr std::chrono::seconds kPatience{60};

// One agent whose deltas and events this program makes.
class Source final : public test_support::NoService {
public:
    Json state(const std::string& agent) override {
        return json::object{{"event_seq", 0}, {"agent", {{"identity", {{"agent_id", agent}}}}}};
    }
    base::Result<std::vector<domain::Event>> event_page(const std::string&,
                                                        const service::EventsQuery&) override {
        return std::vector<domain::Event>{};
    }
    base::Result<std::vector<domain::Event>> events(const std::string&, std::int64_t after,
                                                    std::int64_t limit) override {
        const std::lock_guard lock(mutex_);
        std::vector<domain::Event> page;
        for (std::int64_t seq = after + 1;
             seq <= newest_ && page.size() < static_cast<std::size_t>(limit); ++seq)
            page.push_back(event(seq));
        return page;
    }
    std::shared_ptr<void> watch(const std::string&,
                                std::function<void(std::int64_t)> changed) override {
        const std::lock_guard lock(mutex_);
        changed_ = std::move(changed);
        return std::make_shared<int>();
    }
    std::shared_ptr<void> watch_deltas(const std::string&,
                                       std::function<void(const service::Delta&)> delta) override {
        const std::lock_guard lock(mutex_);
        delta_ = std::move(delta);
        return std::make_shared<int>();
    }
    bool is_watched() {
        const std::lock_guard lock(mutex_);
        return changed_ && delta_;
    }
    void say(const std::string& text) { delta_({.text = text}); }
    void add_events(std::int64_t count) {
        {
            const std::lock_guard lock(mutex_);
            newest_ += count;
        }
        changed_(newest_);
    }

private:
    static domain::Event event(std::int64_t seq) {
        domain::events::BriefCreated brief;
        brief.text = "An answer of a usual length, with **some** Markdown and `code` in it.";
        return {.event_seq = seq,
                .kind = std::string(domain::events::BriefCreated::kKind),
                .data = domain::events::written(brief)};
    }

    std::mutex mutex_;
    std::int64_t newest_{0};
    std::function<void(std::int64_t)> changed_;
    std::function<void(const service::Delta&)> delta_;
};

double resident_mb() {
    std::ifstream file("/proc/self/statm");
    double pages = 0;
    file >> pages >> pages;
    return pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

std::size_t clears_in(std::string_view bytes) {
    std::size_t count = 0;
    for (const auto* clear : {"\x1b[2J", "\x1b[3J", "\x1b[J",
                              "\x1b"
                              "c"})
        for (auto at = bytes.find(clear); at != std::string_view::npos;
             at = bytes.find(clear, at + 1))
            ++count;
    return count;
}

// The console without a terminal: what it would send is counted.
class Drawn {
public:
    Drawn() {
        session_->start({kColumns, kRows});
        while (!source_.is_watched()) draw();
    }
    std::string draw() {
        inbox_.drain();
        session_->on_news();
        const auto drawing = session_->draw();
        return presenter_.draw(drawing.finished, drawing.frame);
    }
    Source& source() { return source_; }

private:
    tui::Wake wake_;
    tui::Inbox inbox_{wake_};
    base::SystemClock clock_;
    Source source_;
    service::RemotePlans plans_{{.address = {}, .vault = {}}};
    tui::Presenter presenter_{true, kColumns, kRows};
    std::shared_ptr<tui::Session> session_ =
        std::make_shared<tui::Session>(tui::SessionParts{.service = source_,
                                                         .plans = plans_,
                                                         .clock = clock_,
                                                         .wake = wake_,
                                                         .inbox = inbox_,
                                                         .agent = "main"});
};

void measure_stream() {
    constexpr auto kWords =
        std::to_array<const char*>({"the ", "answer ", "has ", "**many** ", "words, ",
                                    "some `code` ", "and ", "new\n\nlines "});
    Drawn drawn;
    drawn.draw();
    std::vector<double> bytes;
    std::size_t clears = 0;
    for (std::size_t i = 0; i < kTokens; ++i) {
        drawn.source().say(kWords[i % kWords.size()]);
        const std::string sent = drawn.draw();
        bytes.push_back(static_cast<double>(sent.size()));
        clears += clears_in(sent);
    }
    double total = 0;
    for (const double one : bytes) total += one;
    bench::figure("console_bytes_per_token", total / static_cast<double>(bytes.size()), "B",
                  bench::at_most(200));
    bench::figure("console_bytes_per_token_p99", bench::percentile(bytes, 0.99), "B");
    bench::figure("console_clear_sequences", static_cast<double>(clears), "count",
                  bench::at_most(0));
}

void measure_memory() {
    Drawn drawn;
    const auto draw_all = [&](std::int64_t count) {
        drawn.source().add_events(count);
        const auto deadline = Clock::now() + std::chrono::seconds(2);
        while (Clock::now() < deadline) drawn.draw();
    };
    draw_all(1000);
    const double before = resident_mb();
    draw_all(kEvents);
    bench::figure("console_memory_growth_10000_events", resident_mb() - before, "MB",
                  bench::at_most(4));
}

// The program on a terminal of its own.
class OnTerminal {
public:
    OnTerminal(const std::string& program, const std::vector<std::string>& environment) {
        winsize size{.ws_row = kRows, .ws_col = kColumns, .ws_xpixel = 0, .ws_ypixel = 0};
        pid_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
        if (pid_ != 0) return;
        for (const auto& variable : environment) ::putenv(const_cast<char*>(variable.c_str()));
        ::execl(program.c_str(), program.c_str(), "tui", nullptr);
        ::_exit(127);
    }
    ~OnTerminal() {
        ::kill(pid_, SIGTERM);
        ::waitpid(pid_, nullptr, 0);
        ::close(terminal_);
    }
    OnTerminal(const OnTerminal&) = delete;
    OnTerminal& operator=(const OnTerminal&) = delete;

    bool shows(std::string_view text) {
        const auto deadline = Clock::now() + kPatience;
        while (Clock::now() < deadline) {
            if (seen_.contains(text)) return true;
            if (!read_within(std::chrono::milliseconds(1000))) continue;
        }
        return false;
    }
    bool read_within(std::chrono::milliseconds limit) {
        pollfd entry{.fd = terminal_, .events = POLLIN, .revents = 0};
        if (::poll(&entry, 1, static_cast<int>(limit.count())) <= 0) return false;
        std::array<char, 4096> bytes{};
        const auto got = ::read(terminal_, bytes.data(), bytes.size());
        if (got > 0) seen_.append(bytes.data(), static_cast<std::size_t>(got));
        return got > 0;
    }
    double cpu_seconds() const {
        std::ifstream file(fmt::format("/proc/{}/stat", pid_));
        std::string word;
        double user = 0, system = 0;
        for (int i = 0; i < 13; ++i) file >> word;
        file >> user >> system;
        return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    }

private:
    pid_t pid_{-1};
    int terminal_{-1};
    std::string seen_;
};

int free_port() {
    const base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    (void)::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size);
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
}

void measure_program(const std::string& program) {
    std::string folder = std::filesystem::temp_directory_path() / "holon-bench-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) return bench::note("no folder for the console");
    (void)base::write_file_atomic(folder + "/scenario.json", R"({"rounds":[{"text":"Done."}]})",
                                  0600);
    const std::vector<std::string> environment{
        "HOME=" + folder,
        "HOLON_HOME=" + folder + "/home",
        "TERM=xterm-256color",
        "HOLON_MODEL=scripted/" + folder + "/scenario.json",
        "HOLON_NEW_HOME_SANDBOX=none",
        fmt::format("HOLON_HTTP_ADDR=127.0.0.1:{}", free_port())};
    const auto daemon = [&](const char* verb) {
        return bench::run(
                   {.argv = {program, "daemon", verb}, .environment = environment, .cwd = folder})
            .succeeded;
    };
    if (!daemon("start")) return bench::note("the daemon does not start");
    std::vector<double> starts;
    for (int i = 0; i < kStarts; ++i) {
        const auto began = Clock::now();
        OnTerminal console(program, environment);
        if (!console.shows("\x1b[?2026h")) break;
        starts.push_back(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
    }
    if (!starts.empty())
        bench::figure("console_first_frame", bench::median(starts), "ms", bench::at_most(50));
    {
        OnTerminal console(program, environment);
        console.shows("connected");
        while (console.read_within(std::chrono::milliseconds(500))) {
        }
        const double before = console.cpu_seconds();
        std::this_thread::sleep_for(kRest);
        bench::figure(
            "console_cpu_at_rest",
            (console.cpu_seconds() - before) / std::chrono::duration<double>(kRest).count() * 100,
            "%", bench::at_most(0));
    }
    (void)daemon("stop");
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
}

}  // namespace

int main(int argc, char** argv) {
    measure_stream();
    measure_memory();
    if (argc > 1) measure_program(std::filesystem::absolute(argv[1]));
    return 0;
}
