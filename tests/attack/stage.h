// Where attacks happen: a workspace, a home with secrets, listeners and a process outside; and the
// judges that find, outside of the sandbox, what a command has reached.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ids.h"
#include "base/os/asio_loop.h"
#include "base/os/process_runner.h"
#include "exec/sandbox/confine.h"

namespace attack {

namespace fs = std::filesystem;

// Lies in everything that is hidden. Cases never write it themselves.
inline constexpr std::string_view kMarker = "xK9-hidden-marker-7Qz";

struct Case {
    std::string family;
    std::string name;
    std::string script;
    bool is_python{false};
    bool is_honest{false};  // Must succeed.
};
// All of cases/: "## name" starts a case; "#!python" as its first line makes it one.
std::vector<Case> read_cases();

void write_file(const fs::path& path, const std::string& text);

class Boundary : public testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    static const sandbox::Machine& machine();
    sandbox::Policy policy() const;

    enum class Confined { No, Yes };

    // Runs it and checks everything around. What was found, in words.
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

private:
    base::ProcessExit run(const Case& attack, Confined confined, int port, pid_t victim,
                          const std::string& mark);
};

}  // namespace attack
