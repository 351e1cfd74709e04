// The seam to model APIs: one Request in, one Outcome out. A turn asks through it and knows no
// vendor; a transport implements it and knows no turn. conformance.h tests every promise made here.
//
// The types are plain values: copies are independent, and no member is a reference. Those with a
// description are also stored as JSON, so their member names stay readable for older homes.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "domain/media/media.h"
#include "domain/provider.h"
#include "provider/prompt_frame.h"

namespace provider {

// What was said to the model since the frame: input that joined the turn, or a summary of what was
// compacted. Each block keeps its own stability.
struct UserTurn {
    static constexpr std::string_view kTagKey = "role", kTag = "user";
    std::vector<PromptBlock> blocks;
    friend bool operator==(const UserTurn&, const UserTurn&) = default;
};
// What the model answered, as it came: text, thinking and tool calls in their order.
struct AssistantTurn {
    static constexpr std::string_view kTagKey = "role", kTag = "assistant";
    std::vector<domain::Block> blocks;
    friend bool operator==(const AssistantTurn&, const AssistantTurn&) = default;
};
// The result of one tool call. `tool_use_id` is that of a tool-use block in the AssistantTurn
// before.
struct ToolAnswer {
    std::string tool_use_id;
    std::string content;  // The receipt; the same text on every transport.
    bool is_error{false};
    // Images that belong to it. The content names each, so a model that is not shown them knows.
    std::optional<std::vector<domain::Media>> media{};
    friend bool operator==(const ToolAnswer&, const ToolAnswer&) = default;
};
// The results of all calls of the AssistantTurn right before it: every call has exactly one.
struct ToolResultsTurn {
    static constexpr std::string_view kTagKey = "role", kTag = "tool_results";
    std::vector<ToolAnswer> results;
    friend bool operator==(const ToolResultsTurn&, const ToolResultsTurn&) = default;
};
BOOST_DESCRIBE_STRUCT(UserTurn, (), (blocks))
BOOST_DESCRIBE_STRUCT(AssistantTurn, (), (blocks))
BOOST_DESCRIBE_STRUCT(ToolAnswer, (), (tool_use_id, content, is_error, media))
BOOST_DESCRIBE_STRUCT(ToolResultsTurn, (), (results))
// One piece of the conversation. The caller keeps the pairs: an AssistantTurn with calls is always
// followed by its ToolResultsTurn. Transports do not check it; a server refuses a broken pair.
using ConversationTurn = std::variant<UserTurn, AssistantTurn, ToolResultsTurn>;

// A list that is long and handed on often. Copies share it until one is changed; each keeps it
// alive.
template <class T>
class SharedList {
public:
    SharedList() = default;          // Empty.
    SharedList(std::vector<T> list)  // NOLINT(google-explicit-constructor)
        : list_(std::make_shared<std::vector<T>>(std::move(list))) {}
    SharedList(std::initializer_list<T> list) : SharedList(std::vector<T>(list)) {}

    // Valid while this copy lives and own() is not called on it; as the iterators are.
    const std::vector<T>& list() const {
        static const std::vector<T> none;
        return list_ ? *list_ : none;
    }
    auto begin() const { return list().begin(); }
    auto end() const { return list().end(); }
    bool empty() const { return list().empty(); }
    // For changes of this copy alone. Not while another thread makes or drops a copy.
    std::vector<T>& own() {
        if (!list_ || list_.use_count() > 1) list_ = std::make_shared<std::vector<T>>(list());
        return *list_;
    }
    friend bool operator==(const SharedList& a, const SharedList& b) {
        return a.list_ == b.list_ || a.list() == b.list();
    }

private:
    std::shared_ptr<std::vector<T>> list_;
};

// What earlier turns said: each round of a turn sends it again. Nothing of it is copied with it: a
// long conversation costs a new turn one pointer for each of its parts.
class History {
public:
    using Turn = std::shared_ptr<const ConversationTurn>;

