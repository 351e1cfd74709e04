// What a text says, judged by the rules: secrets, payloads, instructions, claims about policy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/scan/scanner.h"
#include "domain/gate.h"

namespace gate {

// The rules of the gate, without those for secrets. Read once; safe from any thread.
const std::vector<scan::Rule>& content_rules();

// Those for secrets and these: what a verdict is made by, with the engine built with the program.
scan::ScannerOptions all_rules();
// That engine. Its file has the rules in the same order.
std::string_view prepared_rules();

// True when the sentence around a hit reports a request of others, instead of making it.
bool is_reported(std::string_view text, std::size_t begin, std::size_t end);

struct Hit {
    scan::Finding finding;
    std::string message;  // What the rule says, as a sentence.
};

// How much of a text is judged.
enum class Scope {
    Everything,
    Secrets,  // For artifacts: what they hold is not read as words of the result.
};

struct Reading {
    Scope scope{Scope::Everything};
    // A command is quoted as what ran. Of what is in it only secrets count.
    std::size_t command_begin{0};
    std::size_t command_end{0};
};

// With so many hits the text is judged no further: it will not be accepted.
inline constexpr std::size_t kHitsMax = 128;

// The hits in `text`, in its order, with encoded parts looked into: all of them, or the first
// kHitsMax and some more.
std::vector<Hit> judge(const scan::Scanner& scanner, std::string_view text, const Reading& reading);

// The surroundings of a hit on its line, with all that was found taken out.
std::string excerpt(std::string_view text, const scan::Finding& finding,
                    const std::vector<Hit>& hits);

}  // namespace gate
