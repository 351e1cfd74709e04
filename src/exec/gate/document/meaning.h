// Whether the parts of a document say the same.
#pragma once

#include <vector>

#include "exec/gate/document/document.h"

namespace gate {

// A result is made when it is named; clocks of two programs may differ by so much.
inline constexpr std::chrono::seconds kStampTolerance{60};

// The faults of a document whose front matter has the right form: what one part says and another
// denies. Empty fields are not judged; that they are missing is reported where they are read.
std::vector<domain::GateReason> meaning_faults(const ResultDocument& document);

}  // namespace gate
