#include "exec/gate/content.h"

// By the assembler, because compiler caches do not see what an #embed reads.
asm(R"(
    .section .rodata, "a", @progbits
    holon_gate_rules_begin:
    .incbin ")" HOLON_RULES R"("
    holon_gate_rules_end:
    .text
    .global holon_gate_rules_begin
    .global holon_gate_rules_end
)");
extern "C" const char holon_gate_rules_begin[];
extern "C" const char holon_gate_rules_end[];

namespace gate {

std::string_view prepared_rules() {
    return {holon_gate_rules_begin, holon_gate_rules_end};
}

}  // namespace gate
