#include "exec/tools/mcp/system_child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/os/process_tree.h"
#include "base/os/spawn.h"
#include "exec/tasks/supervisor/embedded.h"

namespace mcp {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;

constexpr std::size_t kReadBytes = 64 * 1024;
// Enough reads to empty the largest pipe that a server without privileges can make (1 MiB).
constexpr int kReadsLast = 32;
// Above the numbers that the tether finds its descriptors under.
constexpr int kFdMin = 10;
constexpr int kSignalBase = 128;

std::string how_it_ended(int pidfd) {
    siginfo_t info{};
    if (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
        return "in an unknown way";
    if (info.si_code == CLD_EXITED && info.si_status <= kSignalBase)
        return fmt::format("exit status {}", info.si_status);
    return fmt::format("signal {}",
                       info.si_code == CLD_EXITED ? info.si_status - kSignalBase : info.si_status);
}

base::Result<Descriptor> watched(base::AsioLoop& loop, base::Fd fd) {
    Descriptor descriptor(loop.context());
    boost::system::error_code error;
    descriptor.assign(fd.get(), error);
    if (error) return base::no_resource("watch a server", error.message());
    fd.release();
    return descriptor;
}

struct Ends {
    Descriptor in, out, err, end;  // `end` is readable when the process has ended.
    base::Fd lifeline;
    base::Fd pidfd;
};

// Shared with what is on its way in the loop; the owner is a SystemChild.
class Connection : public std::enable_shared_from_this<Connection> {
public:
    Connection(Ends ends, ChildEvents events) : ends_(std::move(ends)), events_(std::move(events)) {
        in_.emplace(std::move(ends_.in));
        out_.emplace(std::move(ends_.out));
        err_.emplace(std::move(ends_.err));
    }

    void begin() {
        await(out_, &ChildEvents::on_out);
        await(err_, &ChildEvents::on_err);
        ends_.end.async_wait(Descriptor::wait_read,
                             [self = shared_from_this()](const boost::system::error_code& error) {
                                 if (!error) self->on_end();
                             });
    }

    bool write(std::string_view bytes) {
        if (!in_) return true;  // Its end is on its way and says all.
        if (unwritten_.size() + bytes.size() > kUnwrittenBytesMax) return false;
        const bool was_idle = unwritten_.empty();
        unwritten_ += bytes;
        if (was_idle) write_some();
        return true;
    }

    // The server sees the end of its input, and the tether that of the lifeline.
    void release() {
        in_.reset();
        ends_.lifeline.reset();
    }

    void abandon() {
        events_ = {};
        release();
        out_.reset();
        err_.reset();
    }

private:
    using Event = std::function<void(std::string_view)> ChildEvents::*;

    // One read a turn of the loop, so that a server which never stops writing cannot starve others.
    void await(std::optional<Descriptor>& stream, Event event) {
        stream->async_wait(Descriptor::wait_read, [self = shared_from_this(), &stream,
                                                   event](const boost::system::error_code& error) {
            if (error || !stream) return;
            self->read(stream, event);
            if (stream) self->await(stream, event);
            // A server without standard output is of no more use.
            else if (&stream == &self->out_)
                self->release();
        });
    }

    // False when nothing is there now, or nothing will ever be: then the stream is closed.
    bool read(std::optional<Descriptor>& stream, Event event) {
        std::array<char, kReadBytes> buffer;
        const ssize_t got = ::read(stream->native_handle(), buffer.data(), buffer.size());
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
        if (got <= 0) {
            stream.reset();
            return false;
        }
        // Copied, since the callee may abandon us.
        if (const auto heard = events_.*event)
            heard({buffer.data(), static_cast<std::size_t>(got)});
        return true;
    }

    void write_some() {
        const ssize_t put = ::write(in_->native_handle(), unwritten_.data() + written_,
                                    unwritten_.size() - written_);
        if (put < 0 && errno != EAGAIN && errno != EINTR) return in_.reset();
        if (put > 0) written_ += static_cast<std::size_t>(put);
        if (written_ == unwritten_.size()) {
            unwritten_.clear();
            written_ = 0;
            return;
        }
        in_->async_wait(Descriptor::wait_write,
                        [self = shared_from_this()](const boost::system::error_code& error) {
                            if (!error && self->in_) self->write_some();
                        });
    }

    void on_end() {
        for (int reads = 0; out_ && reads < kReadsLast; ++reads)
            if (!read(out_, &ChildEvents::on_out)) break;
        for (int reads = 0; err_ && reads < kReadsLast; ++reads)
            if (!read(err_, &ChildEvents::on_err)) break;
        const std::string how = how_it_ended(ends_.pidfd.get());
        base::reap_apart(ends_.pidfd);
        auto ended = std::move(events_.on_end);
        abandon();
        if (ended) ended(how);
    }

    Ends ends_;
    std::optional<Descriptor> in_, out_, err_;
    ChildEvents events_;
    std::string unwritten_;  // Its first `written_` bytes are on their way.
    std::size_t written_{0};
};

class SystemChild final : public Child {
public:
    explicit SystemChild(std::shared_ptr<Connection> connection)
        : connection_(std::move(connection)) {}
    ~SystemChild() override { connection_->abandon(); }
    SystemChild(const SystemChild&) = delete;
    SystemChild& operator=(const SystemChild&) = delete;
    bool write(std::string_view bytes) override { return connection_->write(bytes); }

private:
    std::shared_ptr<Connection> connection_;
};

base::ProcessSpec tethered(const base::ProcessSpec& spec, std::string program) {
    base::ProcessSpec outer{.argv = {"holon-supervisor", "tether",
                                     std::to_string(spec.files.size()), std::move(program)},
                            .cwd = spec.cwd,
                            .environment = spec.environment,
                            .files = spec.files};
    outer.argv.insert(outer.argv.end(), spec.argv.begin(), spec.argv.end());
    return outer;
}

base::Result<base::Fd> high(const base::Fd& fd) {
    base::Fd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFdMin));
    if (!moved) return base::fail_errno("start a server");
    return moved;
}

}  // namespace

