// Starting a program without fork(), which copies page tables: 50 ms of a stopped loop when we hold
// two gigabytes. Everything here blocks for a moment only.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/os/files.h"
#include "base/os/process.h"

namespace base {

struct Pipe {
    Fd read, write;
};

// Both ends close on exec and lie above 2; ours does not block, the command's does.
enum class OurEnd { Read, Write };
Result<Pipe> make_pipe(OurEnd ours = OurEnd::Read);

// The absolute path of the spec's program, looked up in the PATH of its own environment. Fails for
// a spec that no process can be given: a missing folder, a NUL byte, a variable without a name.
Result<std::string> find_program(const ProcessSpec& spec);

// The descriptors the program finds. A terminal takes the place of all of them and becomes the
// controlling one.
struct Streams {
    int in{-1};  // -1: /dev/null, as for the others.
    int out{-1};
    int err{-1};
    // As 3, 4, ..., before the files of the spec; each must be larger than the last of all these.
    std::vector<int> passed{};
    std::string terminal{};
    // Leaves descriptors that do not close on exec to the program itself, because `program` is one
    // of ours and would be closed too early.
    bool program_closes_rest{false};
};

// Starts `program` as leader of a session of its own, with no other descriptor, no signal mask
// and no handler of ours. Returns 0 or an errno.
int spawn(const std::string& program, const ProcessSpec& spec, const Streams& streams, pid_t& pid);

// The errno of spawn() in words.
std::unexpected<Error> spawn_failure(int error, const std::string& program);

// A process cannot be started for want of something of ours.
std::unexpected<Error> no_resource(std::string_view what, std::string_view why);

}  // namespace base
