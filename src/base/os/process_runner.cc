#include "base/os/process_runner.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/os/files.h"
#include "base/os/process_tree.h"
#include "base/os/spawn.h"
#include "base/os/stream_capture.h"

namespace base {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;
// Durations of real processes; the seam for tests is ProcessRunner itself.
using Steady = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = 64 * 1024;

// How often an ending command is checked. The kernel does not report the end of an orphan.
constexpr std::chrono::milliseconds kSweepInterval{10};

// Enough reads to empty the largest pipe that a command without privileges can make (1 MiB).
constexpr int kReadsLast = 32;

// How long the runner's destructor waits for one killed command: 100 times 5 ms.
constexpr int kAbandonRounds = 100;
constexpr int kAbandonWaitMs = 5;

struct Stream {
    std::optional<Descriptor> pipe;  // Empty once it has ended or was cut off.
    StreamCapture capture;
};

// The loop takes over our end of the pipe.
Result<Stream> make_stream(AsioLoop& loop, Fd& read, std::size_t memory_bytes_max,
                           const std::filesystem::path& spill) {
    Stream stream{Descriptor(loop.context()), StreamCapture(memory_bytes_max, spill)};
    boost::system::error_code error;
    stream.pipe->assign(read.get(), error);
    if (error) return no_resource("watch a pipe", error.message());
    read.release();
    return stream;
}

}  // namespace

// One command from its start to its exit. In the normal case the leader ends, the streams drain,
// the remaining processes are ended, and the exit is reported. Timeout and cancel() end the tree
// first, and drain then.
class SystemProcessRunner::Command final : public Handle,
                                           public std::enable_shared_from_this<Command> {
public:
    Command(State& runner, ProcessTree tree, Stream out, Stream err,
            std::move_only_function<void(ProcessExit)> on_exit);

    Status begin(std::chrono::milliseconds timeout);
    void cancel() override;
    // Kills without waiting, then waits a moment: the two halves of the runner's destructor.
    void abandon();
    void await_death();

private:
    enum class Phase { Running, Draining, Ending, Finished };

    void await_leader();
    void await_output(Stream& stream);
    bool read(Stream& stream);
    void read_to_the_end(Stream& stream);
    void on_output_end();
    void on_leader_end(const siginfo_t& info);
    void time_out();
    void drain();
    void check_drain();
    void end_tree();
    void sweep();
    void settle(std::size_t running);
    void finish();
    void enter(Phase phase);
    void close_streams();
    bool streams_open() const { return out_.pipe || err_.pipe; }
    void set_timer(std::chrono::nanoseconds delay, void (Command::*step)());

    State& runner_;  // Not touched once Finished: a handle may outlive the runner.
    ProcessTree tree_;
    Stream out_, err_;
    std::move_only_function<void(ProcessExit)> on_exit_;

    Phase phase_{Phase::Running};
    bool leader_ended_{false};
    bool tree_ended_{false};
    const Steady::time_point started_{Steady::now()};
    Steady::time_point phase_began_{started_};
    Steady::time_point last_output_{started_};
    std::optional<Descriptor> leader_;
    Loop::TimerHandle timer_{};  // The phase's own: the timeout, the end of draining, a sweep.
    ProcessExit exit_;
};

struct SystemProcessRunner::State {
    AsioLoop& loop;
    std::set<std::shared_ptr<Command>> running{};
    // Shared by all reads: they happen on the loop, and a buffer each would be most of our memory.
    std::array<char, kReadBytes> buffer{};
};

SystemProcessRunner::Command::Command(State& runner, ProcessTree tree, Stream out, Stream err,
                                      std::move_only_function<void(ProcessExit)> on_exit)
    : runner_(runner),
      tree_(std::move(tree)),
      out_(std::move(out)),
      err_(std::move(err)),
      on_exit_(std::move(on_exit)) {}

Status SystemProcessRunner::Command::begin(std::chrono::milliseconds timeout) {
    boost::system::error_code error;
    leader_.emplace(runner_.loop.context());
    leader_->assign(tree_.leader_fd(), error);
    if (error) {
        leader_.reset();
        abandon();
        await_death();
        return no_resource("watch a process", error.message());
    }
    await_leader();
    await_output(out_);
    await_output(err_);
    if (timeout.count() > 0) set_timer(timeout, &Command::time_out);
    return {};
}

void SystemProcessRunner::Command::await_leader() {
    leader_->async_wait(Descriptor::wait_read,
                        [self = shared_from_this()](const boost::system::error_code& error) {
                            if (error || self->phase_ == Phase::Finished) return;
                            siginfo_t info{};
                            if (self->tree_.leader_ended(info)) return self->on_leader_end(info);
                            self->await_leader();
                        });
}

// One read a turn of the loop, so that a command which never stops writing cannot starve others.
void SystemProcessRunner::Command::await_output(Stream& stream) {
    stream.pipe->async_wait(Descriptor::wait_read, [self = shared_from_this(), &stream](
                                                       const boost::system::error_code& error) {
        if (error || !stream.pipe) return;
        self->read(stream);
        if (stream.pipe) return self->await_output(stream);
        self->on_output_end();
    });
}

