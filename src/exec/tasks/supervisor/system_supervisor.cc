#include "exec/tasks/supervisor/system_supervisor.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <deque>
#include <set>
#include <system_error>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/log/log.h"
#include "base/os/process_tree.h"
#include "base/os/spawn.h"
#include "base/os/stream_capture.h"
#include "exec/tasks/supervisor/embedded.h"
#include "exec/tasks/supervisor/state.h"
#include "exec/tasks/supervisor/wire.h"

namespace supervisor {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;

constexpr std::size_t kReadBytes = 64 * 1024;
// Descriptors that a supervisor inherits are first moved out of the way of their targets.
constexpr int kPassedFdMin = 10;

base::Result<base::Fd> out_of_the_way(base::Fd fd) {
    base::Fd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kPassedFdMin));
    if (!moved) return base::fail_errno("duplicate a descriptor");
    return moved;
}

// In a file, because a socket would make us wait for a reader that is only being loaded.
base::Result<base::Fd> request_file(const Request& request) {
    base::Fd file(::memfd_create("holon-request", MFD_CLOEXEC));
    if (!file || !base::write_all(file.get(), encode(request)))
        return base::fail_errno("hand a request to a supervisor");
    return out_of_the_way(std::move(file));
}

struct Ends {
    base::Fd ours, theirs;
};

base::Result<Ends> connection() {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return base::fail_errno("open a connection to a supervisor");
    Ends ends{base::Fd(fds[0]), base::Fd(fds[1])};
    ends.theirs = TRY(out_of_the_way(std::move(ends.theirs)));
    ::fcntl(ends.ours.get(), F_SETFL, O_NONBLOCK);
    return ends;
}