    History() = default;
    // In the order in which they were said. No pointer is null.
    explicit History(std::vector<Turn> turns)
        : turns_(std::make_shared<std::vector<Turn>>(std::move(turns))) {}
    History(std::initializer_list<ConversationTurn> turns);

    // Valid while this copy lives and replace() is not called on it.
    std::span<const Turn> turns() const {
        return turns_ ? std::span<const Turn>(*turns_) : std::span<const Turn>();
    }
    bool empty() const { return turns().empty(); }
    // Replaces the part at `at`, which there is, in this copy alone. Not while another thread makes
    // or drops a copy.
    void replace(std::size_t at, ConversationTurn turn);
    friend bool operator==(const History& a, const History& b);  // Part by part.

private:
    std::shared_ptr<std::vector<Turn>> turns_;
};

// A tool as the registry publishes it. A transport may rewrite the schema into the form that its
// vendor takes, but never the name: calls come back under it.
struct ToolDeclaration {
    std::string name;
    std::string description;
    json::object input_schema;   // Transport-neutral: the true shape of the input.
    bool freeform_patch{false};  // May be offered as a grammar tool where the transport has those.
    bool web_search{false};      // The model's own search may be offered in its place.
    friend bool operator==(const ToolDeclaration&, const ToolDeclaration&) = default;
};

// In the order in which models are shown them.
using Tools = SharedList<ToolDeclaration>;

// One request to a model: the frame, what was said before and since, and the tools on offer. It is
// complete: a transport needs no earlier request to answer it, and may use one only to send fewer
// bytes. each_turn() has the order in which its parts are sent.
struct Request {
    // Stable across a restart: the same request made again has the same id.
    std::string request_id;
    std::string model_ref;  // provider/model
    PromptFrame frame;
    // What earlier turns said: between the context blocks of the frame that outlive the turn and
    // those that belong to it.
    History history{};
    std::vector<ConversationTurn> conversation;  // Of this turn, behind all context blocks.
    Tools tools{};
    std::int64_t max_output_tokens{8192};  // A bound for the reply; not every API takes one.
    // Rounds of this turn that were answered and are no longer in `conversation`: compacted.
    std::int64_t rounds_left_out{0};
    std::filesystem::path media_folder{};  // Where the files of `media` are.
    // The images that are shown, in base64, by their digest. A codec shows those alone; they are
    // filled in for models that take images (images/shows_images.h).
    std::map<std::string, std::shared_ptr<const std::string>> images{};
};

// Visits the context blocks that outlive the turn, as one UserTurn; the history; the context blocks
// of the turn; the conversation. Two UserTurns that meet where these parts join are one, so that
// the bytes of an earlier turn's request begin the request of a later turn. A turn that is visited
// is valid for that call of `visit` only.
void each_turn(const Request& request, const std::function<void(const ConversationTurn&)>& visit);

// Has the model answered before, in this turn or an earlier one? What was compacted does not count.
bool has_answers(const Request& request);

// A complete answer. A reply that was cut off or could not be read is a Failure instead, except one
// that reached max_output_tokens, whose stop_reason says so.
struct Reply {
    // In the model's order; may be empty, or only thinking. Calls have ids that are unique within
    // the reply; neither the tool's name nor its input was checked against the registry. The input
    // of a call whose arguments could not be read is their text; no tool takes a text.
    std::vector<domain::Block> blocks;
    std::string stop_reason;                    // In the vendor's words; for people and records.
    std::optional<domain::TokenUsage> usage{};  // Empty when the server did not report it.
    std::optional<domain::CacheUsage> cache_usage{};  // Likewise.
    std::optional<double> cost_usd{};    // Filled where the prices of the model are known.
    json::object request_diagnostics{};  // request_lowering_mode and the like; counts, no content.
    domain::AttemptTimeline timeline{};  // Filled by the caller that made the attempts (Chain).
    friend bool operator==(const Reply&, const Reply&) = default;
};

// Why there is no reply. The kind decides whether another try can help, but for two HTTP statuses:
// see classify.h. The names are stored and shown.
enum class FailureKind {
    Timeout,                // No connection, no answer, or no more of it, in time.
    Connection,             // None could be made, or it broke.
    RateLimited,            // Too many requests or tokens for now.
    ServerError,            // The server is in trouble, or too busy.
    AuthError,              // The credential is missing or refused, or its account has no credit.
    ContractError,          // The server refuses this request as it is, and would again.
    InvalidResponse,        // An answer that cannot be read, or that ends too early.
    UnsupportedTransport,   // This program does not know how to ask the model.
    ContextLengthExceeded,  // The prompt is too long for the model.
    Cancelled,              // By Exchange::cancel().
    Unknown,                // None of these.
};
BOOST_DESCRIBE_ENUM(FailureKind, Timeout, Connection, RateLimited, ServerError, AuthError,
                    ContractError, InvalidResponse, UnsupportedTransport, ContextLengthExceeded,
                    Cancelled, Unknown)

// What a failed request leaves. Nothing in it holds a credential, a header or a query.
struct Failure {
    FailureKind kind{FailureKind::Unknown};
    std::string message;                   // One concise sentence.
    std::optional<std::int64_t> status{};  // Of the HTTP response, if there was one.
    // How long the server asks to wait before the next request.
    std::optional<std::chrono::milliseconds> retry_after{};
    std::optional<domain::TokenUsage> usage{};  // What the failed request cost, where it is known.
    // How far the request came. Transports over HTTP fill it once a request was made.
    std::optional<domain::TransportDiagnostics> diagnostics{};
    domain::AttemptTimeline timeline{};  // As in Reply.
    friend bool operator==(const Failure&, const Failure&) = default;
};

// The end of one request: the reply, or why there is none.
using Outcome = std::expected<Reply, Failure>;

// A request has failed and another one follows. The text that came before is to be forgotten.
struct Retry {
    std::string model_ref;       // That was asked.
    std::string next_model_ref;  // That is asked next: the same, or the next candidate.
    std::int64_t attempt{0};     // Of model_ref, from 1.
    std::int64_t attempts_max{0};
    std::chrono::milliseconds wait{};  // Before the next request.
    std::string reason;                // One sentence.
    friend bool operator==(const Retry&, const Retry&) = default;
};
// What people may watch of a request: text as it streams in, and that it is sent again.
using News = std::variant<std::string_view, Retry>;
// Receives news on the loop, after ask() has returned and before the outcome. They are never the
// truth: the reply is, and after a failure the text is to be forgotten. It may cancel the exchange;
// then no more text comes.
using Progress = std::function<void(const News&)>;

// A request on its way. The transport keeps it until the outcome was delivered, so dropping the
// handle stops nothing and frees nothing early. Used from the loop's thread only.
class Exchange {
public:
    virtual ~Exchange() = default;

    // Ends the request and really closes its connection. Returns at once; the outcome still arrives
    // through `done`, as FailureKind::Cancelled, and never inside this call. Repeating it, or
    // calling it after the outcome, changes nothing.
    virtual void cancel() = 0;
};

// One transport to one endpoint, or several behind one (Chain). Used from the loop's thread only;
// any number of requests may be on their way at once.
class Provider {
public:
    virtual ~Provider() = default;

    // Sends one request and returns its handle, which is never null. `done` is called exactly once,
    // on the loop, and never before ask() has returned: also when the request cannot be sent. The
    // one exception is a loop that is destroyed first; then `done` is destroyed without a call.
    //
    // Takes ownership of `progress`, which may be empty, and of `done`; both are released with the
    // outcome, so they may hold the exchange. The provider itself may be dropped before that. A
    // transport does not retry: a failure is the outcome, and its kind says what to do next.
    virtual std::shared_ptr<Exchange> ask(Request request, Progress progress,
                                          std::move_only_function<void(Outcome)> done) = 0;
};

}  // namespace provider
