// Long texts inside records, stored once by their digest however many records of an agent hold
// them. Agents share none, so that a damaged one harms one agent.
//
// A record is stored with a reference in the place of each such text. A reference is a string, so a
// record with references still decodes: checks over all rows need not resolve them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace domain {
struct Message;
struct ToolExecution;
struct TranscriptEntry;
}  // namespace domain

namespace sql {

// Shorter texts cost less than a reference and its row. The parts of a prompt are shorter, but they
// are the same in every turn.
inline constexpr std::size_t kBodyBytesMin = 1024;
inline constexpr std::size_t kPromptBodyBytesMin = 160;

inline constexpr std::string_view kBodyMark = "holon-body:";
// Stands for any JSON value, whose text is the body. Only frames have such references.
inline constexpr std::string_view kJsonBodyMark = "holon-json:";
// The member of a frame that hardly changes from turn to turn: one body instead of one for each of
// its parts.
inline constexpr std::string_view kSharedFrameMember = "system_blocks";

struct Body {
    std::string hash;
    std::string text;  // As it is stored: a JSON string.
};

// A record as it is stored, and the bodies that it refers to, each once.
struct Shared {
    std::string text;
    std::vector<Body> bodies;
};

// Replaces, in a record of this agent, every text of at least `bytes_min` by a reference, and also
// one that merely looks like a reference. InvalidInput when there is text that is not UTF-8.
base::Result<Shared> share(std::string_view agent, json::value record,
                           std::size_t bytes_min = kBodyBytesMin);
// The same for a frame, which is an object, with a bound of its own.
base::Result<Shared> share_frame(std::string_view agent, json::value frame);

// The digest that a string refers to, by either mark; empty when it is no reference.
std::string_view body_hash(std::string_view text);

// Records of these types may have references.
template <class T>
inline constexpr bool kSharesBodies = false;
template <>
inline constexpr bool kSharesBodies<domain::Message> = true;
template <>
inline constexpr bool kSharesBodies<domain::ToolExecution> = true;
template <>
inline constexpr bool kSharesBodies<domain::TranscriptEntry> = true;

}  // namespace sql