// Through the folder's descriptor, because the name of a socket may have 107 characters only.
base::Fd dial(const std::filesystem::path& folder) {
    const base::Fd place(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    fmt::format("/proc/self/fd/{}/{}", place.get(), kSocketFile)
        .copy(address.sun_path, sizeof address.sun_path - 1);
    if (place && socket &&
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return socket;
    return {};
}

// A command whose supervisor was killed runs on with nobody to read its output. It is ended, if the
// process is still the one that was started.
void end_orphan(const State& state) {
    const auto pid = static_cast<pid_t>(state.pid);
    if (pid <= 1 || state.boot_id != boot_id()) return;
    if (base::start_time_of(pid) != static_cast<std::uint64_t>(state.start_time)) return;
    ::kill(-pid, SIGKILL);
}

End end_in(const std::filesystem::path& folder) {
    const auto state = read_state(folder);
    if (state && state->status == StateStatus::Running) end_orphan(*state);
    return end_of(state, boot_id());
}

// The list of segments, a part at a time: it may be as long as the command was noisy.
class SegmentFile {
public:
    explicit SegmentFile(const std::filesystem::path& path)
        : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) {}

    // The next ones; none at the end.
    base::Result<std::vector<Segment>> next() {
        std::string bytes(kSegmentsHeld * kSegmentBytes, '\0');
        std::size_t filled = 0;
        while (filled < bytes.size()) {
            const ssize_t got = ::read(file_.get(), bytes.data() + filled, bytes.size() - filled);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return base::fail_errno("read the list of segments");
            if (got == 0) break;
            filled += static_cast<std::size_t>(got);
        }
        return decode_segments(std::string_view(bytes).substr(0, filled));
    }

private:
    base::Fd file_;
};

// Reads `bytes` of the log into one stream.
base::Status read_segment(int log, std::uint64_t bytes, std::string& buffer,
                          base::StreamCapture& stream) {
    while (bytes > 0) {
        const ssize_t got =
            ::read(log, buffer.data(), std::min<std::uint64_t>(bytes, buffer.size()));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return base::fail_errno("read the log of a command");
        if (got == 0)
            return base::fail(base::ErrorCode::Corrupt,
                              "the log of a command is shorter than what was printed");
        stream.add({buffer.data(), static_cast<std::size_t>(got)});
        bytes -= static_cast<std::uint64_t>(got);
    }
    return {};
}

// The log is read once, and each piece goes to the stream it came from.
base::Result<Captured> split(const std::filesystem::path& folder, const std::filesystem::path& log,
                             const Ended& ended, const Capture& capture) {
    base::StreamCapture out(capture.memory_bytes_max, capture.stdout_spill);
    base::StreamCapture err(capture.memory_bytes_max, capture.stderr_spill);
    const base::Fd file(::open(log.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) return base::fail_errno(fmt::format("open {}", log.string()));
    std::string buffer(kReadBytes, '\0');
    if (ended.stdout_bytes == 0 || ended.stderr_bytes == 0) {
        auto& only = ended.stdout_bytes == 0 ? err : out;
        TRY(read_segment(file.get(), ended.stdout_bytes + ended.stderr_bytes, buffer, only));
        return Captured{out.finish(), err.finish()};
    }
    SegmentFile list(folder / kSegmentsFile);
    for (auto part = TRY(list.next()); !part.empty(); part = TRY(list.next()))
        for (const auto& segment : part)
            TRY(read_segment(file.get(), segment.bytes, buffer, segment.is_err ? err : out));
    return Captured{out.finish(), err.finish()};
}

}  // namespace

struct SystemSupervisor::State {
    base::AsioLoop& loop;
    std::filesystem::path folder;
    std::set<std::shared_ptr<Line>> lines{};
    // Ended supervisors are reaped when the loop hears of it.
    std::set<std::shared_ptr<Descriptor>> children{};
    std::array<char, kReadBytes> buffer{};
};

// The connection to one supervisor. Its end is the end of the command.
class SystemSupervisor::Line final : public Command, public std::enable_shared_from_this<Line> {
public:
    Line(std::shared_ptr<State> state, std::filesystem::path folder, OnEnd on_end)
        : state_(std::move(state)), folder_(std::move(folder)), on_end_(std::move(on_end)) {}

    base::Status open(base::Fd socket) {
        boost::system::error_code error;
        socket_.emplace(state_->loop.context());
        socket_->assign(socket.get(), error);
        if (error) {
            socket_.reset();
            return base::fail(base::ErrorCode::Unavailable, "watch a supervisor: {}",
                              error.message());
        }
        socket.release();
        state_->lines.insert(shared_from_this());
        await();
        return {};
    }

    // No supervisor answers: the state file has the end.
    void end_soon() {
        state_->lines.insert(shared_from_this());
        state_->loop.post([self = shared_from_this()] { self->end(); });
    }

    void hang_up() {
        socket_.reset();
        on_end_ = nullptr;
        answers_.clear();
    }

    void write(std::string bytes,
               std::move_only_function<void(base::Result<std::int64_t>)> done) override {
        if (!socket_) return done(base::fail(base::ErrorCode::Conflict, "the command has ended"));
        answers_.push_back(std::move(done));
        send({FrameKind::Input, std::move(bytes)});
    }
    void close_input() override { send({FrameKind::CloseInput, ""}); }
    void stop(std::chrono::milliseconds grace) override {
        send({FrameKind::Stop, std::to_string(grace.count())});
    }

private:
    void send(const Frame& frame) {
        if (!socket_) return;
        const bool idle = pending_.empty();
        pending_ += encode(frame);
        if (idle) flush();
    }

    void flush() {
        const ssize_t sent = ::send(socket_->native_handle(), pending_.data(), pending_.size(),
                                    MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) pending_.erase(0, static_cast<std::size_t>(sent));
        if (pending_.empty() || (sent < 0 && errno != EAGAIN)) return;  // The read side hears it.
        socket_->async_wait(Descriptor::wait_write,
                            [self = shared_from_this()](const boost::system::error_code& error) {
                                if (!error && self->socket_) self->flush();
                            });
    }

    void await() {
        socket_->async_wait(Descriptor::wait_read,
                            [self = shared_from_this()](const boost::system::error_code& error) {
                                if (!error && self->socket_) self->hear();
                            });
    }

    void hear() {
        auto& buffer = state_->buffer;
        const ssize_t got = ::read(socket_->native_handle(), buffer.data(), buffer.size());
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return await();
        if (got <= 0) return end();
        reader_.add({buffer.data(), static_cast<std::size_t>(got)});
        while (true) {
            const auto frame = reader_.next();
            if (!frame) return end();
            if (!*frame) break;
            take(**frame);
        }
        if (socket_) await();
    }

    void take(const Frame& frame) {
        if (answers_.empty()) return;
        auto done = std::move(answers_.front());
        answers_.pop_front();
        if (frame.kind == FrameKind::Refused)
            return done(base::fail(base::ErrorCode::Refused, "{}", frame.payload));
        std::int64_t bytes = 0;
        std::from_chars(frame.payload.data(), frame.payload.data() + frame.payload.size(), bytes);
        done(bytes);
    }

    // The state file is read in the background.
    void end() {
        const auto self = shared_from_this();
        socket_.reset();
        for (auto& done : std::exchange(answers_, {}))
            done(base::fail(base::ErrorCode::Conflict, "the command ended first"));
        auto end = std::make_shared<End>();
        state_->loop.offload([end, folder = folder_] { *end = end_in(folder); },
                             [self, end] { self->report(std::move(*end)); });
    }

    void report(End end) {
        state_->lines.erase(shared_from_this());
        // Moved out, since the callee may drop the supervisor and this handle.
        if (auto on_end = std::move(on_end_)) on_end(std::move(end));
    }

    std::shared_ptr<State> state_;
    std::filesystem::path folder_;
    OnEnd on_end_;
    std::optional<Descriptor> socket_;
    FrameReader reader_;
    std::string pending_;
    std::deque<std::move_only_function<void(base::Result<std::int64_t>)>> answers_;
};

SystemSupervisor::SystemSupervisor(base::AsioLoop& loop, std::filesystem::path folder)
    : state_(std::make_shared<State>(State{loop, std::move(folder)})) {}

SystemSupervisor::~SystemSupervisor() {
    for (const auto& line : std::exchange(state_->lines, {})) line->hang_up();
    state_->children.clear();
}

base::Result<std::shared_ptr<Supervisor::Command>> SystemSupervisor::start(Spec spec,
                                                                           OnEnd on_end) {
    const auto folder = state_->folder / spec.id;
    TRY(base::make_folders(folder, 0700));
    const std::string program = TRY(program_path());
    Ends ends = TRY(connection());
    const base::Fd request =
        TRY(request_file({.boot_id = boot_id(),
                          .process = {.argv = std::move(spec.argv),
                                      .cwd = std::move(spec.cwd),
                                      .environment = std::move(spec.environment),
                                      .files = spec.files},
                          .tty = spec.tty,
                          .accepts_input = spec.accepts_input,
                          .log = std::move(spec.log),
                          .log_bytes_max = spec.log_bytes_max}));
    const base::ProcessSpec process{
        .argv = {"holon-supervisor", spec.id}, .cwd = folder, .files = std::move(spec.files)};
    auto child = base::start_apart([&](pid_t& pid) {
        return base::spawn(
            program, process,
            {.passed = {request.get(), ends.theirs.get()}, .program_closes_rest = true}, pid);
    });
    if (!child) return base::spawn_failure(child.error(), "holon-supervisor");
    watch_child(std::move(*child));
    auto line = std::make_shared<Line>(state_, folder, std::move(on_end));
    TRY(line->open(std::move(ends.ours)));
    return line;
}

std::shared_ptr<Supervisor::Command> SystemSupervisor::attach(const std::string& id, OnEnd on_end) {
    const auto folder = state_->folder / id;
    auto line = std::make_shared<Line>(state_, folder, std::move(on_end));
    base::Fd socket = dial(folder);
    if (!socket || !line->open(std::move(socket))) line->end_soon();
    return line;
}

void SystemSupervisor::watch_child(base::Fd pidfd) {
    // The loop gets a descriptor of its own, since it closes what it watches.
    base::Fd watched(::fcntl(pidfd.get(), F_DUPFD_CLOEXEC, 0));
    auto child = std::make_shared<Descriptor>(state_->loop.context());
    boost::system::error_code error;
    child->assign(watched.get(), error);
    if (error) {
        // It stays a zombie until we end; nothing else depends on it.
        base::log_warn("a supervisor cannot be watched: {}", error.message());
        return;
    }
    watched.release();
    state_->children.insert(child);
    child->async_wait(Descriptor::wait_read, [state = std::weak_ptr(state_), child,
                                              pidfd = std::make_shared<base::Fd>(std::move(pidfd))](
                                                 const boost::system::error_code& failed) {
        if (failed) return;
        base::reap_apart(*pidfd);
        if (const auto alive = state.lock()) alive->children.erase(child);
    });
}

bool SystemSupervisor::knows(const std::string& id) {
    const auto state = read_state(state_->folder / id);
    return state && state->boot_id == boot_id();
}

std::vector<std::string> SystemSupervisor::known() {
    std::vector<std::string> ids;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(state_->folder, failed)) {
        if (ids.size() == kLeftoversMax) break;
        ids.push_back(entry.path().filename().string());
    }
    return ids;
}

