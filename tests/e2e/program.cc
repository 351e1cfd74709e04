#include "tests/e2e/program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/text.h"

namespace e2e {
namespace {

constexpr std::size_t kOutputBytesMax = 256 * 1024 * 1024;

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (auto& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

std::string text_of(const std::filesystem::path& file) {
    return base::read_file(file, kOutputBytesMax).value_or("");
}

bool readable_within(int fd, std::chrono::milliseconds limit) {
    pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
    return poll(&entry, 1, static_cast<int>(limit.count())) == 1;
}

}  // namespace

Running::Running(pid_t pid, std::filesystem::path out, std::filesystem::path err)
    : pid_(pid),
      end_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
      out_(std::move(out)),
      err_(std::move(err)) {
    CHECK(static_cast<bool>(end_), "pidfd_open");
}

Running::Running(Running&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      end_(std::move(other.end_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)) {}

Running::~Running() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

void Running::send(int signal) const {
    ASSERT_EQ(kill(pid_, signal), 0);
}

bool Running::ends_within(std::chrono::milliseconds limit) const {
    return readable_within(end_.get(), limit);
}

Finished Running::wait(std::chrono::milliseconds limit) {
    if (!ends_within(limit)) {
        ADD_FAILURE() << "the program did not end in time\n" << err_so_far();
        kill(pid_, SIGKILL);
    }
    int status = 0;
    rusage usage{};
    CHECK(wait4(pid_, &status, 0, &usage) == pid_, "wait4");
    pid_ = -1;
    Finished finished{.out = text_of(out_), .err = text_of(err_), .rss_kib_max = usage.ru_maxrss};
    if (WIFEXITED(status)) finished.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) finished.signal = WTERMSIG(status);
    return finished;
}

std::string Running::err_so_far() const {
    return text_of(err_);
}

Program::Program(const std::filesystem::path& below) {
    std::string pattern = (below / "holon-e2e-XXXXXX").string();
    CHECK(mkdtemp(pattern.data()) != nullptr, "mkdtemp");
    folder_ = std::filesystem::canonical(pattern);
    std::filesystem::create_directory(repo());
    environment["PATH"] = std::getenv("PATH");
    environment["HOME"] = folder_.string();
    environment["HOLON_HOME"] = home().string();
    // A test of a failure sees it after one pass over the candidates.
    environment["HOLON_OUTAGE_PATIENCE_MS"] = "1";
    // Tests of the sandbox configure it; the others compare what unconfined commands do.
    environment["HOLON_NEW_HOME_SANDBOX"] = "none";
}

Program::~Program() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void Program::script(json::array rounds) {
    script(std::move(rounds), {});
}

void Program::script(json::array rounds,
                     const std::vector<std::pair<std::string, json::array>>& scenes) {
    const auto file = folder_ / "scenario.json";
    json::object scenario{{"rounds", std::move(rounds)}};
    json::array list;
    for (const auto& [when, played] : scenes)
        list.push_back(json::object{{"when", when}, {"rounds", played}});
    if (!list.empty()) scenario["scenes"] = std::move(list);
    write(file, base::json_text(scenario));
    environment["HOLON_MODEL"] = "scripted/" + file.string();
}

void Program::use_server(const std::string& base_url, const std::string& key) {
    std::filesystem::create_directories(home());
    json::object provider{{"transport", "openai_chat_completions"},
                          {"base_url", base_url},
                          {"auth", {{"source", "env"}, {"kind", "api_key"}, {"env", "FAKE_KEY"}}}};
    json::object providers;
    providers["fake"] = std::move(provider);
    write(home() / "config.json", base::json_text(json::object{{"providers", providers}}));
    environment["FAKE_KEY"] = key;
    environment["HOLON_MODEL"] = "fake/model-a";
}

void Program::write(const std::filesystem::path& file, std::string_view text) const {
    ASSERT_TRUE(base::write_file_atomic(file, text, 0600));
}

std::string Program::read(const std::filesystem::path& file) const {
    return text_of(file);
}

Running Program::spawn(std::vector<std::string> argv) {
    const auto name = fmt::format("run-{}", ++starts_);
    const auto printed = out.empty() ? folder_ / (name + ".out") : out;
    const auto err = folder_ / (name + ".err");
    std::vector<std::string> env;
    for (const auto& [variable, value] : environment) env.push_back(variable + "=" + value);
    const auto cwd = started_in.empty() ? repo() : started_in;

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, printed.c_str(), kWrite, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), kWrite, 0600);
    posix_spawn_file_actions_addchdir_np(&actions, cwd.c_str());
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    pid_t pid = -1;
    const int failed = posix_spawn(&pid, argv[0].c_str(), &actions, nullptr,
                                   pointers_to(argv).data(), pointers_to(env).data());
    posix_spawn_file_actions_destroy(&actions);
    CHECK(failed == 0, "the program under test cannot be started");
    return {pid, printed, err};
}

