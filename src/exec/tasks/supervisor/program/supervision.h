// One command from its start to its end, watched by a process that outlives the runtime.
#pragma once

#include <sys/poll.h>

#include <array>
#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/os/files.h"
#include "base/os/process_tree.h"
#include "exec/tasks/supervisor/wire.h"

namespace supervisor {

// Left to itself, a command goes: its leader ends, the streams drain, what is left of its tree is
// ended, the state is written. A stop ends the tree first and drains then.
class Supervision {
public:
    // `control` is the first connection; others come through the socket in the working directory.
    Supervision(Request request, base::Fd control);
    // Returns when the command has ended and its state is in the working directory.
    void run();

private:
    using Clock = std::chrono::steady_clock;
    enum class Phase { Running, Draining, Ending, Finished };

    struct Connection {
        base::Fd fd;
        FrameReader reader{};
        std::string answers{};
    };

    base::Status start();
    base::Status open_log();
    base::Status open_terminal(std::string& name);
    base::Status listen();
    void watch_signals();

    void poll_once();
    void on_events(const pollfd& events);
    void accept_connection();
    void hear(Connection& connection);
    void obey(Connection& connection, const Frame& frame);
    void answer(Connection& connection);
    std::string take_input(std::string_view bytes);

    void write_input();
    bool read_output(base::Fd& stream, bool is_err);
    void read_to_the_end();
    void keep(std::string_view bytes, bool is_err);
    bool write_segments();

    void on_leader_end(const siginfo_t& info);
    void on_output_end();
    void stop(std::chrono::milliseconds grace);
    void drain();
    void check_drain();
    void sweep();
    void settle(std::size_t running);
    void finish();
    void enter(Phase phase);
    void on_deadline();
    bool streams_open() const { return out_ || err_; }

    void save_end();
    bool write_state();

    Request request_;
    std::list<Connection> connections_;
    base::Fd listener_, signals_, log_;
    base::Fd out_, err_,
        input_;  // With a terminal, `out_` is its master and the two others unused.
    bool input_closing_{false};
    std::string input_pending_;
    std::optional<base::ProcessTree> tree_;
    std::array<char, 64 * 1024> buffer_{};

    Phase phase_{Phase::Running};
    bool leader_ended_{false};
    bool tree_ended_{false};
    std::chrono::milliseconds grace_{0};
    Clock::time_point started_{Clock::now()}, phase_began_{started_}, last_output_{started_};
    std::optional<Clock::time_point> deadline_;

    // What the state file holds.
    std::string start_error_, log_error_;
    std::uint64_t start_time_{0};
    std::optional<int> exit_code_, signal_;
    bool stopped_{false}, forced_{false}, output_cut_off_{false};
    std::uint64_t out_bytes_{0}, err_bytes_{0}, dropped_bytes_{0};
    std::chrono::microseconds duration_{0};
    std::vector<Segment> segments_;  // Those that are not in the file yet; the last may still grow.
    std::uint64_t segments_written_{0};
};

}  // namespace supervisor
