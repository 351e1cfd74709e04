#include "provider/wire/outgoing.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/text.h"

namespace provider {
namespace {

bool is_invisible(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
}

// Most text: ASCII without a character to be shown. Blocks have no early end, so that the compiler
// makes a few vector instructions of each; a conversation is checked with every request.
bool is_plain(std::string_view text) {
    constexpr std::size_t kBlock = 64;
    const auto is_special = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_space = byte == '\t' || byte == '\n' || byte == '\r';
        return static_cast<unsigned char>((byte < 0x20) & !is_space) |
               static_cast<unsigned char>(byte >= 0x7F);
    };
    while (!text.empty()) {
        unsigned char special = 0;
        const std::string_view block = text.substr(0, kBlock);
        if (block.size() == kBlock)
            for (std::size_t at = 0; at < kBlock; ++at)
                special = static_cast<unsigned char>(special | is_special(block[at]));
        else
            for (const char c : block)
                special = static_cast<unsigned char>(special | is_special(c));
        if (special != 0) return false;
        text.remove_prefix(block.size());
    }
    return true;
}

}  // namespace

json::string wire_text(std::string_view text) {
    if (is_plain(text)) return json::string(text.data(), text.size());
    const std::string clean = base::to_utf8(text);
    if (std::ranges::none_of(clean, is_invisible)) return json::string(clean);
    json::string out;
    out.reserve(clean.size());
    for (const char c : clean)
        if (is_invisible(c))
            out.append(fmt::format("\\x{:02x}", static_cast<unsigned char>(c)));
        else
            out.push_back(c);
    return out;
}

bool is_blank(std::string_view text) {
    return base::trim(text).empty();
}

std::string wire_name(std::string_view name) {
    std::string out(name.substr(0, kNameCharsMax));
    for (char& c : out)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_') c = '_';
    return out.empty() ? "_" : out;
}

json::object wire_input(const json::value& input) {
    if (input.is_object()) return input.get_object();
    return {{"input", input}};
}

std::string wire_arguments(const json::value& input) {
    std::string text =
        input.is_object() ? base::canonical_json(input) : base::canonical_json(wire_input(input));
    return base::is_utf8(text) ? text : base::to_utf8(text);
}

}  // namespace provider
