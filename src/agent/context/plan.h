// Which parts of a prompt are shown when they do not all fit. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"

namespace context {

// Parts that are left out first have the highest tier. Pinned ones are always shown, whole.
enum class Tier { Pinned, Important, Useful, Optional };
BOOST_DESCRIBE_ENUM(Tier, Pinned, Important, Useful, Optional)

struct Candidate {
    std::string name;
    std::string text;
    Tier tier{Tier::Pinned};
    // It may be shortened to so many characters before it is left out; 0: it may not.
    std::size_t chars_min{0};
    friend bool operator==(const Candidate&, const Candidate&) = default;
};

enum class Verdict { Shown, Shortened, LeftOut };
BOOST_DESCRIBE_ENUM(Verdict, Shown, Shortened, LeftOut)

// What became of one candidate, for `holon debug prompt`.
struct Decision {
    std::string name;
    Tier tier{Tier::Pinned};
    Verdict verdict{Verdict::Shown};
    std::int64_t tokens{0};        // An estimate, of the whole.
    std::int64_t tokens_shown{0};  // Of what is shown.
    friend bool operator==(const Decision&, const Decision&) = default;
};
BOOST_DESCRIBE_STRUCT(Decision, (), (name, tier, verdict, tokens, tokens_shown))

struct Plan {
    std::vector<Candidate> shown{};     // In the order of the candidates.
    std::vector<Decision> decisions{};  // One for each candidate.
};

// Shortens and leaves out candidates, the highest tier first and in it the last first, until the
// rest fits. Without a bound everything is shown. Pinned ones are shown even if they do not fit.
Plan plan(std::vector<Candidate> candidates, std::optional<std::int64_t> tokens_max);

}  // namespace context
