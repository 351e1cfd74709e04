#include "provider/http/adapt.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace provider {
namespace {

constexpr std::array<std::string_view, 10> kOptional{"prompt_cache_key",
                                                     "parallel_tool_calls",
                                                     "stream_options",
                                                     "reasoning",
                                                     "reasoning_effort",
                                                     "include",
                                                     "store",
                                                     "tool_choice",
                                                     "context_management",
                                                     "max_output_tokens"};
constexpr std::array<std::string_view, 2> kNestedOptional{"strict", "cache_control"};
constexpr std::size_t kRefusalBytesMax = 64 * 1024;
constexpr const char* kReasoning = "reasoning_content";
constexpr std::string_view kMaxTokens = "max_tokens";
constexpr std::string_view kMaxCompletionTokens = "max_completion_tokens";

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Whether `text` names `field` as a whole. A field that is an English word has to be marked as a
// name: in quotes, as a part of a path, or before a colon.
bool names(std::string_view text, std::string_view field) {
    constexpr std::string_view kMarks = "'\"`.[]:";
    for (std::size_t at = text.find(field); at != text.npos; at = text.find(field, at + 1)) {
        const std::size_t end = at + field.size();
        const char before = at > 0 ? text[at - 1] : ' ';
        const char after = end < text.size() ? text[end] : ' ';
        if (is_word(before) || is_word(after)) continue;
        if (field.contains('_') || kMarks.contains(before) || kMarks.contains(after)) return true;
    }
    return false;
}

bool has(const json::object& body, std::string_view name) {
    return body.contains(json::string_view(name.data(), name.size()));
}

void erase(json::object& body, std::string_view name) {
    body.stable_erase(json::string_view(name.data(), name.size()));
}

bool is_thinking(const json::value& block) {
    const std::string type = base::string_at(block, "type");
    return type == "thinking" || type == "redacted_thinking";
}

bool is_kept(const json::value& block, ReasoningReplay replay) {
    if (!is_thinking(block) || replay == ReasoningReplay::All) return true;
    if (replay == ReasoningReplay::None) return false;
    return base::string_at(block, "type") == "redacted_thinking" ||
           !base::string_at(block, "signature").empty();
}

// Calls `visit` with each message of the body.
template <class Visit>
void each_message(json::object& body, const Visit& visit) {
    auto* messages = body.if_contains("messages");
    if (!messages || !messages->is_array()) return;
    for (auto& message : messages->get_array())
        if (message.is_object()) visit(message.get_object());
}

bool has_reasoning(const json::object& body) {
    const auto* messages = body.if_contains("messages");
    if (!messages || !messages->is_array()) return false;
    return std::ranges::any_of(messages->get_array(), [](const json::value& message) {
        if (base::find(message, kReasoning)) return true;
        const auto* content = base::find(message, "content");
        return content && content->is_array() &&
               std::ranges::any_of(content->get_array(), is_thinking);
    });
}

// Servers that require the thinking of a message with calls require it of all such messages, also
// of those that another model wrote.
void fill_reasoning(json::object& body) {
    if (!has_reasoning(body)) return;
    each_message(body, [](json::object& message) {
        if (message.contains("tool_calls") && !message.contains(kReasoning))
            message[kReasoning] = " ";
    });
}

void replay(json::object& body, ReasoningReplay replay) {
    each_message(body, [&](json::object& message) {
        if (replay != ReasoningReplay::All) message.stable_erase(kReasoning);
        auto* content = message.if_contains("content");
        if (!content || !content->is_array()) return;
        json::array kept;
        for (auto& block : content->get_array())
            if (is_kept(block, replay)) kept.push_back(std::move(block));
        content->get_array() = std::move(kept);
    });
    if (replay == ReasoningReplay::All) fill_reasoning(body);
}

void erase_nested(json::value& value, std::string_view name) {
    if (auto* list = value.if_array()) {
        for (auto& entry : *list) erase_nested(entry, name);
    } else if (auto* object = value.if_object()) {
        erase(*object, name);
        for (const char* inner : {"function", "content"})
            if (auto* found = object->if_contains(inner)) erase_nested(*found, name);
    }
}

void rename(json::object& body, std::string_view from, std::string_view to) {
    if (!has(body, from)) return;
    json::object renamed;
    for (auto& [name, value] : body)
        renamed[name == json::string_view(from.data(), from.size())
                    ? json::string_view(to.data(), to.size())
                    : name] = std::move(value);
    body = std::move(renamed);
}

void set_header(std::vector<HttpHeader>& headers, const HttpHeader& header) {
    std::erase_if(headers,
                  [&](const HttpHeader& known) { return lower(known.name) == lower(header.name); });
    headers.push_back(header);
}

ReasoningReplay reasoning_of(const Adaptation& adaptation, const Refusals& refusals) {
    return refusals.reasoning.value_or(adaptation.reasoning);
}

bool takes_completion_tokens(const Adaptation& adaptation, const Refusals& refusals) {
    return refusals.max_completion_tokens.value_or(adaptation.max_completion_tokens);
}

bool learn_max_tokens(Refusals& refusals, std::string_view refusal, const json::object& body) {
    if (refusals.max_completion_tokens || !names(refusal, kMaxCompletionTokens)) return false;
    if (!has(body, kMaxTokens) && !has(body, kMaxCompletionTokens)) return false;
    refusals.max_completion_tokens = has(body, kMaxTokens);
    return true;
}

bool learn_reasoning(Refusals& refusals, std::string_view refusal, const json::object& body,
                     const Adaptation& adaptation) {
    if (refusals.reasoning) return false;
    const bool names_signature = names(refusal, "signature");
    if (!names_signature && !refusal.contains(kReasoning) && !refusal.contains("thinking"))
        return false;
    const bool is_missing =
        !names_signature && (refusal.contains("missing") || refusal.contains("passed back") ||
                             refusal.contains("required"));
    const auto now = reasoning_of(adaptation, refusals);
    if (is_missing && now != ReasoningReplay::All) {
        refusals.reasoning = ReasoningReplay::All;
        return true;
    }
    if (is_missing || !has_reasoning(body)) return false;
    refusals.reasoning =
        now == ReasoningReplay::All ? ReasoningReplay::Signed : ReasoningReplay::None;
    return true;
}

struct Core {
    std::unique_ptr<Codec> codec;
    Adaptation adaptation;
    std::shared_ptr<Refusals> refusals;
};

EncodedRequest adapted(std::shared_ptr<Core> core, std::shared_ptr<const Request> request,
                       EncodedRequest encoded);

// Reads the answer as the codec does, and whether an optional field was refused.
class AdaptedDecoder final : public Decoder {
public:
    AdaptedDecoder(std::shared_ptr<Core> core, std::shared_ptr<const Request> request,
                   json::object body, std::unique_ptr<Decoder> inner)
        : core_(std::move(core)),
          request_(std::move(request)),
          body_(std::move(body)),
          inner_(std::move(inner)) {}

