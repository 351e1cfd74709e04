#include "base/scan/assign/names.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/scan/engine/characters.h"

namespace scan {
namespace {

constexpr std::size_t kWordsMax = 12;  // The last ones of a longer name count.

// The words of an identifier in lower case: apiKey, API_KEY and api-key are all {api, key}.
std::vector<std::string> words_of(std::string_view name) {
    std::vector<std::string> words(1);
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        if (!is_ascii_letter(c)) {
            if (!words.back().empty()) words.emplace_back();
            continue;
        }
        const bool is_hump =
            i > 0 && is_ascii_upper(c) &&
            (is_ascii_lower(name[i - 1]) ||
             (is_ascii_upper(name[i - 1]) && i + 1 < name.size() && is_ascii_lower(name[i + 1])));
        if (is_hump && !words.back().empty()) words.emplace_back();
        words.back() += static_cast<char>(c | 32);
    }
    if (words.back().empty()) words.pop_back();
    if (words.size() > kWordsMax) words.erase(words.begin(), words.end() - kWordsMax);
    return words;
}

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& list) {
    return std::ranges::find(list, word) != list.end();
}

// Behind a word like "token" they say that the value describes it.
constexpr auto kAbout = std::to_array<std::string_view>(
    {"id",        "ids",        "name",        "names",    "url",      "uri",     "urls",
     "endpoint",  "host",       "file",        "filename", "files",    "path",    "paths",
     "dir",       "folder",     "type",        "types",    "length",   "len",     "size",
     "count",     "counts",     "limit",       "limits",   "max",      "min",     "ttl",
     "expiry",    "expires",    "age",         "field",    "fields",   "header",  "label",
     "prefix",    "suffix",     "version",     "policy",   "class",    "ref",     "reference",
     "arn",       "alias",      "format",      "hint",     "prompt",   "regex",   "pattern",
     "required",  "enabled",    "disabled",    "manager",  "provider", "service", "store",
     "validator", "error",      "errors",      "status",   "state",    "column",  "usage",
     "print",     "thumbprint", "fingerprint", "digest",   "checksum", "sum",     "sha",
     "md",        "algorithm",  "alg",         "rotation", "index",    "date",    "time",
     "vault",     "ring",       "board",       "word",     "words",    "link",    "page",
     "map",       "list",       "pair",        "pairs",    "space",    "event",   "press",
     "frame",     "frames",     "bits",        "mode",     "method",   "scope",   "scopes",
     "source",    "table",      "schema",      "helper",   "command",  "cmd",     "env",
     "variable",  "var",        "exists",      "issuer",   "bucket",   "offset",  "position",
     "budget",    "window",     "rate",        "price",    "cost",     "symbol",  "contract",
     "address",   "balance",    "chain",       "code",     "codes",    "hash",    "script",
     "scripts",   "hex",        "equal"});

// In front of "key" they say that everybody may know it.
constexpr auto kOpenKeys = std::to_array<std::string_view>(
    {"public",    "pub",         "primary",   "foreign",      "sort",        "partition",
     "cache",     "hash",        "object",    "row",          "group",       "index",
     "lookup",    "map",         "composite", "unique",       "candidate",   "translation",
     "message",   "json",        "config",    "dict",         "routing",     "host",
     "answer",    "short",       "hot",       "arrow",        "shift",       "ctrl",
     "enter",     "any",         "left",      "right",        "press",       "registry",
     "bucket",    "event",       "dedupe",    "idempotency",  "correlation", "query",
     "metric",    "tag",         "label",     "attribute",    "column",      "field",
     "property",  "item",        "first",     "last",         "next",        "prev",
     "this",      "same",        "other",     "wrong",        "missing",     "unknown",
     "mon",       "tur",         "don",       "data",         "sorted",      "storage",
     "duplicate", "restore",     "restored",  "matched",      "measurement", "dimension",
     "ordering",  "order",       "range",     "cluster",      "clustering",  "distribution",
     "shard",     "locale",      "i",         "verification", "verify",      "recaptcha",
     "site",      "publishable", "menu",      "function",     "modifier",    "theme",
     "mapping",   "recv"});

