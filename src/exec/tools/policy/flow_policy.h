// May a call be made on the word of those who asked for it?
//
// Untrusted input may be read, thought about and answered. It is no instruction: a call that
// changes something, or that sends something to a party it names (Tool::sends_out), needs one, of
// the operator or of the runtime, or the operator's own agreement to that very call.
#pragma once

#include <optional>
#include <string>

#include "domain/tool.h"

namespace tools {

// The kinds of its two errors.
inline constexpr std::string_view kUntrustedInstructions = "untrusted_instructions";
inline constexpr std::string_view kNeedsApproval = "needs_operator_approval";

// Whether instructions of this class came from an external sender: they are evidence.
bool is_external(domain::AuthorityClass authority);

// Why `call` must not be made under `policy`, or nothing. `risk` is that of the call. The kind is
// kNeedsApproval where the operator is to be asked.
std::optional<domain::ToolError> flow_refusal(const domain::ToolCall& call, domain::RiskLevel risk,
                                              domain::ExternalCalls policy);

// Nor is a change made of text in which a credential of the runtime stood: what would be written or
// run is the mark in its place, over the credential itself at worst.
std::optional<domain::ToolError> mark_refusal(const domain::ToolCall& call, domain::RiskLevel risk);

// The first of the two once the operator has been asked, under `proposal`.
domain::ToolError proposed(const domain::ToolCall& call, const std::string& proposal);
// And when they could not be asked.
domain::ToolError not_proposed(const domain::ToolCall& call, const std::string& why);

}  // namespace tools
