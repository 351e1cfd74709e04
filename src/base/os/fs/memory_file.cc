#include "base/os/fs/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

// Since Linux 6.3, and older headers do not have them.
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

namespace base {
namespace {

constexpr int kFdMin = 64;

// In parts, and each time releases all pages up to there: they would be a fifteenth of what a turn
// has in memory, and nobody reads them again. They come from the executable file, so a later read
// would only load them once more.
bool copy_and_release(int file, std::string_view program) {
    constexpr std::size_t kPartBytes = std::size_t{64} << 10;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    // The start of its first page. The call does not write, though it has no const.
    char* const first =
        const_cast<char*>(program.data()) - reinterpret_cast<std::uintptr_t>(program.data()) % page;
    while (!program.empty()) {
        const auto part = program.substr(0, kPartBytes);
        if (!write_all(file, part)) return false;
        program.remove_prefix(part.size());
        ::madvise(first, static_cast<std::size_t>(program.data() - first), MADV_DONTNEED);
    }
    return true;
}

// F_SEAL_WRITE waits until nothing else uses a page of the file, and gives up after a while with
// EBUSY; the kernel itself uses pages for moments. The other seal does not wait. It leaves mappings
// that are there already writable, and there are none. Linux before 5.1 does not have it.
bool seal(int file) {
    constexpr int kSize = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
    if (::fcntl(file, F_ADD_SEALS, kSize | F_SEAL_FUTURE_WRITE) == 0) return true;
    return errno == EINVAL && ::fcntl(file, F_ADD_SEALS, kSize | F_SEAL_WRITE) == 0;
}

}  // namespace

Result<Fd> make_memory_file(const char* name, std::string_view bytes, MemoryFile kind) {
    constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    const unsigned mode = kind == MemoryFile::Program ? MFD_EXEC : MFD_NOEXEC_SEAL;
    Fd made(::memfd_create(name, kFlags | mode));
    if (!made && errno == EINVAL) made.reset(::memfd_create(name, kFlags));
    Fd file(made ? ::fcntl(made.get(), F_DUPFD_CLOEXEC, kFdMin) : -1);
    const bool copied = file && (kind == MemoryFile::Program ? copy_and_release(file.get(), bytes)
                                                             : write_all(file.get(), bytes));
    if (!copied || ::lseek(file.get(), 0, SEEK_SET) != 0 || !seal(file.get()))
        return fail(ErrorCode::Unavailable, "put {} into memory: {}", name,
                    fail_errno("memory file").error().message);
    return file;
}

}  // namespace base
