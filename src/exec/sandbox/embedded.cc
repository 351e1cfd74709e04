#include "exec/sandbox/embedded.h"

#include <mutex>
#include <optional>
#include <string_view>

#include "base/os/fs/memory_file.h"

// The linker's view of the bytes. An #embed would do, but compiler caches do not see it change.
asm(R"(
    .section .rodata, "a", @progbits
    .global holon_confine_begin
    .global holon_confine_end
    .global holon_proxy_begin
    .global holon_proxy_end
    holon_confine_begin:
    .incbin ")" HOLON_CONFINE_PROGRAM R"("
    holon_confine_end:
    holon_proxy_begin:
    .incbin ")" HOLON_PROXY_PROGRAM R"("
    holon_proxy_end:
    .text
)");
extern "C" const char holon_confine_begin[];
extern "C" const char holon_confine_end[];
extern "C" const char holon_proxy_begin[];
extern "C" const char holon_proxy_end[];

namespace sandbox {
namespace {

base::Result<std::shared_ptr<const base::Fd>> make(const char* name, const char* begin,
                                                   const char* end) {
    auto file = TRY(base::make_memory_file(name, {begin, static_cast<std::size_t>(end - begin)},
                                           base::MemoryFile::Program));
    return std::make_shared<const base::Fd>(std::move(file));
}

base::Result<Programs> make_programs() {
    return Programs{.confine = TRY(make("holon-confine", holon_confine_begin, holon_confine_end)),
                    .proxy = TRY(make("holon-proxy", holon_proxy_begin, holon_proxy_end))};
}

}  // namespace

base::Result<Programs> programs() {
    static std::mutex mutex;
    static std::optional<Programs> made;  // A failure may pass, and is not kept.
    const std::lock_guard lock(mutex);
    if (!made) made = TRY(make_programs());
    return *made;
}

}  // namespace sandbox
