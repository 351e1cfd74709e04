// The credentials that this process knows, and text without them.
//
// There is one set of them for the process, as there is one log. What is kept, shown or sent passes
// here where it enters the program: the output of tools and tasks, the replies and failures of
// providers, lines of the log. A credential that is learnt on the way, such as a renewed login,
// counts at once and everywhere.
//
// Any thread may call. With nothing known and no suspects wanted, nothing is scanned or copied.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/scan/redact.h"

namespace scan {

// Replaces a known credential.
inline constexpr std::string_view kCredentialMark = "[redacted:known-credential]";
// So much of a credential is not recognised where a text was cut inside it.
inline constexpr std::size_t kPartBytesMin = 8;

// Looks for these from now on, too. Left out is what protects nothing and is met everywhere: less
// than kKnownBytesMin, and words of up to 11 letters ("ollama").
void know(const std::vector<std::string>& credentials);
// Whether what only looks like a secret is taken out, too.
void set_suspects(Suspects suspects);
// As at the start of the program, for tests.
void know_nothing();

// Is anything looked for at all?
bool is_guarding();
// Another number whenever something else is looked for than before.
std::uint64_t version();

// Without known credentials and, where set, without what looks like a secret.
std::string without_secrets(std::string text);
// Without known credentials only, for text that must stay as it is otherwise.
std::string without_credentials(std::string text);
// The same for the beginning or the end of a longer text, which may have been cut inside one.
enum class Cut { AtEnd, AtStart };
std::string without_secrets(std::string text, Cut cut);

// The texts in a value, names of members included; its structure and numbers stay.
void remove_secrets(json::value& value);
void remove_credentials(json::value& value);
// As remove_credentials(), but only what is written in one of its usual spellings and not what is
// packed or encoded more than once: quick, for text that was cleaned where it entered.
void remove_spelled_credentials(json::value& value);

// Text that people watch while it arrives, let through word by word: no credential has a blank
// or goes beyond ASCII.
class LiveText {
public:
    std::string feed(std::string_view piece);
    std::string finish();

private:
    std::string held_;
};

}  // namespace scan
