#include "app/entry/init.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace app {

std::optional<int> act_as_init() {
    if (getpid() != 1) return std::nullopt;
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    const pid_t child = fork();
    if (child <= 0) {  // The child; or no second process can be had, and this one has to do.
        sigprocmask(SIG_SETMASK, &before, nullptr);
        return std::nullopt;
    }
    while (true) {
        int signal = 0;
        if (sigwait(&all, &signal) != 0) continue;
        if (signal != SIGCHLD) {
            kill(child, signal);
            continue;
        }
        int status = 0;
        for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;)
            if (ended == child)
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
}

}  // namespace app
