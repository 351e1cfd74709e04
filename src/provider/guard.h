// What a provider says, without the credentials it may repeat: in an error, in the text of a model,
// in the input of its calls.
#pragma once

#include "provider/provider.h"

namespace provider {

// Callbacks for ask() that pass on to `progress` and `done` what is left.
struct Guarded {
    Progress progress;
    std::move_only_function<void(Outcome)> done;
};
Guarded guard(Progress progress, std::move_only_function<void(Outcome)> done);

}  // namespace provider
