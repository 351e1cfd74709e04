#include "domain/provider.h"

namespace domain {

TokenUsage operator+(const TokenUsage& a, const TokenUsage& b) {
    return {a.input_tokens + b.input_tokens, a.output_tokens + b.output_tokens,
            a.total_tokens + b.total_tokens};
}

}  // namespace domain
