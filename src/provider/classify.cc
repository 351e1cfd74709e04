#include "provider/classify.h"

#include <array>

namespace provider {
namespace {

struct KindFacts {
    FailureKind kind;
    Disposition disposition;
    domain::FailureCategory category;
};

constexpr std::array<KindFacts, 11> kKinds{{
    {FailureKind::Timeout, Disposition::Retryable, domain::FailureCategory::Transport},
    {FailureKind::Connection, Disposition::Retryable, domain::FailureCategory::Transport},
    {FailureKind::RateLimited, Disposition::Retryable, domain::FailureCategory::Transport},
    {FailureKind::ServerError, Disposition::Retryable, domain::FailureCategory::Transport},
    {FailureKind::AuthError, Disposition::FailFast, domain::FailureCategory::Transport},
    {FailureKind::ContractError, Disposition::FailFast, domain::FailureCategory::Protocol},
    {FailureKind::InvalidResponse, Disposition::Retryable, domain::FailureCategory::Protocol},
    {FailureKind::UnsupportedTransport, Disposition::FailFast, domain::FailureCategory::Protocol},
    {FailureKind::ContextLengthExceeded, Disposition::FailFast, domain::FailureCategory::Protocol},
    {FailureKind::Cancelled, Disposition::FailFast, domain::FailureCategory::Unknown},
    {FailureKind::Unknown, Disposition::FailFast, domain::FailureCategory::Unknown},
}};

constexpr bool rows_are_in_order() {
    for (std::size_t i = 0; i < kKinds.size(); ++i)
        if (static_cast<std::size_t>(kKinds[i].kind) != i) return false;
    return kKinds.size() == static_cast<std::size_t>(FailureKind::Unknown) + 1;
}
static_assert(rows_are_in_order(), "one row for each kind, in the order of the enum");

const KindFacts& facts_of(FailureKind kind) {
    return kKinds[static_cast<std::size_t>(kind)];
}

}  // namespace

Disposition disposition(const Failure& failure) {
    if (failure.status == 501 || failure.status == 505) return Disposition::FailFast;
    return facts_of(failure.kind).disposition;
}

domain::FailureCategory category(FailureKind kind) {
    return facts_of(kind).category;
}

bool is_transient_status(std::int64_t status) {
    return status == 408 || status == 409 || status == 425 || status == 429 ||
           (status >= 500 && status <= 599);
}

FailureKind kind_of_status(std::int64_t status) {
    if (status == 429) return FailureKind::RateLimited;
    if (status == 408) return FailureKind::Timeout;
    if (status == 401 || status == 403) return FailureKind::AuthError;
    if (is_transient_status(status)) return FailureKind::ServerError;
    // A redirect is not followed: the request would go, with its credential, to a host that
    // nobody configured.
    if (status >= 300 && status <= 499) return FailureKind::ContractError;
    return FailureKind::Unknown;
}

}  // namespace provider
