// The seam to supervised commands: processes that continue when this program ends or is killed, and
// that a later program finds again with all their output and their exit status.
//
// What is promised rests on the machine, not on this program: a supervisor process of its own
// watches each command, writes its output to a log and its end to a state file. Both survive a
// crash of this program, but not a restart of the machine.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/os/process.h"

namespace supervisor {

// Output of one command that is kept, unless Spec says otherwise; see Ended::dropped_bytes for the
// rest.
inline constexpr std::uint64_t kLogBytesMax = std::uint64_t{4} << 30;
// Commands left behind by earlier processes that known() lists at most.
inline constexpr std::size_t kLeftoversMax = 4096;
// A command that nothing watches and that has not changed for so long is nobody's.
inline constexpr std::chrono::minutes kInUseMax{10};

// A command to start. Values only; the supervisor keeps what it needs of them.
struct Spec {
    std::string id;  // A plain file name, unique for ever: the command is found by it later.
    std::vector<std::string> argv;  // Not empty.
    std::filesystem::path cwd;
    std::vector<std::pair<std::string, std::string>> environment;  // The whole of it.
    // See base::ProcessSpec::files.
    std::vector<std::shared_ptr<const base::Fd>> files{};
    bool tty{false};            // Both streams are then one, and come out as standard output.
    bool accepts_input{false};  // Otherwise standard input is empty.
    // Gets both streams as they come. Its folder exists; the file is the caller's to remove.
    std::filesystem::path log;
    std::uint64_t log_bytes_max{kLogBytesMax};
};

// It ran and is over, and so is everything it had started.
struct Ended {
    std::optional<int> exit_code{};  // Either this
    std::optional<int> signal{};     // or this.
    bool stopped{false};             // By stop(), and not by itself.
    bool forced{false};              // Something of it had to be killed.
    bool output_cut_off{false};      // A process it left behind still held the streams.
    std::uint64_t stdout_bytes{0};   // As printed, also what was dropped.
    std::uint64_t stderr_bytes{0};
    std::uint64_t dropped_bytes{0};  // Printed beyond the bound, or after the disk was full.
    std::string log_error{};         // Why the log is not whole; empty when it is.
    std::chrono::microseconds duration{};
    friend bool operator==(const Ended&, const Ended&) = default;
};
// The command itself could not be executed: no such program, no such folder, no permission. Nothing
// has run.
struct NotStarted {
    std::string reason;
    friend bool operator==(const NotStarted&, const NotStarted&) = default;
};
// How it ended cannot be found out any more: its supervisor was killed, or the machine restarted.
// It may have done all of its work, or none; `evidence` is a sentence for people and models.
struct Lost {
    std::string evidence;
    friend bool operator==(const Lost&, const Lost&) = default;
};
// Every command has exactly one end, and every process that attaches to it learns the same one.
using End = std::variant<Ended, NotStarted, Lost>;
using OnEnd = std::move_only_function<void(End)>;

// Where the two streams of a command that has ended go, as base::ProcessExit has them: into memory
// up to a bound, and beyond it into these files, whose folder exists.
struct Capture {
    std::size_t memory_bytes_max{256 * 1024};
    std::filesystem::path stdout_spill;
    std::filesystem::path stderr_spill;
};
// The streams as they were printed, apart from each other.
struct Captured {
    base::CapturedStream out;
    base::CapturedStream err;
};

// Used on the loop's thread, but for the functions that read or remove files: knows(), known(),
// is_in_use() and forget() block and may be called on any thread. Callbacks come on the loop. When
// a Supervisor goes, its callbacks are dropped and its commands continue.
class Supervisor {
public:
    // A command under supervision. The caller owns the handle; dropping it changes nothing for the
    // command, and its OnEnd still comes.
    class Command {
    public:
        virtual ~Command() = default;
        // `done` gets the number of bytes that the command can now read, or why it never will. It
        // comes once, maybe before write() returns.
        virtual void write(std::string bytes,
                           std::move_only_function<void(base::Result<std::int64_t>)> done) = 0;
        // The command reads the end of its input after what was written. Nothing happens when it is
        // over or takes no input.
        virtual void close_input() = 0;
        // Ends the whole tree: SIGTERM, and SIGKILL after `grace`. A second call can only shorten
        // the time. Returns at once; the end arrives through OnEnd. Nothing happens when it is
        // over.
        virtual void stop(std::chrono::milliseconds grace) = 0;
    };

    virtual ~Supervisor() = default;

    // Starts a command that outlives this process. Fails when not even a supervisor could be
    // started, and then nothing has run and `on_end` is never called; that the command itself could
    // not be started arrives as NotStarted. `on_end` is called once, never before start() returns,
    // unless this object goes first.
    virtual base::Result<std::shared_ptr<Command>> start(Spec spec, OnEnd on_end) = 0;

    // Reattaches to a command that was started earlier, maybe by another process. Never null: a
    // command that nothing is known of is reported as Lost, and one that is over with its end.
    // `on_end` comes as for start().
    virtual std::shared_ptr<Command> attach(const std::string& id, OnEnd on_end) = 0;

    // Was it started on this machine since it last booted, and not forgotten? False also when its
    // state cannot be read. Blocks; any thread.
    virtual bool knows(const std::string& id) = 0;
    // All that are known, those that are over included, at most kLeftoversMax. Blocks; any thread.
    virtual std::vector<std::string> known() = 0;
    // Does a supervisor watch it, or has anything of it changed less than kInUseMax ago, so that
    // another process may be about to start it or to read its end? Blocks; any thread.
    virtual bool is_in_use(const std::string& id) = 0;

    // The output of a command that has ended, stream by stream, read in the background. `done`
    // comes once, maybe before collect() returns; an error means that the log cannot be read, not
    // that the command failed. The log stays.
    virtual void collect(const std::string& id, const std::filesystem::path& log,
                         const Ended& ended, Capture capture,
                         std::move_only_function<void(base::Result<Captured>)> done) = 0;

    // Drops what is kept about a command that has ended, but for its log. From then on knows() is
    // false and attach() reports it as Lost. Nothing happens for an id that is not known. A process
    // that it left without a supervisor is ended. Blocks; any thread.
    virtual void forget(const std::string& id) = 0;
};

}  // namespace supervisor
