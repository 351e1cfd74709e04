#include "base/os/stream_capture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace base {

StreamCapture::StreamCapture(std::size_t memory_bytes_max, std::filesystem::path spill)
    : memory_bytes_max_(memory_bytes_max),
      half_(memory_bytes_max / 2),
      spill_path_(std::move(spill)) {}

void StreamCapture::add(std::string_view bytes) {
    if (bytes.empty()) return;
    hash_.add(bytes);
    stream_.bytes += bytes.size();
    stream_.lines += static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
    ends_in_newline_ = bytes.back() == '\n';
    if (stream_.spilled) {
        write_spill(bytes);
        keep_tail(bytes);
        return;
    }
    stream_.head += bytes;
    if (stream_.head.size() <= memory_bytes_max_) return;
    stream_.spilled = true;
    open_spill();
    write_spill(stream_.head);
    // More than twice the half is there, so the two ends cannot overlap.
    stream_.tail = stream_.head.substr(stream_.head.size() - half_);
    stream_.head.resize(half_);
    stream_.head.shrink_to_fit();
}

CapturedStream StreamCapture::finish() {
    spill_.reset();
    stream_.lines += ends_in_newline_ ? 0 : 1;
    if (stream_.tail.size() > half_) stream_.tail.erase(0, stream_.tail.size() - half_);
    stream_.sha256 = hash_.finish_hex();
    return std::move(stream_);
}

void StreamCapture::open_spill() {
    if (spill_path_.empty()) {
        stream_.spill_error = "no spill file was named";
        return;
    }
    // Non-blocking and checked, because a pipe or a device at this path must neither stall the
    // loop nor be written to.
    spill_.reset(::open(spill_path_.c_str(),
                        O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600));
    struct stat info{};
    if (!spill_ || ::fstat(spill_.get(), &info) != 0) {
        stream_.spill_error =
            fail_errno(fmt::format("open {}", spill_path_.string())).error().message;
    } else if (!S_ISREG(info.st_mode)) {
        stream_.spill_error = fmt::format("{} is not a regular file", spill_path_.string());
    } else if (::fchmod(spill_.get(), 0600) != 0 || ::ftruncate(spill_.get(), 0) != 0) {
        stream_.spill_error =
            fail_errno(fmt::format("empty {}", spill_path_.string())).error().message;
    }
    if (!stream_.spill_error.empty()) spill_.reset();
}

// Runs on the loop: the bytes go to the page cache, 64 KiB at a time, which costs less than handing
// them to another thread would.
void StreamCapture::write_spill(std::string_view bytes) {
    if (!spill_ || write_all(spill_.get(), bytes)) return;
    stream_.spill_error = fail_errno(fmt::format("write {}", spill_path_.string())).error().message;
    spill_.reset();
    // Half a file is of no use, and the disk may be full because of it.
    ::unlink(spill_path_.c_str());
}

void StreamCapture::keep_tail(std::string_view bytes) {
    if (bytes.size() >= half_) {
        stream_.tail = bytes.substr(bytes.size() - half_);
        return;
    }
    // Trimmed only when it has doubled, so that each byte is moved once on average.
    stream_.tail += bytes;
    if (stream_.tail.size() > memory_bytes_max_) stream_.tail.erase(0, stream_.tail.size() - half_);
}

}  // namespace base
