#include <cerrno>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "exec/sandbox/program/load_filter.h"

// What holon-filter wrote when this program was built.
asm(R"(
    .section .rodata, "a", @progbits
    .balign 8
    .global holon_filter_begin
    .global holon_filter_end
    holon_filter_begin:
    .incbin ")" HOLON_FILTER R"("
    holon_filter_end:
    .text
)");
extern "C" sock_filter holon_filter_begin[];
extern "C" sock_filter holon_filter_end[];

namespace sandbox {

int load_filter() {
    const sock_fprog program{static_cast<unsigned short>(holon_filter_end - holon_filter_begin),
                             holon_filter_begin};
    return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : -errno;
}

}  // namespace sandbox
