// The seam to supervised commands: processes that go on when this program ends or is killed, and
// that a later one finds again with all their output and their exit status.
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
// Commands that were left behind by earlier processes and are looked at together.
inline constexpr std::size_t kLeftoversMax = 4096;

struct Spec {
    std::string id;  // A plain file name, unique for ever.
    std::vector<std::string> argv;
    std::filesystem::path cwd;
    std::vector<std::pair<std::string, std::string>> environment;  // The whole of it.
    bool tty{false};            // Both streams are then one, and come out as standard output.
    bool accepts_input{false};  // Otherwise standard input is empty.
    std::filesystem::path log;  // Gets both streams as they come; its folder exists.
    std::uint64_t log_bytes_max{kLogBytesMax};
};

// It ran and is over, and so is everything it had started.
struct Ended {
    std::optional<int> exit_code{};
    std::optional<int> signal{};
    bool stopped{false};         // By stop(), and not by itself.
    bool forced{false};          // Something of it had to be killed.
    bool output_cut_off{false};  // A process it left behind still held the streams.
    std::uint64_t stdout_bytes{0};
    std::uint64_t stderr_bytes{0};
    std::uint64_t dropped_bytes{0};  // Printed beyond the bound, or after the disk was full.
    std::string log_error{};
    std::chrono::microseconds duration{};
    friend bool operator==(const Ended&, const Ended&) = default;
};
struct NotStarted {
    std::string reason;
    friend bool operator==(const NotStarted&, const NotStarted&) = default;
};
// How it ended, nobody can tell any more: its supervisor was killed, or the machine restarted.
struct Lost {
    std::string evidence;
    friend bool operator==(const Lost&, const Lost&) = default;
};
using End = std::variant<Ended, NotStarted, Lost>;
using OnEnd = std::move_only_function<void(End)>;

// Both streams of a command that has ended, as base::ProcessExit has them.
struct Capture {
    std::size_t memory_bytes_max{256 * 1024};
    std::filesystem::path stdout_spill;
    std::filesystem::path stderr_spill;
};
struct Captured {
    base::CapturedStream out;
    base::CapturedStream err;
};

// Used on the loop's thread only; callbacks come there.
class Supervisor {
public:
    // A command under supervision. Dropping the handle changes nothing for the command.
    class Command {
    public:
        virtual ~Command() = default;
        // `done` gets the number of bytes that the command can now read, or why it never will.
        virtual void write(std::string bytes,
                           std::move_only_function<void(base::Result<std::int64_t>)> done) = 0;
        virtual void close_input() = 0;
        // Ends the whole tree: SIGTERM, and SIGKILL after `grace`. A second call can only shorten
        // the time. The end still arrives.
        virtual void stop(std::chrono::milliseconds grace) = 0;
    };

    virtual ~Supervisor() = default;

    // Fails when not even a supervisor could be started; that the command could not be, arrives as
    // NotStarted. `on_end` is called once, never before start() returns, unless this object goes
    // first.
    virtual base::Result<std::shared_ptr<Command>> start(Spec spec, OnEnd on_end) = 0;

    // Takes up a command that was started earlier, maybe by another process. One that nothing is
    // known of is Lost.
    virtual std::shared_ptr<Command> attach(const std::string& id, OnEnd on_end) = 0;

    // Was it started on this machine since it last booted, and not forgotten?
    virtual bool knows(const std::string& id) = 0;
    // All that are known, at most kLeftoversMax.
    virtual std::vector<std::string> known() = 0;

    // The output of a command that has ended, stream by stream.
    virtual void collect(const std::string& id, const std::filesystem::path& log,
                         const Ended& ended, Capture capture,
                         std::move_only_function<void(base::Result<Captured>)> done) = 0;

    // Drops what is kept about a command that has ended, but for its log.
    virtual void forget(const std::string& id) = 0;
};

}  // namespace supervisor
