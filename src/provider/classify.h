// What kind of failure it was, whether asking again can help, and under which heading people see
// it. One table answers all three.
#pragma once

#include <cstdint>

#include "provider/provider.h"

namespace provider {

enum class Disposition { Retryable, FailFast };
BOOST_DESCRIBE_ENUM(Disposition, Retryable, FailFast)

// Whether the same request may work a moment later. That includes an answer that cannot be read,
// ends early or is a web page: gateways in trouble send those. Of the 5xx statuses all are worth
// another try but 501 (not implemented) and 505 (version not supported): those say what the server
// is, not how it feels.
Disposition disposition(const Failure& failure);

domain::FailureCategory category(FailureKind kind);

// 408 (timeout), 409 (conflict), 425 (too early), 429 and all of 5xx.
bool is_transient_status(std::int64_t status);

// What an HTTP status means when the body says nothing better. Not for 2xx.
FailureKind kind_of_status(std::int64_t status);

}  // namespace provider
