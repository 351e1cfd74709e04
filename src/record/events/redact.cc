#include "record/events/redact.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace events {
namespace {

constexpr std::array<std::string_view, 22> kSecretNames{
    "access_token", "api_key",       "apikey",        "auth_token",          "authorization",
    "bearer_token", "client_secret", "cookie",        "credential_material", "id_token",
    "passwd",       "password",      "private_key",   "proxy_authorization", "refresh_token",
    "secret",       "secret_key",    "session_token", "set_cookie",          "token",
    "trigger_url",  "x_api_key"};
static_assert(std::ranges::is_sorted(kSecretNames));

constexpr std::string_view kCapability = "cb_";
constexpr std::size_t kCapabilityDigits = 32;

// "X-Api-Key" -> "x_api_key"
bool is_secret_name(std::string_view key) {
    std::string name(key);
    for (char& c : name)
        c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return std::ranges::binary_search(kSecretNames, std::string_view(name));
}

bool is_capability_at(std::string_view text, std::size_t at) {
    const auto digits = text.substr(at + kCapability.size(), kCapabilityDigits);
    return digits.size() == kCapabilityDigits &&
           std::ranges::all_of(digits, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

void redact_capabilities(json::string& text) {
    std::size_t at = std::string_view(text).find(kCapability);
    if (at == std::string_view::npos) return;
    std::string out(text);
    for (; at != std::string::npos; at = out.find(kCapability, at + kCapability.size()))
        if (is_capability_at(out, at))
            out.replace(at + kCapability.size(), kCapabilityDigits, kRedacted);
    text = out;
}

}  // namespace

void redact_secrets(json::value& data) {
    if (auto* object = data.if_object()) {
        for (auto& member : *object) {
            auto* text = member.value().if_string();
            if (text && !text->empty() && is_secret_name(std::string_view(member.key())))
                *text = kRedacted;
            else
                redact_secrets(member.value());
        }
    } else if (auto* array = data.if_array()) {
        for (auto& item : *array) redact_secrets(item);
    } else if (auto* text = data.if_string()) {
        redact_capabilities(*text);
    }
}

}  // namespace events
