// The built program as a child process, in a world of its own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/os/files.h"
#include "tests/support/eventually.h"

namespace e2e {

using namespace std::chrono_literals;

inline constexpr std::chrono::milliseconds kPatience = test_support::kEventually;

struct Finished {
    int exit_code{-1};  // -1 when a signal ended it.
    int signal{0};
    std::string out;
    std::string err;
    long rss_kib_max{0};  // Of the program or of a command it waited for, whichever is more.
};

// A child that was started. It never outlives this object.
class Running {
public:
    Running(pid_t pid, std::filesystem::path out, std::filesystem::path err);
    ~Running();
    Running(Running&& other) noexcept;
    Running& operator=(Running&&) = delete;

    pid_t pid() const { return pid_; }
    void send(int signal) const;
    // True when it ended within `limit`; wait() then returns at once.
    bool ends_within(std::chrono::milliseconds limit) const;
    // Fails the test and kills the child when it does not end within `limit`.
    Finished wait(std::chrono::milliseconds limit = kPatience);
    std::string err_so_far() const;

private:
    pid_t pid_{-1};
    base::Fd end_;  // pidfd, readable once the child has ended.
    std::filesystem::path out_, err_;
};

// A folder with a home, a project and a scripted model; gone with this object. Children get PATH,
// HOME, HOLON_HOME and `environment`, and nothing else.
class Program {
public:
    explicit Program(const std::filesystem::path& below = std::filesystem::temp_directory_path());
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    const std::filesystem::path& folder() const { return folder_; }
    std::filesystem::path home() const { return folder_ / "home"; }
    std::filesystem::path repo() const { return folder_ / "repo"; }
    std::filesystem::path agent_home(const std::string& agent) const {
        return home() / "agents" / agent;
    }
    std::map<std::string, std::string> environment{};
    std::filesystem::path started_in{};  // The project unless set.
    std::filesystem::path out{};         // Standard output; a fresh file unless set.

    // The scripted model plays these rounds from now on.
    void script(json::array rounds);
    // The same, and other rounds for turns whose input contains the text.
    void script(json::array rounds, const std::vector<std::pair<std::string, json::array>>& scenes);
    // A Chat Completions provider `fake` at `base_url` with its key in $FAKE_KEY; chosen as model.
    void use_server(const std::string& base_url, const std::string& key);
    void write(const std::filesystem::path& file, std::string_view text) const;
    std::string read(const std::filesystem::path& file) const;

    Running start(const std::vector<std::string>& arguments);
    // Another program, with all of this around it.
    Running start_command(std::vector<std::string> argv) { return spawn(std::move(argv)); }
    Finished run(const std::vector<std::string>& arguments);
    // A shell runs `commands` and then becomes the program.
    Finished run_after(std::string_view commands, const std::vector<std::string>& arguments);
    // The one JSON document that a command printed; the test fails unless it exits with `exit_code`
    // and says nothing on standard error.
    json::value json_of(const std::vector<std::string>& arguments, int exit_code = 0);
    // The events of an agent, one JSON object a line.
    std::vector<json::value> events(const std::string& agent);
    std::vector<json::value> events(const std::string& agent, std::string_view kind);

private:
    Running spawn(std::vector<std::string> argv);

    std::filesystem::path folder_;
    int starts_{0};
};

// A named pipe: a command writes to it when it has come so far, or reads what to do next.
class Signpost {
public:
    explicit Signpost(std::filesystem::path path);
    const std::filesystem::path& path() const { return path_; }
    // Waits for a line; empty, and the test fails, when none comes.
    std::string wait(std::chrono::milliseconds limit = kPatience);
    // Gives a line to the command that reads from it.
    void send(std::string_view line);

private:
    std::filesystem::path path_;
    base::Fd fd_;
};

// Scenario makers.
json::object says(std::string_view text);
json::object with_usage(json::object round, std::int64_t input, std::int64_t output);
json::object calls(std::string_view tool, json::object input, std::string_view text = "");
json::object runs(std::string_view command, std::string_view text = "");

// Entries of a transcript or a list of briefs with this `kind`.
std::vector<json::value> of_kind(const json::value& list, std::string_view kind);
std::vector<std::string> keys_of(const json::value& object);  // Sorted.
// True while a process of this group or session is left that is no zombie.
bool group_is_alive(pid_t group);

}  // namespace e2e
