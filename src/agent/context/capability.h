// The agent's wake capability in its prompt, without its secret.
//
// A prompt is stored with its turn, a capability's URL is not: the block holds a placeholder, and
// the URL is put in its place when the prompt is sent or shown to the operator.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "domain/ids.h"
#include "domain/message.h"
#include "provider/provider.h"

namespace context {

struct Capability {
    domain::ExternalTriggerId external_trigger_id;
};

// Gives the URL of a capability.
using UrlOf = std::function<std::string(const domain::ExternalTriggerId&)>;

inline constexpr std::string_view kCapabilitySection = "default_external_ingress";
inline constexpr std::size_t kHintPayloadChars = 4'000;

// The text of the block default_external_ingress.
std::string capability_text(const Capability& capability);

// Replaces the placeholder by the URL, in the block made for it and in no other: text from
// elsewhere could name the capability of another agent.
void reveal(std::vector<provider::PromptBlock>& blocks, const UrlOf& url_of);

// The content of a tick's wake hint, fenced as evidence; empty for any other message.
std::string hint_text(const domain::Message& message);

}  // namespace context
