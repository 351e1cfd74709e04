#include "tests/support/killed_child.h"

#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace test_support {

std::string killed_after(int lines, std::vector<std::string> argv) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    std::vector<char*> words;
    for (auto& word : argv) words.push_back(word.data());
    words.push_back(nullptr);
    pid_t child = 0;
    EXPECT_EQ(::posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);

    std::string said;
    char buffer[4096];
    bool is_killed = false;
    for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
        said.append(buffer, static_cast<std::size_t>(got));
        if (!is_killed && std::ranges::count(said, '\n') >= lines) {
            ::kill(child, SIGKILL);
            is_killed = true;
        }
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(is_killed) << argv.front() << " ended by itself with status " << status;
    return said;
}

}  // namespace test_support
