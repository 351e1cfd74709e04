#include "provider/prompt_frame.h"

#include "base/text.h"

namespace provider {

std::string join_blocks(const std::vector<PromptBlock>& blocks) {
    std::string out;
    for (const auto& block : blocks) {
        if (block.text.empty()) continue;
        if (!out.empty()) out += "\n\n";
        out += base::to_utf8(block.text);
    }
    return out;
}

void add_system_block(PromptFrame& frame, PromptBlock block) {
    frame.system_blocks.push_back(std::move(block));
    frame.system_prompt = join_blocks(frame.system_blocks);
}

}  // namespace provider