bool SystemSupervisor::is_in_use(const std::string& id) {
    const auto folder = state_->folder / id;
    const auto state = read_state(folder);
    if (state && state->status == StateStatus::Running && dial(folder)) return true;
    // Every file in it is made or replaced, which changes the folder.
    std::error_code failed;
    const auto changed = std::filesystem::last_write_time(folder, failed);
    return !failed && std::filesystem::file_time_type::clock::now() - changed < kInUseMax;
}

void SystemSupervisor::collect(const std::string& id, const std::filesystem::path& log,
                               const Ended& ended, Capture capture,
                               std::move_only_function<void(base::Result<Captured>)> done) {
    auto captured = std::make_shared<base::Result<Captured>>();
    state_->loop.offload(
        [captured, folder = state_->folder / id, log, ended, capture = std::move(capture)] {
            *captured = split(folder, log, ended, capture);
        },
        [captured, done = std::move(done)]() mutable { done(std::move(*captured)); });
}

void SystemSupervisor::forget(const std::string& id) {
    const auto folder = state_->folder / id;
    if (const auto state = read_state(folder);
        state && state->status == StateStatus::Running && !dial(folder))
        end_orphan(*state);
    std::error_code failed;
    std::filesystem::remove_all(folder, failed);
    if (failed)
        base::log_warn("the folder of command {} could not be removed: {}", id, failed.message());
}

}  // namespace supervisor
