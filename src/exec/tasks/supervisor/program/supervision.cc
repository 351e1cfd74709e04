#include "exec/tasks/supervisor/program/supervision.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/os/spawn.h"

namespace supervisor {
namespace {

using namespace std::chrono_literals;

// How long after its leader a command may still send output when another process of it holds the
// streams: this long after the leader or the last output, and never longer than the maximum.
constexpr std::chrono::milliseconds kDrainGrace{250};
constexpr std::chrono::milliseconds kDrainMax{2000};
// What a command leaves behind gets this long between SIGTERM and SIGKILL.
constexpr std::chrono::milliseconds kLeftoverGrace{500};
// A process that survives SIGKILL this long (stuck in the kernel) is given up.
constexpr std::chrono::milliseconds kKillMax{2000};
// How often an ending command is checked. Nothing announces the end of an orphan.
constexpr std::chrono::milliseconds kSweepInterval{10};
// When somebody asks this process itself to end, the command gets as long as a machine that shuts
// down is likely to give.
constexpr std::chrono::milliseconds kSignalGrace{2000};
// Enough reads to empty the largest pipe that a command without privileges can make (1 MiB).
constexpr int kReadsLast = 32;
// Pauses between attempts to write the end of the command.
constexpr std::chrono::milliseconds kSaveRetryFirst{50};
constexpr std::chrono::milliseconds kSaveRetryMax{5000};
constexpr std::size_t kConnectionsMax = 8;
constexpr std::size_t kAnswerBytesMax = 64 * 1024;
constexpr winsize kTerminalSize{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
constexpr std::string_view kEndOfInput = "\x04";  // What Ctrl-D sends.
constexpr std::string_view kDroppedNote = "\n[the output beyond this point was not kept]\n";

void set_nonblocking(int fd) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) < 0x20)
            out += fmt::format("\\u{:04x}", static_cast<int>(c));
        else
            out += c;
    }
    return out + '"';
}

std::string number_or_null(const std::optional<int>& number) {
    return number ? std::to_string(*number) : "null";
}

}  // namespace

Supervision::Supervision(Request request, base::Fd control) : request_(std::move(request)) {
    set_nonblocking(control.get());
    connections_.push_back({.fd = std::move(control)});
}

void Supervision::run() {
    if (const auto started = start(); !started) {
        start_error_ = started.error().message;
        phase_ = Phase::Finished;
    }
    if (phase_ != Phase::Finished) write_state();
    while (phase_ != Phase::Finished) poll_once();
    save_end();
}

// The end is known nowhere else: while it cannot be written (the disk is full), this process keeps
// it, and its connections stay open. It gives up when its folder is removed or it is asked to end.
void Supervision::save_end() {
    for (auto pause = kSaveRetryFirst; !write_state(); pause = std::min(pause * 2, kSaveRetryMax)) {
        struct stat folder{};
        if (::stat(".", &folder) != 0 || folder.st_nlink == 0) return;
        pollfd asked{.fd = signals_.get(), .events = POLLIN, .revents = 0};
        if (::poll(&asked, 1, static_cast<int>(pause.count())) > 0) return;
    }
}

base::Status Supervision::start() {
    watch_signals();
    TRY(listen());
    const std::string program = TRY(base::find_program(request_.process));
    TRY(open_log());
    base::Streams streams;
    base::Pipe out, err, in;
    if (request_.tty) {
        TRY(open_terminal(streams.terminal));
    } else {
        out = TRY(base::make_pipe());
        err = TRY(base::make_pipe());
        streams.out = out.write.get();
        streams.err = err.write.get();
        if (request_.accepts_input) {
            in = TRY(base::make_pipe(base::OurEnd::Write));
            streams.in = in.read.get();
        }
        out_ = std::move(out.read);
        err_ = std::move(err.read);
        input_ = std::move(in.write);
    }
    // A process that finds this command later must know that it may have begun.
    write_state();
    auto tree = base::ProcessTree::grow(
        [&](pid_t& pid) { return base::spawn(program, request_.process, streams, pid); });
    if (!tree) return base::spawn_failure(tree.error(), request_.process.argv[0]);
    request_.process.files.clear();
    tree_.emplace(std::move(*tree));
    start_time_ = base::start_time_of(tree_->leader());
    return {};
}

