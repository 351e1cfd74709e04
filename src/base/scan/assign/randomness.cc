#include "base/scan/assign/randomness.h"

#include <algorithm>
#include <cstddef>

#include "base/scan/engine/characters.h"
#include "base/scan/engine/encodings.h"

namespace scan {
namespace {

constexpr std::size_t kWordLettersMin = 4;
constexpr std::size_t kHexMin = 16;
// Means of kNeighbours: words of English and of program text have at least this in 96 of 100 cases,
// random letters in 5 to 16, by their number.
constexpr double kWordMean = 4.8;

// How usual it is for the second letter (column) to follow the first (row): 5 is what it would be
// if all pairs were equally frequent, each step doubles that.
constexpr std::string_view kNeighbours[26] = {
    "26763462604878061878554342", "51425120632621520453500130", "72547307606642842657532240",
    "63358333720433530553532230", "74786663423778465987364741", "50235511700522620544501030",
    "41317134500445520553410001", "60027110600232620434301010", "66766660102779860678260405",
    "30003000100000300030300000", "40126022500223200042202000", "73358342803722740165532161",
    "75348210602452670153500010", "73777582624435640278551030", "45663551414678560866656211",
    "72447324604633752756521141", "00002002000000001200500000", "83559452804565741577542060",
    "62638336704543662478623250", "72548307803543752776513361", "55535440501667250666100100",
    "60207110500120420223010000", "50024004500204420430101000", "30324200400132150035000310",
    "21203120300334251143001000", "30005000300020200000000000"};

bool is_word(std::string_view letters) {
    if (letters.size() < kWordLettersMin) return false;
    int sum = 0;
    for (std::size_t i = 0; i + 1 < letters.size(); ++i)
        sum += kNeighbours[(letters[i] | 32) - 'a']
                          [static_cast<std::size_t>((letters[i + 1] | 32) - 'a')] -
               '0';
    return sum >= kWordMean * static_cast<double>(letters.size() - 1);
}

// Behind the run of letters at `at`: "Word", "word" or "WORD".
std::size_t letters_end(std::string_view value, std::size_t at) {
    std::size_t end = at + 1;
    const bool is_capital = is_ascii_upper(value[at]);
    if (is_capital && end < value.size() && is_ascii_upper(value[end])) {
        while (end < value.size() && is_ascii_upper(value[end])) ++end;
        return end;
    }
    while (end < value.size() && is_ascii_lower(value[end])) ++end;
    return end;
}

}  // namespace

double word_share(std::string_view value) {
    if (value.empty()) return 0;
    std::size_t in_words = 0;
    for (std::size_t at = 0; at < value.size();) {
        if (!is_ascii_letter(value[at])) {
            ++at;
            continue;
        }
        const std::size_t end = letters_end(value, at);
        if (is_word(value.substr(at, end - at))) in_words += end - at;
        at = end;
    }
    return static_cast<double>(in_words) / static_cast<double>(value.size());
}

bool is_hex(std::string_view value) {
    return !value.empty() && std::ranges::all_of(value, is_hex_digit);
}

bool is_uuid(std::string_view value) {
    constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    if (value.size() != kShape.size()) return false;
    for (std::size_t i = 0; i < value.size(); ++i)
        if (kShape[i] == '-' ? value[i] != '-' : !is_hex_digit(value[i])) return false;
    return true;
}

int character_classes(std::string_view value) {
    bool lower = false, upper = false, figure = false, sign = false;
    for (const char c : value) {
        if (is_ascii_lower(c))
            lower = true;
        else if (is_ascii_upper(c))
            upper = true;
        else if (is_ascii_digit(c))
            figure = true;
        else
            sign = true;
    }
    return lower + upper + figure + sign;
}

bool looks_random(std::string_view value, std::size_t length_min) {
    if (value.size() < length_min) return false;
    const auto figures = std::ranges::count_if(value, is_ascii_digit);
    const auto letters = std::ranges::count_if(value, is_ascii_letter);
    if (is_uuid(value)) return entropy(value) >= 2.5;
    if (letters < (is_hex(value) ? 1 : 3)) return false;  // A number, a date, a version.
    if (is_hex(value)) return value.size() >= kHexMin && figures >= 2 && entropy(value) >= 2.6;
    // Words between many signs are a path or an identifier.
    const auto signs = std::ssize(value) - letters - figures;
    if (character_classes(value) < 2 && word_share(value) > 0.2) return false;
    if (figures == 0 && signs == 0 && character_classes(value) < 2 && value.size() < 20)
        return false;
    const double bits_min = value.size() < 16 ? 2.7 : value.size() < 24 ? 3.0 : 3.2;
    return entropy(value) >= bits_min && word_share(value) <= 0.42;
}

}  // namespace scan
