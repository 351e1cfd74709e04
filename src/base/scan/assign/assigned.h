// The value that a text gives to a name, in the syntaxes of configuration, programs, markup,
// command lines and speech.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace scan {

// Bytes of a name that are read on each side of its keyword.
inline constexpr std::size_t kNameBytesMax = 64;
// Bytes behind a keyword within which its value ends.
inline constexpr std::size_t kAssignedBytesMax = 1536;
// Words of a quoted value that are offered, each as a value: "Bearer abc".
inline constexpr std::size_t kPartsMax = 6;

enum class Syntax {
    Quoted,  // name = "value", <name>value</name>
    Bare,    // name = value, name: value, --name value
    Spoken,  // the name is value; name on one line and value on the next
};

struct Assigned {
    std::string_view name;   // In the spelling of the text: API_KEY, apiKey.
    std::string_view value;  // Both are views into the text.
    Syntax syntax{Syntax::Bare};
    std::string_view prior{};  // The word before the name: "cache" in "Cache key: …".
};

// True ends the visit.
using VisitAssigned = std::function<bool(const Assigned&)>;

// Visits the value of the name whose keyword ends at `keyword_end`, or its words, in order. Looks
// at most kNameBytesMax bytes back and kAssignedBytesMax forth.
void visit_assigned(std::string_view text, std::size_t keyword_end, const VisitAssigned& visit);

// True for what stands where a secret would: a variable, a call, a path, a template, a type.
bool is_reference(std::string_view value);

// Whether a value with this name is a secret, by the two of them.
bool is_assigned_secret(const Assigned& assigned);

}  // namespace scan