    Outcome decode(const HttpResponse& response, base::Time now) override {
        const bool is_refusal = response.status == 400 || response.status == 422;
        if (is_refusal)
            refusal_ = lower(std::string_view(response.body).substr(0, kRefusalBytesMax));
        return inner_->decode(response, now);
    }

    EventReader* events() override { return inner_->events(); }

    std::optional<EncodedRequest> replacement(const Outcome& outcome) override {
        if (auto instead = inner_->replacement(outcome))
            return adapted(core_, request_, std::move(*instead));
        const bool may_adapt = !outcome && !refusal_.empty() &&
                               outcome.error().kind != FailureKind::ContextLengthExceeded;
        if (!may_adapt || !learn(*core_->refusals, refusal_, body_, core_->adaptation))
            return std::nullopt;
        auto again = core_->codec->encode(*request_);
        if (!again) return std::nullopt;
        return adapted(core_, request_, std::move(*again));
    }

private:
    std::shared_ptr<Core> core_;
    std::shared_ptr<const Request> request_;
    json::object body_;  // As it was sent.
    std::unique_ptr<Decoder> inner_;
    std::string refusal_;
};

EncodedRequest adapted(std::shared_ptr<Core> core, std::shared_ptr<const Request> request,
                       EncodedRequest encoded) {
    encoded.body = fit(std::move(encoded.body), core->adaptation, *core->refusals);
    for (const auto& header : core->adaptation.headers) set_header(encoded.headers, header);
    encoded.decoder = std::make_unique<AdaptedDecoder>(std::move(core), std::move(request),
                                                       encoded.body, std::move(encoded.decoder));
    return encoded;
}

class AdaptedCodec final : public Codec {
public:
    explicit AdaptedCodec(std::shared_ptr<Core> core) : core_(std::move(core)) {}

    std::expected<EncodedRequest, Failure> encode(const Request& request) override {
        auto encoded = core_->codec->encode(request);
        if (!encoded) return encoded;
        return adapted(core_, std::make_shared<const Request>(request), std::move(*encoded));
    }

private:
    std::shared_ptr<Core> core_;  // Shared: an exchange may outlive its codec.
};

}  // namespace

json::object fit(json::object body, const Adaptation& adaptation, const Refusals& refusals) {
    if (takes_completion_tokens(adaptation, refusals))
        rename(body, kMaxTokens, kMaxCompletionTokens);
    replay(body, reasoning_of(adaptation, refusals));
    for (const auto& name : adaptation.omit) erase(body, name);
    for (const auto& name : refusals.fields) erase(body, name);
    for (const auto& name : refusals.nested)
        for (const char* member : {"tools", "messages", "system"})
            if (auto* found = body.if_contains(member)) erase_nested(*found, name);
    for (const auto& [name, value] : adaptation.extra_body) body[name] = value;
    return body;
}

bool learn(Refusals& refusals, std::string_view refusal, const json::object& body,
           const Adaptation& adaptation) {
    bool learned = learn_max_tokens(refusals, refusal, body);
    learned = learn_reasoning(refusals, refusal, body, adaptation) || learned;
    for (const auto name : kOptional)
        if (has(body, name) && !has(adaptation.extra_body, name) && names(refusal, name))
            learned = refusals.fields.emplace(name).second || learned;
    for (const auto name : kNestedOptional)
        if (names(refusal, name)) learned = refusals.nested.emplace(name).second || learned;
    return learned;
}

std::unique_ptr<Codec> adapt(std::unique_ptr<Codec> codec, Adaptation adaptation,
                             std::shared_ptr<Refusals> refusals) {
    CHECK(refusals != nullptr, "what was refused is kept somewhere");
    return std::make_unique<AdaptedCodec>(
        std::make_shared<Core>(std::move(codec), std::move(adaptation), std::move(refusals)));
}

}  // namespace provider
