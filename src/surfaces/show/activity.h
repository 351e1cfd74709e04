// What an agent is doing right now, in words.
#pragma once

#include <string>

#include "service/service.h"

namespace show {

// "a/m failed (try 1 of 5), again in 2.0s: overloaded", of a Retry.
std::string retry_text(const service::Delta& delta);

}  // namespace show
