#include "base/scan/rule.h"

// By the assembler, because compiler caches do not see what an #embed reads.
asm(R"(
    .section .rodata, "a", @progbits
    holon_secret_rules_begin:
    .incbin ")" HOLON_RULES R"("
    holon_secret_rules_end:
    .text
    .global holon_secret_rules_begin
    .global holon_secret_rules_end
)");
extern "C" const char holon_secret_rules_begin[];
extern "C" const char holon_secret_rules_end[];

namespace scan {

std::string_view prepared_secret_rules() {
    return {holon_secret_rules_begin, holon_secret_rules_end};
}

}  // namespace scan
