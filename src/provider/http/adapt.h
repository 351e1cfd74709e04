// Fits the requests of a codec to one provider. Codecs write everything that some server takes;
// what this one takes of it is settings, a table of known providers, and what it has refused so
// far.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "provider/http/codec.h"

namespace provider {

// How much of a model's thinking is sent back with its messages.
enum class ReasoningReplay {
    All,     // Required by some servers when a turn has tool calls.
    Signed,  // What a signature protects; other servers refuse the rest.
    None,
};

struct Adaptation {
    std::vector<HttpHeader> headers{};  // Added; they replace headers of the same name.
    json::object extra_body{};          // Members of every body; they replace those of the codec.
    std::set<std::string> omit{};       // Members of the body that are never sent.
    bool max_completion_tokens{false};  // `max_tokens` goes out under this name.
    ReasoningReplay reasoning{ReasoningReplay::Signed};
};

// What a provider has refused, so that it is not sent again. Shared by the codecs of its models;
// used from the loop's thread only.
struct Refusals {
    std::set<std::string> fields{};               // Members of the body.
    std::set<std::string> nested{};               // Members of tools and content blocks.
    std::optional<bool> max_completion_tokens{};  // Which of the two names it takes.
    std::optional<ReasoningReplay> reasoning{};   // What it takes of it, or requires.
    friend bool operator==(const Refusals&, const Refusals&) = default;
};

// The body as it is sent.
json::object fit(json::object body, const Adaptation& adaptation, const Refusals& refusals);

// Reads `refusal`, the body of a 400 or 422 to a request with `body`. True when it names an
// optional field of that body, or thinking that was sent or left out; `refusals` then has it, and
// the next request does not repeat it. Each is learned once, so this ends. A field that the
// operator added is not optional.
bool learn(Refusals& refusals, std::string_view refusal, const json::object& body,
           const Adaptation& adaptation);

// `codec` with its requests adapted. A request that is refused for an optional field is sent again
// without it, in the same exchange; each field costs at most one request. `refusals` is not null.
std::unique_ptr<Codec> adapt(std::unique_ptr<Codec> codec, Adaptation adaptation,
                             std::shared_ptr<Refusals> refusals);

}  // namespace provider