base::Status Supervision::open_log() {
    log_.reset(::open(request_.log.c_str(),
                      O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!log_) return base::fail_errno(fmt::format("create {}", request_.log.string()));
    return {};
}

base::Status Supervision::open_terminal(std::string& name) {
    out_.reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
    char path[64];
    if (!out_ || ::grantpt(out_.get()) != 0 || ::unlockpt(out_.get()) != 0 ||
        ::ptsname_r(out_.get(), path, sizeof path) != 0)
        return base::fail_errno("open a terminal");
    ::ioctl(out_.get(), TIOCSWINSZ, &kTerminalSize);
    name = path;
    return {};
}

// Relative to the working directory, because the name of a socket may have 107 characters only.
base::Status Supervision::listen() {
    listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    kSocketFile.copy(address.sun_path, sizeof address.sun_path - 1);
    const mode_t inherited = ::umask(0177);
    const bool is_bound =
        listener_ &&
        ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::umask(inherited);  // The command's own.
    if (!is_bound || ::listen(listener_.get(), kConnectionsMax) != 0)
        return base::fail_errno("open the control socket");
    return {};
}

void Supervision::watch_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&set, signal);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

void Supervision::poll_once() {
    std::vector<pollfd> watched;
    const auto watch = [&](const base::Fd& fd, short events) {
        if (fd && events != 0) watched.push_back({.fd = fd.get(), .events = events, .revents = 0});
    };
    const bool has_input = !input_pending_.empty();
    watch(listener_, connections_.size() < kConnectionsMax ? POLLIN : 0);
    watch(signals_, POLLIN);
    watch(out_, static_cast<short>(POLLIN | (request_.tty && has_input ? POLLOUT : 0)));
    watch(err_, POLLIN);
    watch(input_, has_input ? POLLOUT : 0);
    for (const auto& connection : connections_)
        watch(connection.fd,
              static_cast<short>(POLLIN | (connection.answers.empty() ? 0 : POLLOUT)));
    // Last, so that output which came before the end is read before it.
    if (!leader_ended_)
        watched.push_back({.fd = tree_->leader_fd(), .events = POLLIN, .revents = 0});
    int wait_ms = -1;
    if (deadline_)
        wait_ms = static_cast<int>(std::max<std::int64_t>(
            0, std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now()).count()));
    if (::poll(watched.data(), watched.size(), wait_ms) < 0 && errno != EINTR) std::abort();
    for (const auto& events : watched)
        if (events.revents != 0 && phase_ != Phase::Finished) on_events(events);
    std::erase_if(connections_, [](const Connection& connection) { return !connection.fd; });
    if (phase_ != Phase::Finished && deadline_ && Clock::now() >= *deadline_) on_deadline();
}

void Supervision::on_events(const pollfd& events) {
    if (events.fd == listener_.get()) return accept_connection();
    if (events.fd == signals_.get()) {
        signalfd_siginfo info;
        if (::read(signals_.get(), &info, sizeof info) == sizeof info) stop(kSignalGrace);
        return;
    }
    if (!leader_ended_ && events.fd == tree_->leader_fd()) {
        siginfo_t info{};
        if (tree_->leader_ended(info)) on_leader_end(info);
        return;
    }
    if (events.fd == input_.get()) return write_input();
    if (events.fd == out_.get() || events.fd == err_.get()) {
        const bool is_err = events.fd == err_.get();
        if ((events.revents & POLLOUT) != 0) write_input();
        if ((events.revents & ~POLLOUT) == 0) return;
        read_output(is_err ? err_ : out_, is_err);
        return on_output_end();
    }
    for (auto& connection : connections_) {
        if (events.fd != connection.fd.get()) continue;
        if ((events.revents & POLLOUT) != 0) answer(connection);
        if ((events.revents & ~POLLOUT) != 0) hear(connection);
        return;
    }
}

void Supervision::accept_connection() {
    base::Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) connections_.push_back({.fd = std::move(fd)});
}

