// A case of cases/, as it is written there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace injection {

// One round of the model: a call, or a text that ends the turn.
struct Round {
    std::string tool;
    std::string input;  // JSON, with {task} in it.
    std::string text;
};

struct Case {
    std::string family;  // The file's name.
    std::string name;
    std::string enters;
    std::string says;
    std::vector<Round> rounds;
    bool is_honest{false};

    // How the test's parameter is shown.
    friend void PrintTo(const Case& shown, std::ostream* out) {
        *out << shown.family << ": " << shown.name;
    }
};

// All of them; a line that is not understood ends the program with its place.
std::vector<Case> read_cases(bool honest);
// The calls of attacks that are one call each, by all routes that attacks use; those of the files
// themselves are not repeated.
std::vector<Case> spread_cases();

}  // namespace injection
