// Child processes whose end and output arrive as events, and whose whole group really ends.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/os/files.h"
#include "base/result.h"

namespace base {

// The path under which a program finds the first of its inherited files.
inline constexpr const char* kFirstFile = "/proc/self/fd/3";

struct ProcessSpec {
    std::vector<std::string> argv;  // argv[0] is looked up in PATH unless it has a slash.
    std::filesystem::path cwd;
    std::vector<std::pair<std::string, std::string>>
        environment;  // The whole of it; nothing is inherited.
    // Open files that the program inherits as the descriptors 3, 4, ...; it inherits no others.
    // With kFirstFile as argv[0], the first of them is the program.
    std::vector<std::shared_ptr<const Fd>> files{};
    std::shared_ptr<const Fd> input{};     // Its standard input; null: nothing.
    std::chrono::milliseconds timeout{0};  // 0: none. When it passes, the group is ended.

    // Each stream is held in memory up to this many bytes; past it, all bytes go to its spill file
    // and memory keeps the first and the last half of the bound.
    std::size_t memory_bytes_max{256 * 1024};
    std::filesystem::path stdout_spill;
    std::filesystem::path stderr_spill;
};

// One output stream, complete: either `head` is all of it, or `spilled` says that the spill file
// is, unless `spill_error` says why that file is missing.
struct CapturedStream {
    std::string head;
    std::string tail;  // Empty unless spilled; head and tail never overlap.
    bool spilled{false};
    std::uint64_t bytes{0};
    std::uint64_t lines{0};     // Newline characters, plus one for an unfinished last line.
    std::string sha256;         // Of all bytes.
    std::string spill_error{};  // Why bytes beyond memory were lost (disk full), or empty.
};

struct ProcessExit {
    std::optional<int> exit_code{};
    std::optional<int> signal{};
    bool timed_out{false};
    bool cancelled{false};
    // Some process of the group, or one that left the group, still held the pipes when the leader
    // ended and the grace period passed; output after that was not read.
    bool output_cut_off{false};
    std::chrono::microseconds duration{};
    CapturedStream out{};
    CapturedStream err{};
};

// Starts processes on the loop it was made with; see base/os/process_runner.h for the real one. The
// simulator has its own.
class ProcessRunner {
public:
    // A running process. Destroying the handle does not end the process.
    class Handle {
    public:
        virtual ~Handle() = default;
        // Ends the group: SIGTERM, then SIGKILL after the grace period. The exit still arrives.
        virtual void cancel() = 0;
    };

    virtual ~ProcessRunner() = default;

    // Fails when the program cannot be started (no such file, not executable, no such folder).
    // `on_exit` is called once, on the loop, after both streams are closed or cut off.
    virtual Result<std::shared_ptr<Handle>> start(
        ProcessSpec spec, std::move_only_function<void(ProcessExit)> on_exit) = 0;
};

}  // namespace base
