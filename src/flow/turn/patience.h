// How long a turn waits for providers that are down. Pure.
#pragma once

#include <chrono>
#include <optional>

#include "flow/turn/decide/decide.h"

namespace turn {

// The wait before the first repeated pass; it doubles up to the second.
inline constexpr std::chrono::milliseconds kPassBackoffFirst{1000};
inline constexpr std::chrono::milliseconds kPassBackoffMax{60'000};

// Whether a pass over all candidates that ended in `failure` may end well when it is repeated: a
// candidate failed in a way that may pass, and nothing else ends the turn.
bool may_pass(const provider::Failure& failure);

// Whether it is a rate limit that says when it ends, later than a retry waits for. Such a wait is
// within kParkMax and kParksMax, whatever the patience.
bool is_known_limit(const domain::Attempt& attempt, const provider::Failure& failure);

// How long to wait before the next pass; nothing when it would not help or the patience of `input`
// would be spent by then. What the server asks to wait is waited for, if it is longer than our own
// backoff, which differs from turn to turn so that agents which failed together spread out.
std::optional<std::chrono::milliseconds> next_pass(const domain::Attempt& attempt,
                                                   const provider::Failure& failure,
                                                   const Input& input);

}  // namespace turn