Running Program::start(const std::vector<std::string>& arguments) {
    std::vector<std::string> argv{HOLON_PROGRAM};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return spawn(std::move(argv));
}

Finished Program::run_after(std::string_view commands, const std::vector<std::string>& arguments) {
    std::vector<std::string> argv{"/bin/sh", "-c", fmt::format("{} && exec \"$@\"", commands), "sh",
                                  HOLON_PROGRAM};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return spawn(std::move(argv)).wait();
}

Finished Program::run(const std::vector<std::string>& arguments) {
    return start(arguments).wait();
}

json::value Program::json_of(const std::vector<std::string>& arguments, int exit_code) {
    const auto finished = run(arguments);
    EXPECT_EQ(finished.exit_code, exit_code) << finished.out << finished.err;
    EXPECT_EQ(finished.err, "");
    auto parsed = base::parse_json(finished.out);
    if (parsed) return *parsed;
    ADD_FAILURE() << "not one JSON document: " << parsed.error().message << "\n" << finished.out;
    return json::object{};
}

std::vector<json::value> Program::events(const std::string& agent) {
    const auto finished = run({"events", "--agent", agent, "--limit", "100000"});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    std::vector<json::value> list;
    for (const auto line : base::split_lines(finished.out)) {
        auto parsed = base::parse_json(line);
        if (!parsed) ADD_FAILURE() << parsed.error().message << ": " << line;
        if (parsed) list.push_back(std::move(*parsed));
    }
    return list;
}

std::vector<json::value> Program::events(const std::string& agent, std::string_view kind) {
    auto list = events(agent);
    std::erase_if(list, [&](const auto& event) { return base::string_at(event, "kind") != kind; });
    return list;
}

Signpost::Signpost(std::filesystem::path path) : path_(std::move(path)) {
    CHECK(mkfifo(path_.c_str(), 0600) == 0, "mkfifo");
    // Open for both, so that a writer that closes it does not end it.
    fd_.reset(open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    CHECK(static_cast<bool>(fd_), "open fifo");
}

std::string Signpost::wait(std::chrono::milliseconds limit) {
    if (!readable_within(fd_.get(), limit)) {
        ADD_FAILURE() << "no command came to " << path_;
        return "";
    }
    char text[256];
    const ssize_t size = ::read(fd_.get(), text, sizeof text);
    return std::string(base::trim(std::string_view(text, size > 0 ? std::size_t(size) : 0)));
}

void Signpost::send(std::string_view line) {
    CHECK(base::write_all(fd_.get(), fmt::format("{}\n", line)), "write fifo");
}

json::object says(std::string_view text) {
    return {{"text", text}};
}

json::object with_usage(json::object round, std::int64_t input, std::int64_t output) {
    round["usage"] = {{"input_tokens", input}, {"output_tokens", output}};
    return round;
}

json::object calls(std::string_view tool, json::object input, std::string_view text) {
    json::object call{{"name", tool}};
    call["input"] = std::move(input);
    json::object round{{"text", text}};
    round["tool_calls"] = json::array{std::move(call)};
    return round;
}

json::object runs(std::string_view command, std::string_view text) {
    return calls("ExecCommand", {{"cmd", command}, {"login", false}}, text);
}

std::vector<json::value> of_kind(const json::value& list, std::string_view kind) {
    std::vector<json::value> found;
    if (!list.is_array()) return found;
    for (const auto& entry : list.get_array())
        if (base::string_at(entry, "kind") == kind) found.push_back(entry);
    return found;
}

std::vector<std::string> keys_of(const json::value& object) {
    std::vector<std::string> keys;
    if (object.is_object())
        for (const auto& member : object.get_object()) keys.emplace_back(member.key());
    std::ranges::sort(keys);
    return keys;
}

bool group_is_alive(pid_t group) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string stat = text_of(entry.path() / "stat");
        const std::size_t name_end = stat.rfind(')');
        if (name_end == std::string::npos) continue;
        char state = 0;
        int parent = 0, process_group = 0, session = 0;
        if (std::sscanf(stat.c_str() + name_end + 1, " %c %d %d %d", &state, &parent,
                        &process_group, &session) == 4 &&
            state != 'Z' && (process_group == group || session == group))
            return true;
    }
    return false;
}

}  // namespace e2e
