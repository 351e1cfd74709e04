#include "exec/tasks/supervisor/embedded.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "base/os/files.h"

// The linker's view of the bytes. An #embed would do, but compiler caches do not see it change.
asm(R"(
    .section .rodata, "a", @progbits
    .global holon_supervisor_begin
    .global holon_supervisor_end
    holon_supervisor_begin:
    .incbin ")" HOLON_SUPERVISOR_PROGRAM R"("
    holon_supervisor_end:
    .text
)");
extern "C" const char holon_supervisor_begin[];
extern "C" const char holon_supervisor_end[];

// Since Linux 6.3, and older headers do not have it.
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

namespace supervisor {
namespace {

constexpr int kFdMin = 10;

// In parts, and each time releases all pages up to there: they would be a fifteenth of what a run
// has in memory, and nobody reads them again.
bool copy_to(int file, std::string_view program) {
    constexpr std::size_t kPartBytes = std::size_t{64} << 10;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    // The start of its first page. The call does not write, though it has no const.
    char* const first =
        const_cast<char*>(program.data()) - reinterpret_cast<std::uintptr_t>(program.data()) % page;
    while (!program.empty()) {
        const auto part = program.substr(0, kPartBytes);
        if (!base::write_all(file, part)) return false;
        program.remove_prefix(part.size());
        ::madvise(first, static_cast<std::size_t>(program.data() - first), MADV_DONTNEED);
    }
    return true;
}

base::Result<base::Fd> make_file() {
    base::Fd made(::memfd_create("holon-supervisor", MFD_CLOEXEC | MFD_EXEC));
    if (!made && errno == EINVAL) made.reset(::memfd_create("holon-supervisor", MFD_CLOEXEC));
    // Out of the way of the descriptors that the program finds.
    base::Fd file(::fcntl(made.get(), F_DUPFD_CLOEXEC, kFdMin));
    const std::string_view program(
        holon_supervisor_begin,
        static_cast<std::size_t>(holon_supervisor_end - holon_supervisor_begin));
    if (!file || !copy_to(file.get(), program))
        return base::fail_errno("put the supervisor's program into memory");
    return file;
}

}  // namespace

base::Result<std::string> program_path() {
    static const base::Result<base::Fd> file = make_file();
    if (!file) return std::unexpected(file.error());
    return fmt::format("/proc/self/fd/{}", file->get());
}

}  // namespace supervisor