// In front of "key", or before it in one word, they say that it is a secret.
constexpr auto kClosedKeys = std::to_array<std::string_view>(
    {"api",     "apis",    "access",     "secret",      "private",  "priv",         "auth",
     "account", "shared",  "license",    "licence",     "master",   "encryption",   "crypto",
     "signing", "service", "app",        "application", "consumer", "client",       "user",
     "admin",   "write",   "read",       "root",        "session",  "integration",  "server",
     "rest",    "deploy",  "project",    "secure",      "security", "subscription", "developer",
     "dev",     "prod",    "production", "live",        "personal", "webhook",      "hmac",
     "sas",     "token",   "function",   "jwt",         "aes",      "web"});

// In front of "token" they say that it marks a place in a list or a text.
constexpr auto kOpenTokens = std::to_array<std::string_view>(
    {"page", "next",   "continuation", "continue",   "cancel",   "cancellation",
     "sync", "resume", "pagination",   "cursor",     "start",    "end",
     "stop", "eos",    "bos",          "pad",        "mask",     "special",
     "unk",  "syntax", "lexer",        "unexpected", "expected", "design"});

bool contains(std::string_view word, std::string_view part) {
    return word.find(part) != word.npos;
}

NameKind kind_of_key(std::string_view word, std::string_view before) {
    if (word != "key" && word != "keys") {
        // One word: apikey, monkey.
        const auto at = word.find("key");
        const auto head = word.substr(0, at);
        const bool is_secret = std::ranges::any_of(
            kClosedKeys, [&](std::string_view known) { return head.ends_with(known); });
        return is_secret ? NameKind::Secret : NameKind::Other;
    }
    if (before.empty()) return NameKind::Weak;
    if (is_one_of(before, kClosedKeys)) return NameKind::Secret;
    return is_one_of(before, kOpenKeys) ? NameKind::Other : NameKind::Secret;
}

// What one word says, with the one before it.
NameKind kind_of(std::string_view word, std::string_view before) {
    for (const auto part : {"passwd", "password", "passphrase", "passcode", "passwort", "pwd"})
        if (contains(word, part)) return NameKind::Password;
    if (word == "pass" || word == "pw" || word == "dbpass" || word == "userpass")
        return NameKind::Password;
    if (contains(word, "secret"))
        return contains(word, "secretar") || contains(word, "secreti") ? NameKind::Other
                                                                       : NameKind::Secret;
    if (contains(word, "token"))
        return word == "tokens" || word == "tiktoken" || contains(word, "tokeni") ||
                       is_one_of(before, kOpenTokens)
                   ? NameKind::Other
                   : NameKind::Secret;
    if (contains(word, "key")) return kind_of_key(word, before);
    if (contains(word, "credential") || word == "creds" || word == "cred") return NameKind::Secret;
    for (const auto whole : {"auth", "authorization", "oauth", "bearer", "session", "cookie", "jwt",
                             "hmac", "sessionid"})
        if (word == whole) return NameKind::Weak;
    return NameKind::Other;
}

}  // namespace

NameKind name_kind(std::string_view name, std::string_view prior) {
    const auto words = words_of(name);
    // What a signed address of AWS names is the id of the key.
    for (const std::string_view open : {"public", "amz"})
        if (std::ranges::find(words, open) != words.end()) return NameKind::Other;
    if (const auto before = words_of(prior); !before.empty() && !words.empty()) {
        const bool is_open = words[0].starts_with("key") ? is_one_of(before.back(), kOpenKeys)
                                                         : is_one_of(before.back(), kOpenTokens);
        if (is_open) return NameKind::Other;
    }
    for (std::size_t i = words.size(); i-- > 0;) {
        const NameKind kind = kind_of(words[i], i > 0 ? words[i - 1] : std::string_view());
        const bool is_last = i + 1 == words.size();
        if (kind == NameKind::Other && is_last && is_one_of(words[i], kAbout)) {
            // The id of a secret is what its owner logs in with.
            if (i > 0 && words[i] == "id" && words[i - 1] == "secret") return NameKind::Secret;
            return NameKind::Other;
        }
        if (kind != NameKind::Other) return kind;
    }
    return NameKind::Other;
}

}  // namespace scan
