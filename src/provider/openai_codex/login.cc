#include "provider/openai_codex/login.h"

#include "base/json.h"
#include "base/os/files.h"
#include "base/scan/secrets.h"
#include "base/text.h"

namespace provider {
namespace {

constexpr std::size_t kFileBytesMax = 1024 * 1024;
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Base64 as tokens have it: the URL alphabet, without padding. Empty for anything else.
std::string decode_base64url(std::string_view text) {
    std::string out;
    unsigned bits = 0;
    int count = 0;
    for (const char c : text) {
        const std::size_t digit = kAlphabet.find(c);
        if (digit == kAlphabet.npos) return "";
        bits = (bits << 6U | static_cast<unsigned>(digit)) & 0xFFFFU;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        out += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xFFU);
    }
    return out;
}

// The claims of a token, which may also be given as an object.
json::value claims_of(const json::value* token) {
    if (!token) return nullptr;
    if (token->is_object()) return *token;
    if (!token->is_string()) return nullptr;
    std::string_view text = token->get_string();
    const std::size_t first = text.find('.');
    if (first == text.npos) return nullptr;
    text.remove_prefix(first + 1);
    auto claims = base::parse_json(decode_base64url(text.substr(0, text.find('.'))));
    return claims ? std::move(*claims) : json::value(nullptr);
}

std::string account_in(const json::value& claims) {
    for (const auto* name : {"account_id", "chatgpt_account_id"})
        if (auto id = base::string_at(claims, name); !id.empty()) return id;
    const auto* auth = base::find(claims, "https://api.openai.com/auth");
    return auth ? base::string_at(*auth, "chatgpt_account_id") : "";
}

// Every secret in the file: its tokens and its key.
std::vector<std::string> secrets_in(std::string_view text) {
    std::vector<std::string> list;
    const auto document = base::parse_json(text);
    if (!document) return list;
    list.push_back(base::string_at(*document, "OPENAI_API_KEY"));
    if (const auto* tokens = base::find(*document, "tokens"))
        for (const auto* name : {"access_token", "refresh_token", "id_token"})
            list.emplace_back(base::trim(base::string_at(*tokens, name)));
    return list;
}

}  // namespace

base::Result<CodexLogin> parse_codex_login(std::string_view text) {
    const auto document = base::parse_json(text);
    const auto* tokens = document ? base::find(*document, "tokens") : nullptr;
    if (!tokens)
        return base::fail(base::ErrorCode::InvalidInput,
                          "it holds no Codex login; log in with the Codex command line");
    CodexLogin login{std::string(base::trim(base::string_at(*tokens, "access_token"))),
                     base::string_at(*tokens, "account_id")};
    if (login.access_token.empty())
        return base::fail(base::ErrorCode::InvalidInput,
                          "it holds no access token; log in with the Codex command line");
    for (const auto* name : {"id_token", "access_token"})
        if (login.account_id.empty())
            login.account_id = account_in(claims_of(base::find(*tokens, name)));
    if (login.account_id.empty())
        return base::fail(base::ErrorCode::InvalidInput,
                          "it names no account; log in with the Codex command line again");
    return login;
}

base::Result<CodexLogin> read_codex_login(const std::filesystem::path& codex_home) {
    const auto file = codex_home / "auth.json";
    const auto text = base::read_file(file, kFileBytesMax);
    if (!text && text.error().code == base::ErrorCode::NotFound)
        return base::fail(base::ErrorCode::NotFound,
                          "{} does not exist; log in with the Codex command line", file.string());
    if (!text) return std::unexpected(text.error());
    scan::know(secrets_in(*text));
    auto login = parse_codex_login(*text);
    if (!login)
        return base::fail(login.error().code, "{}: {}", file.string(), login.error().message);
    return login;
}

}  // namespace provider
