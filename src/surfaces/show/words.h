// States in the words of people. Names of states are for JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "domain/turn.h"
#include "service/service.h"

namespace show {

// "waiting for your next prompt"
std::string waiting_text(domain::WaitingReason reason);
// "ready", "working", of the name of a domain::AgentStatus; any other name as it is.
std::string status_text(std::string_view status);
// "waiting for you", of the name of a scheduling posture.
std::string posture_text(std::string_view posture);
// What would let the agent of this AgentSummary or AgentListEntry continue.
std::string state_text(const json::value& summary);
// The text at a JSON pointer, "-" when there is none; safe to print.
std::string pointer_text(const json::value& value, std::string_view pointer);
// The summary of failed requests to models, for people: the causes without the names of their
// kinds. "a/m: fail_fast (auth_error, status=401): X" is "a/m: X".
std::string failure_text(std::string_view summary);
// "a/m failed (try 1 of 5), again in 2.0s: overloaded", of a Retry.
std::string retry_text(const service::Delta& delta);
// "Undid 2 patches in /work/x: a.txt, b.txt", in one line.
std::string undone_text(const service::Undone& undone);
// "950", "4.2k", "1.3M"
std::string count_text(std::int64_t number);

}  // namespace show
