#include "base/scan/known.h"

#include <algorithm>
#include <set>

#include "base/scan/encodings.h"
#include "base/scan/rule.h"

namespace scan {
namespace {

// Base64 of a text that starts `shift` bytes into a group: without the characters at both ends
// that also depend on its neighbours.
std::string base64_inside(std::string_view credential, std::size_t shift, Alphabet alphabet) {
    const std::string text = base64(std::string(shift, '\0') + std::string(credential), alphabet);
    const std::size_t first = (shift * 8 + 5) / 6;
    const std::size_t last = (shift + credential.size()) * 8 / 6;
    return text.substr(first, last - first);
}

}  // namespace

std::vector<Spelling> spellings(std::string_view credential) {
    if (credential.size() < kKnownBytesMin) return {};
    std::set<std::string> plain{std::string(credential), json_escaped(credential)};
    std::string backwards(credential);
    std::ranges::reverse(backwards);
    plain.insert(backwards);
    for (const std::size_t shift : {0, 1, 2})
        for (const auto alphabet : {Alphabet::Standard, Alphabet::Url})
            plain.insert(base64_inside(credential, shift, alphabet));
    std::vector<Spelling> list;
    for (const auto& text : plain) list.push_back({text});
    list.push_back({hex(credential), true});
    if (auto text = percent_encoded(credential); !plain.contains(text))
        list.push_back({std::move(text), true});
    return list;
}

std::vector<Needle> needles(std::string_view credential) {
    std::vector<Needle> list;
    for (const auto& [text, any_case] : spellings(credential)) {
        const auto head = std::string_view(text).substr(0, kNeedleBytesMax);
        list.push_back(
            {(any_case ? "(?i)" : "") + literal(head), head.size(), text.size() - head.size()});
    }
    return list;
}

}  // namespace scan
