// Describes a finished call or task: the requests from which its result documents are written.
#pragma once

#include <vector>

#include "exec/gate/result_gate_adapter.h"

namespace gate {

// Longer commands and arguments are shown by their beginning and their digest.
inline constexpr std::size_t kCommandBytesMax = 64 * 1024;
inline constexpr std::size_t kDestinationsMax = 200;  // Listed for one command.

struct Reporter {
    const BackendFacts& backend;
    const std::string& executor;
    base::Time now;
};

// One for each command that the call ran, or one for all that it said. At least one. Reads files.
std::vector<FinishedRequest> requests_of(const tools::FinishedCall& finished,
                                         const Reporter& reporter);
FinishedRequest request_of(const tasks::FinishedOutput& finished, const Reporter& reporter);

}  // namespace gate