// False when nothing is there now, or nothing will ever be: then the pipe is closed.
bool SystemProcessRunner::Command::read(Stream& stream) {
    auto& buffer = runner_.buffer;
    const ssize_t got = ::read(stream.pipe->native_handle(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
        stream.pipe.reset();
        return false;
    }
    stream.capture.add({buffer.data(), static_cast<std::size_t>(got)});
    last_output_ = Steady::now();
    return true;
}

void SystemProcessRunner::Command::read_to_the_end(Stream& stream) {
    for (int reads = 0; stream.pipe && reads < kReadsLast; ++reads)
        if (!read(stream)) return;
}

void SystemProcessRunner::Command::on_output_end() {
    if (phase_ != Phase::Draining || streams_open()) return;
    tree_ended_ ? finish() : end_tree();
}

void SystemProcessRunner::Command::on_leader_end(const siginfo_t& info) {
    leader_ended_ = true;
    exit_.duration =
        std::chrono::duration_cast<std::chrono::microseconds>(Steady::now() - started_);
    (info.si_code == CLD_EXITED ? exit_.exit_code : exit_.signal) = info.si_status;
    phase_ == Phase::Ending ? sweep() : drain();
}

void SystemProcessRunner::Command::time_out() {
    exit_.timed_out = true;
    end_tree();
}

void SystemProcessRunner::Command::cancel() {
    if (phase_ == Phase::Ending || phase_ == Phase::Finished || tree_ended_) return;
    exit_.cancelled = true;
    end_tree();
}

void SystemProcessRunner::Command::drain() {
    enter(Phase::Draining);
    last_output_ = phase_began_;
    if (!streams_open()) return on_output_end();
    set_timer(kDrainGrace, &Command::check_drain);
}

void SystemProcessRunner::Command::check_drain() {
    const auto end = std::min(last_output_ + kDrainGrace, phase_began_ + kDrainMax);
    if (Steady::now() < end) return set_timer(end - Steady::now(), &Command::check_drain);
    // A busy loop may get here before it gets to output that has long been waiting.
    read_to_the_end(out_);
    read_to_the_end(err_);
    exit_.output_cut_off = streams_open();
    close_streams();
    on_output_end();
}

void SystemProcessRunner::Command::end_tree() {
    enter(Phase::Ending);
    settle(tree_.signal(SIGTERM));
}

void SystemProcessRunner::Command::sweep() {
    const bool forced = Steady::now() - phase_began_ >= kTermGrace;
    settle(tree_.signal(forced ? SIGKILL : 0));
}

void SystemProcessRunner::Command::settle(std::size_t running) {
    const bool given_up = Steady::now() - phase_began_ >= kTermGrace + kKillMax;
    if (!given_up && (running > 0 || !leader_ended_))
        return set_timer(kSweepInterval, &Command::sweep);
    tree_ended_ = true;
    drain();
}

void SystemProcessRunner::Command::finish() {
    const auto self = shared_from_this();
    enter(Phase::Finished);
    leader_->release();  // The tree closes it.
    leader_.reset();
    tree_.release();
    exit_.out = out_.capture.finish();
    exit_.err = err_.capture.finish();
    runner_.running.erase(self);
    // Moved out, since the callee may drop the runner and the handle.
    auto on_exit = std::move(on_exit_);
    on_exit(std::move(exit_));
}

void SystemProcessRunner::Command::abandon() {
    enter(Phase::Finished);
    close_streams();
    if (leader_) leader_->release();
    leader_.reset();
    tree_.signal(SIGKILL);
}

void SystemProcessRunner::Command::await_death() {
    for (int round = 0; round < kAbandonRounds; ++round) {
        siginfo_t info{};
        const bool ended = tree_.leader_ended(info);
        if (tree_.signal(SIGKILL) == 0 && ended) break;
        // The kernel reports the end of the leader only, so that is what we wait for.
        pollfd leader{.fd = tree_.leader_fd(), .events = POLLIN, .revents = 0};
        ::poll(&leader, ended ? 0 : 1, kAbandonWaitMs);
    }
    tree_.release();
    on_exit_ = nullptr;
}

void SystemProcessRunner::Command::enter(Phase phase) {
    runner_.loop.cancel(std::exchange(timer_, Loop::TimerHandle::None));
    phase_ = phase;
    phase_began_ = Steady::now();
}

void SystemProcessRunner::Command::close_streams() {
    out_.pipe.reset();
    err_.pipe.reset();
}

void SystemProcessRunner::Command::set_timer(std::chrono::nanoseconds delay,
                                             void (Command::*step)()) {
    runner_.loop.cancel(timer_);
    timer_ = runner_.loop.after(std::chrono::ceil<std::chrono::microseconds>(delay),
                                [self = shared_from_this(), step] { (self.get()->*step)(); });
}

SystemProcessRunner::SystemProcessRunner(AsioLoop& loop) : state_(new State{loop}) {}

SystemProcessRunner::~SystemProcessRunner() {
    for (const auto& command : state_->running) command->abandon();
    for (const auto& command : state_->running) command->await_death();
}

Result<std::shared_ptr<ProcessRunner::Handle>> SystemProcessRunner::start(
    ProcessSpec spec, std::move_only_function<void(ProcessExit)> on_exit) {
    const std::string program = TRY(find_program(spec));
    Pipe out = TRY(make_pipe()), err = TRY(make_pipe());
    auto out_stream =
        TRY(make_stream(state_->loop, out.read, spec.memory_bytes_max, spec.stdout_spill));
    auto err_stream =
        TRY(make_stream(state_->loop, err.read, spec.memory_bytes_max, spec.stderr_spill));
    auto tree = ProcessTree::grow([&](pid_t& pid) {
        return spawn(program, spec,
                     {.in = spec.input ? spec.input->get() : -1,
                      .out = out.write.get(),
                      .err = err.write.get()},
                     pid);
    });
    if (!tree) return spawn_failure(tree.error(), spec.argv[0]);
    auto command = std::make_shared<Command>(*state_, std::move(*tree), std::move(out_stream),
                                             std::move(err_stream), std::move(on_exit));
    TRY(command->begin(spec.timeout));
    state_->running.insert(command);
    return command;
}

}  // namespace base
