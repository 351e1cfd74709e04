#include "exec/tasks/supervisor/embedded.h"

#include <mutex>
#include <string_view>

#include "base/os/fs/memory_file.h"

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

namespace supervisor {

base::Result<std::string> program_path() {
    static std::mutex mutex;
    static base::Fd file;  // A failure may pass, and is not kept.
    const std::lock_guard lock(mutex);
    if (!file)
        file = TRY(base::make_memory_file(
            "holon-supervisor",
            {holon_supervisor_begin,
             static_cast<std::size_t>(holon_supervisor_end - holon_supervisor_begin)},
            base::MemoryFile::Program));
    return fmt::format("/proc/self/fd/{}", file.get());
}

}  // namespace supervisor
