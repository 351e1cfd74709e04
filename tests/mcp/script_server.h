// A server over HTTP that is a Python program: it prints its port, and ends with its standard
// input.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/os/files.h"

namespace test_support {

class ScriptServer {
public:
    ScriptServer(const std::string& script, const std::string& mode) {
        int out[2] = {-1, -1}, in[2] = {-1, -1};
        EXPECT_EQ(::pipe2(out, O_CLOEXEC), 0);
        EXPECT_EQ(::pipe2(in, O_CLOEXEC), 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(in[0], 0);
            ::dup2(out[1], 1);
            ::execlp("python3", "python3", script.c_str(), mode.c_str(), nullptr);
            ::_exit(127);
        }
        ::close(in[0]);
        ::close(out[1]);
        input_ = base::Fd(in[1]);
        FILE* const lines = ::fdopen(out[0], "r");
        EXPECT_EQ(std::fscanf(lines, "%d", &port_), 1);
        std::fclose(lines);
    }
    ~ScriptServer() {
        input_.reset();
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    ScriptServer(const ScriptServer&) = delete;
    ScriptServer& operator=(const ScriptServer&) = delete;
    std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }

private:
    pid_t pid_{-1};
    int port_{0};
    base::Fd input_;
};

}  // namespace test_support