base::Result<std::unique_ptr<Child>> SystemChildRunner::start(const base::ProcessSpec& spec,
                                                              ChildEvents events) {
    const std::string program = TRY(base::find_program(spec));
    const std::string tether = TRY(supervisor::program_path());
    base::Pipe in = TRY(base::make_pipe(base::OurEnd::Write)), out = TRY(base::make_pipe()),
               err = TRY(base::make_pipe()), lifeline = TRY(base::make_pipe());
    const base::Fd held = TRY(high(lifeline.read));
    const base::ProcessSpec outer = tethered(spec, program);
    auto pidfd = base::start_apart([&](pid_t& pid) {
        return base::spawn(tether, outer,
                           {.in = in.read.get(),
                            .out = out.write.get(),
                            .err = err.write.get(),
                            .passed = {held.get()},
                            .program_closes_rest = true},
                           pid);
    });
    if (!pidfd) return base::spawn_failure(pidfd.error(), spec.argv[0]);
    // The loop gets a descriptor of its own, since it closes what it watches.
    base::Fd end = TRY(high(*pidfd));
    auto connection =
        std::make_shared<Connection>(Ends{.in = TRY(watched(loop_, std::move(in.write))),
                                          .out = TRY(watched(loop_, std::move(out.read))),
                                          .err = TRY(watched(loop_, std::move(err.read))),
                                          .end = TRY(watched(loop_, std::move(end))),
                                          .lifeline = std::move(lifeline.write),
                                          .pidfd = std::move(*pidfd)},
                                     std::move(events));
    connection->begin();
    return std::make_unique<SystemChild>(std::move(connection));
}

}  // namespace mcp
