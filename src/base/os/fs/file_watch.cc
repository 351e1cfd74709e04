#include "base/os/fs/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/os/files.h"

namespace base {

struct FileWatch::State : std::enable_shared_from_this<State> {
    State(AsioLoop& loop, int fd, std::string name, std::function<void()> changed)
        : descriptor(loop.context(), fd), name(std::move(name)), changed(std::move(changed)) {}

    void wait() {
        descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                              [self = shared_from_this()](const boost::system::error_code& error) {
                                  if (error) return;
                                  // A copy, as it may end this watch.
                                  const auto report = self->changed;
                                  if (report && self->read_events()) report();
                                  if (self->changed) self->wait();
                              });
    }

    // Whether the file is named in one of them, or some were lost.
    bool read_events() {
        bool found = false;
        alignas(inotify_event) std::array<char, 4096> buffer{};
        for (;;) {
            const auto length = ::read(descriptor.native_handle(), buffer.data(), buffer.size());
            if (length <= 0) return found;
            const auto end = static_cast<std::size_t>(length);
            for (std::size_t at = 0; at + sizeof(inotify_event) <= end;) {
                inotify_event event{};
                std::memcpy(&event, buffer.data() + at, sizeof event);
                const char* text = buffer.data() + at + sizeof event;
                found = found || (event.mask & IN_Q_OVERFLOW) != 0 ||
                        (event.len > 0 && name == std::string_view(text, strnlen(text, event.len)));
                at += sizeof event + event.len;
            }
        }
    }

    boost::asio::posix::stream_descriptor descriptor;
    const std::string name;
    std::function<void()> changed;
};

FileWatch::FileWatch(std::shared_ptr<State> state) : state_(std::move(state)) {}

FileWatch::~FileWatch() {
    state_->changed = nullptr;
    boost::system::error_code ignored;
    state_->descriptor.close(ignored);
}

Result<std::unique_ptr<FileWatch>> FileWatch::open(AsioLoop& loop,
                                                   const std::filesystem::path& file,
                                                   std::function<void()> changed) {
    Fd events(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (!events) return fail_errno("inotify_init1");
    if (::inotify_add_watch(events.get(), file.parent_path().c_str(), IN_MOVED_TO | IN_ONLYDIR) < 0)
        return fail_errno("watch " + file.parent_path().string());
    auto state = std::make_shared<State>(loop, events.release(), file.filename().string(),
                                         std::move(changed));
    state->wait();
    return std::unique_ptr<FileWatch>(new FileWatch(std::move(state)));
}

}  // namespace base