void Supervision::hear(Connection& connection) {
    const ssize_t got = ::read(connection.fd.get(), buffer_.data(), buffer_.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    // The runtime is gone, or no longer interested. The command continues.
    if (got <= 0) return connection.fd.reset();
    connection.reader.add({buffer_.data(), static_cast<std::size_t>(got)});
    while (connection.fd && phase_ != Phase::Finished) {
        const auto frame = connection.reader.next();
        if (!frame) return connection.fd.reset();
        if (!*frame) return;
        obey(connection, **frame);
    }
}

void Supervision::obey(Connection& connection, const Frame& frame) {
    switch (frame.kind) {
        case FrameKind::Input:
            connection.answers += take_input(frame.payload);
            return answer(connection);
        case FrameKind::CloseInput:
            if (request_.tty) {
                take_input(kEndOfInput);
            } else {
                input_closing_ = true;
                write_input();
            }
            return;
        case FrameKind::Stop: {
            std::int64_t grace_ms = 0;
            std::from_chars(frame.payload.data(), frame.payload.data() + frame.payload.size(),
                            grace_ms);
            return stop(std::chrono::milliseconds(grace_ms));
        }
        case FrameKind::Accepted:
        case FrameKind::Refused:
            return connection.fd.reset();  // Those are our words.
    }
}

void Supervision::answer(Connection& connection) {
    const ssize_t sent = ::send(connection.fd.get(), connection.answers.data(),
                                connection.answers.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) connection.answers.erase(0, static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EAGAIN && errno != EINTR) connection.fd.reset();
    // A peer that asks and does not listen.
    if (connection.answers.size() > kAnswerBytesMax) connection.fd.reset();
}

std::string Supervision::take_input(std::string_view bytes) {
    const auto refuse = [](std::string why) {
        return encode(Frame{FrameKind::Refused, std::move(why)});
    };
    const bool is_open = request_.tty ? static_cast<bool>(out_) : input_ && !input_closing_;
    if (!request_.accepts_input) return refuse("it was started without accepts_input");
    if (!is_open || leader_ended_) return refuse("its input is closed");
    if (bytes.size() > kInputBytesMax - input_pending_.size())
        return refuse(
            fmt::format("{} bytes of earlier input are still unread", input_pending_.size()));
    input_pending_ += bytes;
    write_input();
    return encode(Frame{FrameKind::Accepted, std::to_string(bytes.size())});
}

void Supervision::write_input() {
    base::Fd& to = request_.tty ? out_ : input_;
    while (to && !input_pending_.empty()) {
        const ssize_t wrote = ::write(to.get(), input_pending_.data(), input_pending_.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0 && errno == EAGAIN) return;
        if (wrote > 0) {
            input_pending_.erase(0, static_cast<std::size_t>(wrote));
            continue;
        }
        input_pending_.clear();  // Nobody reads it any more.
        if (!request_.tty) input_.reset();
    }
    if (input_closing_) input_.reset();
}

// False when nothing is there now, or nothing will ever be: then the stream is closed.
bool Supervision::read_output(base::Fd& stream, bool is_err) {
    const ssize_t got = ::read(stream.get(), buffer_.data(), buffer_.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {  // A terminal that nobody holds any more says EIO.
        stream.reset();
        return false;
    }
    keep({buffer_.data(), static_cast<std::size_t>(got)}, is_err);
    last_output_ = Clock::now();
    return true;
}

void Supervision::read_to_the_end() {
    for (auto* stream : {&out_, &err_})
        for (int reads = 0; *stream && reads < kReadsLast; ++reads)
            if (!read_output(*stream, stream == &err_)) break;
}

void Supervision::keep(std::string_view bytes, bool is_err) {
    const std::uint64_t kept = out_bytes_ + err_bytes_;
    const bool is_next = segments_.empty() || segments_.back().is_err != is_err;
    const bool is_full = is_next && segments_written_ + segments_.size() >= kSegmentsMax;
    const std::uint64_t bound = is_full ? kept : request_.log_bytes_max;
    const std::size_t room = static_cast<std::size_t>(
        std::min<std::uint64_t>(bound - std::min(kept, bound), bytes.size()));
    const std::string_view fits = log_ ? bytes.substr(0, room) : std::string_view();
    if (!fits.empty() && !base::write_all(log_.get(), fits)) {
        log_error_ =
            base::fail_errno(fmt::format("write {}", request_.log.string())).error().message;
        log_.reset();
        dropped_bytes_ += bytes.size();
        return;
    }
    if (fits.size() < bytes.size() && dropped_bytes_ == 0 && log_)
        base::write_all(log_.get(), kDroppedNote);
    dropped_bytes_ += bytes.size() - fits.size();
    (is_err ? err_bytes_ : out_bytes_) += fits.size();
    if (fits.empty()) return;
    if (is_next && segments_.size() >= kSegmentsHeld) {
        if (!write_segments())
            log_error_ = base::fail_errno("write the list of segments").error().message;
        segments_written_ += segments_.size();
        segments_.clear();
    }
    if (is_next) segments_.push_back({.is_err = is_err});
    segments_.back().bytes += fits.size();
}

// On failure the file is as it was before, and errno says why.
bool Supervision::write_segments() {
    const int start = segments_written_ == 0 ? O_TRUNC : O_APPEND;
    const base::Fd file(
        ::open(std::string(kSegmentsFile).c_str(), O_WRONLY | O_CREAT | start | O_CLOEXEC, 0600));
    if (!file) return false;
    if (base::write_all(file.get(), encode(segments_))) return true;
    const int why = errno;
    if (::ftruncate(file.get(), static_cast<off_t>(segments_written_ * kSegmentBytes)) != 0)
        log_error_ = base::fail_errno("shorten the list of segments").error().message;
    errno = why;
    return false;
}

void Supervision::on_leader_end(const siginfo_t& info) {
    leader_ended_ = true;
    duration_ = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started_);
    (info.si_code == CLD_EXITED ? exit_code_ : signal_) = info.si_status;
    phase_ == Phase::Ending ? sweep() : drain();
}

void Supervision::on_output_end() {
    if (phase_ != Phase::Draining || streams_open()) return;
    if (tree_ended_) return finish();
    grace_ = kLeftoverGrace;
    enter(Phase::Ending);
    settle(tree_->signal(SIGTERM));
}

// A later, more impatient stop shortens the time that an earlier one gave.
void Supervision::stop(std::chrono::milliseconds grace) {
    siginfo_t info{};
    if (!leader_ended_ && tree_->leader_ended(info)) on_leader_end(info);
    if (phase_ == Phase::Finished || tree_ended_) return;
    if (phase_ == Phase::Ending) {
        const auto elapsed = Clock::now() - phase_began_;
        grace_ = std::min(grace_, std::chrono::floor<std::chrono::milliseconds>(elapsed) + grace);
        return sweep();
    }
    // A command that had ended by itself was not stopped, whatever it left behind.
    stopped_ = !leader_ended_;
    grace_ = grace;
    enter(Phase::Ending);
    settle(tree_->signal(grace > 0ms ? SIGTERM : SIGKILL));
}

void Supervision::drain() {
    enter(Phase::Draining);
    last_output_ = phase_began_;
    if (!streams_open()) return on_output_end();
    deadline_ = Clock::now() + kDrainGrace;
}

void Supervision::check_drain() {
    const auto end = std::min(last_output_ + kDrainGrace, phase_began_ + kDrainMax);
    if (Clock::now() < end) {
        deadline_ = end;
        return;
    }
    read_to_the_end();
    output_cut_off_ = streams_open();
    out_.reset();
    err_.reset();
    on_output_end();
}

void Supervision::sweep() {
    const bool forced = Clock::now() - phase_began_ >= grace_;
    forced_ = forced_ || forced;
    settle(tree_->signal(forced ? SIGKILL : 0));
}

void Supervision::settle(std::size_t running) {
    const bool given_up = Clock::now() - phase_began_ >= grace_ + kKillMax;
    if (!given_up && (running > 0 || !leader_ended_)) {
        deadline_ = Clock::now() + kSweepInterval;
        return;
    }
    tree_ended_ = true;
    drain();
}

void Supervision::finish() {
    enter(Phase::Finished);
    tree_->release();
}

void Supervision::enter(Phase phase) {
    deadline_.reset();
    phase_ = phase;
    phase_began_ = Clock::now();
}

void Supervision::on_deadline() {
    deadline_.reset();
    phase_ == Phase::Draining ? check_drain() : sweep();
}

// Replaced in one step, so that a reader sees the old state or all of the new one. Flushed to the
// disk only when no runtime is there to record the end itself; a machine that loses power loses the
// command, too. False when it could not be written.
bool Supervision::write_state() {
    const bool ended = phase_ == Phase::Finished;
    if (ended && out_bytes_ > 0 && err_bytes_ > 0 && !segments_.empty()) {
        if (!write_segments()) return false;
        segments_written_ += segments_.size();
        segments_.clear();
    }
    const std::string_view status = !start_error_.empty() ? "not_started"
                                    : ended               ? "exited"
                                                          : "running";
    const std::string text = fmt::format(
        R"({{"version":{},"boot_id":{},"status":"{}","supervisor_pid":{},"pid":{},"start_time":{},)"
        R"("error":{},"exit_code":{},"signal":{},"stopped":{},"forced":{},"output_cut_off":{},)"
        R"("stdout_bytes":{},"stderr_bytes":{},"dropped_bytes":{},"log_error":{},"duration_us":{}}})"
        "\n",
        kVersion, json_string(request_.boot_id), status, ::getpid(), tree_ ? tree_->leader() : 0,
        start_time_, json_string(start_error_), number_or_null(exit_code_), number_or_null(signal_),
        stopped_, forced_, output_cut_off_, out_bytes_, err_bytes_, dropped_bytes_,
        json_string(log_error_), duration_.count());
    const std::string name(kStateFile), next = name + ".next";
    const base::Fd file(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file || !base::write_all(file.get(), text)) return false;
    if (ended && connections_.empty()) ::fsync(file.get());
    return ::rename(next.c_str(), name.c_str()) == 0;
}

}  // namespace supervisor
