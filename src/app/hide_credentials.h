// Keeps the credentials of this process from the other programs of its user.
#pragma once

#include "config/config.h"

namespace app {

// Removes variables whose values are credentials of `config` from the environment, with the bytes
// that the system shows in /proc/<pid>/environ, and makes the process not dumpable: a program of
// the same user can neither read its memory nor trace it, and a crash leaves no core file. Programs
// that it starts are dumpable again. Call it before the first thread starts, and not in a process
// that starts a daemon: the daemon receives its credentials by the environment.
void hide_credentials(const config::Config& config);

}  // namespace app
