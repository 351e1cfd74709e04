// A server that ends when the process that started it does, however that one ends.
#pragma once

namespace supervisor {

// Closed by the kernel when the starter is gone, even by SIGKILL: nothing is ever written to it.
inline constexpr int kLifelineFd = 3;

// Runs `argv` = {number of files, program, argv[0], arguments...} with our own standard streams,
// environment and files (inherited behind the lifeline), and
// stays until it has ended with everything it had started. When the lifeline closes, it has a
// moment to end by itself (its standard input has closed, too), then it is made to. Returns its
// exit code, 128 more than the signal that ended it, or kNotStarted.
inline constexpr int kNotStarted = 127;
int tether(char** argv);

}  // namespace supervisor
