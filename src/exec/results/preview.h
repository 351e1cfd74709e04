// Text of any length, shown within a bound.
#pragma once

#include <cstddef>
#include <string>

#include "base/os/process.h"

namespace results {

// The text of a stream within `chars`: whole, or its first and last lines around a line that says
// how many there are. A stream that says `lines` 0 but has bytes was not counted. Secrets are taken
// out first (base/scan/secrets.h).
struct Preview {
    std::string text;
    bool truncated{false};
};
Preview preview(const base::CapturedStream& stream, std::size_t chars);

}  // namespace results
