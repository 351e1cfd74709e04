// The seam to model APIs. One folder a transport; the runtime knows none of them by name.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "domain/provider.h"
#include "provider/prompt_frame.h"

namespace provider {

// The conversation, in order. A tool-use block of an AssistantTurn is always answered by the
// ToolResultsTurn right behind it.
struct UserTurn {
    static constexpr std::string_view kTagKey = "role", kTag = "user";
    std::vector<PromptBlock> blocks;
    friend bool operator==(const UserTurn&, const UserTurn&) = default;
};
struct AssistantTurn {
    static constexpr std::string_view kTagKey = "role", kTag = "assistant";
    std::vector<domain::Block> blocks;
    friend bool operator==(const AssistantTurn&, const AssistantTurn&) = default;
};
struct ToolAnswer {
    std::string tool_use_id;
    std::string content;  // The receipt; the same text on every transport.
    bool is_error{false};
    friend bool operator==(const ToolAnswer&, const ToolAnswer&) = default;
};
struct ToolResultsTurn {
    static constexpr std::string_view kTagKey = "role", kTag = "tool_results";
    std::vector<ToolAnswer> results;
    friend bool operator==(const ToolResultsTurn&, const ToolResultsTurn&) = default;
};
BOOST_DESCRIBE_STRUCT(UserTurn, (), (blocks))
BOOST_DESCRIBE_STRUCT(AssistantTurn, (), (blocks))
BOOST_DESCRIBE_STRUCT(ToolAnswer, (), (tool_use_id, content, is_error))
BOOST_DESCRIBE_STRUCT(ToolResultsTurn, (), (results))
using ConversationTurn = std::variant<UserTurn, AssistantTurn, ToolResultsTurn>;

// A tool as the registry publishes it; how it is written for a vendor is the transport's business.
struct ToolDeclaration {
    std::string name;
    std::string description;
    json::object input_schema;   // Transport-neutral: the true shape of the input.
    bool freeform_patch{false};  // May be offered as a grammar tool where the transport has those.
    friend bool operator==(const ToolDeclaration&, const ToolDeclaration&) = default;
};

// One question: the frame, all that was said since, and the tools on offer.
struct Request {
    std::string
        request_id;  // Stable across a restart: the same question asked again has the same id.
    std::string model_ref;  // provider/model
    PromptFrame frame;
    std::vector<ConversationTurn> conversation;  // Behind the context blocks of the frame.
    std::vector<ToolDeclaration> tools;
    std::int64_t max_output_tokens{8192};
};

struct Reply {
    std::vector<domain::Block> blocks;
    std::string stop_reason;
    std::optional<domain::TokenUsage> usage{};
    std::optional<domain::CacheUsage> cache_usage{};
    json::object request_diagnostics{};  // request_lowering_mode and the like.
    domain::AttemptTimeline timeline{};  // Filled by the caller that made the attempts (Chain).
    friend bool operator==(const Reply&, const Reply&) = default;
};

enum class FailureKind {
    Timeout,
    Connection,
    RateLimited,
    ServerError,
    AuthError,
    ContractError,
    InvalidResponse,
    UnsupportedTransport,
    ContextLengthExceeded,
    Cancelled,
    Unknown,
};
BOOST_DESCRIBE_ENUM(FailureKind, Timeout, Connection, RateLimited, ServerError, AuthError,
                    ContractError, InvalidResponse, UnsupportedTransport, ContextLengthExceeded,
                    Cancelled, Unknown)

struct Failure {
    FailureKind kind{FailureKind::Unknown};
    std::string message;  // One concise sentence; no secrets, no dump.
    std::optional<std::int64_t> status{};
    std::optional<std::chrono::milliseconds> retry_after{};
    std::optional<domain::TokenUsage> usage{};
    std::optional<domain::TransportDiagnostics> diagnostics{};
    domain::AttemptTimeline timeline{};
    friend bool operator==(const Failure&, const Failure&) = default;
};

using Outcome = std::expected<Reply, Failure>;

// Text as it streams in: for people to watch, never the truth. The reply is.
using Progress = std::function<void(std::string_view text_delta)>;

// A question on its way. Dropping it does nothing, as the transport keeps it until `done` was
// called; cancel() really closes the connection, and the outcome still arrives, as
// FailureKind::Cancelled.
class Exchange {
public:
    virtual ~Exchange() = default;
    virtual void cancel() = 0;
};

// One transport to one endpoint. Used from the loop's thread only.
class Provider {
public:
    virtual ~Provider() = default;

    // Sends one request, once: no retries here. `done` is called exactly once, on the loop, and
    // never before ask() has returned. `progress` may be empty.
    virtual std::shared_ptr<Exchange> ask(Request request, Progress progress,
                                          std::move_only_function<void(Outcome)> done) = 0;
};

}  // namespace provider
