// The home of an earlier version, unpacked where it was made, with this build's program around it.
#pragma once

#include <string>
#include <vector>

#include "tests/e2e/daemon/daemon_world.h"

namespace upgrade {

using namespace std::chrono_literals;

// For all that a daemon has to do after its start, on a machine under load.
inline constexpr std::chrono::milliseconds kPatience = 300s;

// One at a time on a machine: others wait for it. The daemon and the folder go with this object.
class OldHome {
public:
    OldHome();
    ~OldHome();
    OldHome(const OldHome&) = delete;
    OldHome& operator=(const OldHome&) = delete;

    // The program of this build with the old home.
    e2e::Program program;

    std::filesystem::path root() const;
    std::filesystem::path home() const { return root() / "home"; }
    std::filesystem::path vault() const { return root() / "vault"; }

    // The model's answer to everything from the next start of the daemon on.
    void model_says(const std::string& text);
    void start_daemon();

    std::vector<std::string> agents();
    // All events of `agent` that came after `after_seq`, as they are printed.
    std::string served(const std::string& agent, std::int64_t after_seq = 0);
    // Those the earlier version had recorded: how many, and the hash of what it printed.
    struct Recorded {
        std::int64_t events{0};
        std::string sha256;
    };
    Recorded recorded(const std::string& agent);
    // Events of a kind that this build has added.
    std::vector<json::value> added(const std::string& agent, std::string_view kind);
    // Waits until there are `count` of them; fails the test when they do not come.
    std::vector<json::value> await(const std::string& agent, std::string_view kind,
                                   std::size_t count = 1);
    // The id of the plan run with this goal.
    std::string plan_run(std::string_view goal);
    // Waits until the run has this status.
    void await_run(const std::string& run, std::string_view status);

private:
    // Must succeed, also when no daemon runs.
    void stop_daemon();

    base::Fd lock_;
};

}  // namespace upgrade
