#include "provider/classify.h"

#include <gtest/gtest.h>

namespace provider {
namespace {

using domain::FailureCategory;

struct Row {
    FailureKind kind;
    std::string_view name;
    Disposition disposition;
    FailureCategory category;
};

TEST(Classify, EachKindHasItsNameDispositionAndCategory) {
    const std::vector<Row> rows{
        {FailureKind::Timeout, "timeout", Disposition::Retryable, FailureCategory::Transport},
        {FailureKind::Connection, "connection", Disposition::Retryable, FailureCategory::Transport},
        {FailureKind::RateLimited, "rate_limited", Disposition::Retryable,
         FailureCategory::Transport},
        {FailureKind::ServerError, "server_error", Disposition::Retryable,
         FailureCategory::Transport},
        {FailureKind::AuthError, "auth_error", Disposition::FailFast, FailureCategory::Transport},
        {FailureKind::ContractError, "contract_error", Disposition::FailFast,
         FailureCategory::Protocol},
        {FailureKind::InvalidResponse, "invalid_response", Disposition::Retryable,
         FailureCategory::Protocol},
        {FailureKind::UnsupportedTransport, "unsupported_transport", Disposition::FailFast,
         FailureCategory::Protocol},
        {FailureKind::ContextLengthExceeded, "context_length_exceeded", Disposition::FailFast,
         FailureCategory::Protocol},
        {FailureKind::Cancelled, "cancelled", Disposition::FailFast, FailureCategory::Unknown},
        {FailureKind::Unknown, "unknown", Disposition::FailFast, FailureCategory::Unknown},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(base::enum_name(row.kind), row.name);
        EXPECT_EQ(disposition(Failure{.kind = row.kind}), row.disposition) << row.name;
        EXPECT_EQ(category(row.kind), row.category) << row.name;
    }
}

TEST(Classify, AStatusWithoutABodyHasAKind) {
    const std::vector<std::pair<std::int64_t, FailureKind>> rows{
        {301, FailureKind::ContractError}, {400, FailureKind::ContractError},
        {401, FailureKind::AuthError},     {403, FailureKind::AuthError},
        {404, FailureKind::ContractError}, {429, FailureKind::RateLimited},
        {408, FailureKind::Timeout},       {409, FailureKind::ServerError},
        {425, FailureKind::ServerError},   {422, FailureKind::ContractError},
        {500, FailureKind::ServerError},   {503, FailureKind::ServerError},
        {599, FailureKind::ServerError},   {100, FailureKind::Unknown},
        {600, FailureKind::Unknown},       {0, FailureKind::Unknown}};
    for (const auto& [status, kind] : rows) EXPECT_EQ(kind_of_status(status), kind) << status;
}

TEST(Classify, AServerThatCannotEverAnswerIsNotAskedAgain) {
    for (const std::int64_t status : {500, 502, 503, 504, 529})
        EXPECT_EQ(disposition({.kind = FailureKind::ServerError, .status = status}),
                  Disposition::Retryable);
    for (const std::int64_t status : {501, 505})
        EXPECT_EQ(disposition({.kind = FailureKind::ServerError, .status = status}),
                  Disposition::FailFast);
}

}  // namespace
}  // namespace provider
