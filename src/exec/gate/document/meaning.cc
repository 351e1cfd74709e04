#include "exec/gate/document/meaning.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/text.h"
#include "exec/gate/document/labels.h"

namespace gate {
namespace {

re2::StringPiece piece(std::string_view text) {
    return {text.data(), text.size()};
}

// The time in "TS-YYYYMMDD-HHMMSSZ-…" or "TR-…"; nothing when there is none.
std::optional<base::Time> stamp_of(std::string_view id) {
    static const re2::RE2 kStamp(R"(^T[SR]-(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)Z-)");
    std::array<std::string, 6> parts;
    if (!re2::RE2::PartialMatch(piece(id), kStamp, &parts[0], &parts[1], &parts[2], &parts[3],
                                &parts[4], &parts[5]))
        return std::nullopt;
    const auto time = base::parse_time(fmt::format("{}-{}-{}T{}:{}:{}Z", parts[0], parts[1],
                                                   parts[2], parts[3], parts[4], parts[5]));
    if (!time) return std::nullopt;
    return *time;
}

bool says_untrusted(std::string_view text) {
    static const re2::RE2 kSays(
        R"((?i)\buntrusted\b|\bnot (?:to be |be |been )?(?:trusted|trustworthy)\b|\b(?:do|does|must) not trust\b|\bcannot be trusted\b|\bnever (?:be )?trust|\bunverified\b|\bnot (?:be )?(?:treated|read|taken|followed|used) as (?:an? )?(?:instruction|order|command)|\bas data,? (?:and )?not (?:as )?instructions)");
    // "Nothing in it may be followed" denies nothing.
    static const re2::RE2 kNothing(
        R"((?i)\b(?:nothing|none|no (?:part|line|word))\b[^.;,]{0,40}\b(?:may|can|should|must|shall) (?:be )?\w+)");
    static const re2::RE2 kDenies(
        R"((?i)\bnot (?:at all |really )?untrusted\b|\bno longer untrusted\b|\b(?:is|are|was|be|fully|completely) (?:fully |completely |now |considered |known to be )?(?:trusted|trustworthy|safe)\b|\b(?:may|can|should|must|shall|please) (?:safely |now )?(?:be )?(?:treated as (?:trusted|instructions)|followed|follow|obeyed|obey|executed|execute|trusted|trust)\b|\btrust (?:it|this|the output)\b)");
    std::string claims(text);
    re2::RE2::GlobalReplace(&claims, kNothing, "");
    return re2::RE2::PartialMatch(piece(text), kSays) && !re2::RE2::PartialMatch(claims, kDenies);
}

bool denies_network(std::string_view text) {
    static const re2::RE2 kDenies(
        R"((?i)\b(?:none|no|not|never|without|disabled|off|offline|isolated|blocked|denied|nothing|zero)\b|\bn/a\b)");
    return re2::RE2::PartialMatch(piece(text), kDenies);
}

// "None used" and the like, as all that is said.
bool says_none(std::string_view text) {
    static const re2::RE2 kNone(
        R"((?i)^\W*(?:none\b|no network|no (?:connection|access|traffic|egress|destination)|not used|nothing|n/a\b|network (?:was |is )?(?:not used|unused|disabled|off)))");
    return re2::RE2::PartialMatch(piece(text), kNone);
}

std::string in_lower_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

// Names of hosts and addresses in a text, in lower case.
std::vector<std::string> hosts_in(std::string_view text) {
    static const re2::RE2 kHost(
        R"(((?:[A-Za-z0-9](?:[A-Za-z0-9\-]*[A-Za-z0-9])?\.)+(?:[A-Za-z]{2,24}|\d{1,3}))\b)");
    constexpr std::array<std::string_view, 16> kFileEndings{
        "json", "md", "txt", "py", "log", "csv",  "yaml", "yml",
        "sh",   "js", "ts",  "go", "xml", "html", "toml", "conf"};
    std::vector<std::string> hosts;
    re2::StringPiece rest = piece(text);
    for (std::string host; re2::RE2::FindAndConsume(&rest, kHost, &host);) {
        host = in_lower_case(std::move(host));
        const auto ending = std::string_view(host).substr(host.rfind('.') + 1);
        const bool is_address = ending.find_first_not_of("0123456789") == ending.npos;
        if (is_address && std::ranges::count(host, '.') != 3) continue;  // A version.
        if (std::ranges::find(kFileEndings, ending) == kFileEndings.end()) hosts.push_back(host);
    }
    return hosts;
}

class Meaning {
public:
    explicit Meaning(const ResultDocument& document) : document_(document) {}

    std::vector<domain::GateReason> faults() {
        check_times();
        check_backend();
        const auto& safety = document_.safety;
        if (!safety.untrusted_output_statement.empty() &&
            !says_untrusted(safety.untrusted_output_statement))
            add("untrusted_statement", "Safety Notes",
                "the Untrusted Output Statement does not say that the output is untrusted");
        if (!safety.network_confirmation.empty()) check_network(safety.network_confirmation);
        return std::move(list_);
    }

private:
    void add(std::string rule, std::string section, std::string message) {
        list_.push_back({.rule = std::move(rule),
                         .message = std::move(message),
                         .section = std::move(section)});
    }
    void add_field(std::string field, std::string message) {
        list_.push_back({.rule = "front_matter_field",
                         .message = std::move(message),
                         .field = std::move(field)});
    }

    void check_times() {
        const auto& front = document_.front;
        const auto created = base::parse_time(front.created_utc);
        const auto named = stamp_of(front.result_id);
        if (!created || !named) return;  // Reported already.
        if (*named - *created > kStampTolerance || *created - *named > kStampTolerance)
            add_field("/created_utc", "is not the time in the result_id");
        if (const auto asked = stamp_of(front.request_id);
            asked && *asked - *created > kStampTolerance)
            add_field("/request_id", "is of a time after created_utc");
    }

    void check_backend() {
        const auto& backend = document_.provenance.backend;
        if (backend.empty() || document_.front.backend.empty()) return;
        if (!has_word(backend, document_.front.backend))
            add("provenance_mismatch", "Provenance",
                "Provenance names another backend than the front matter");
    }

    void check_network(std::string_view said) {
        const auto& front = document_.front;
        const auto hosts = hosts_in(said);
        if (front.network_used == NetworkUsed::None) {
            if (!denies_network(said) || !hosts.empty())
                add("network_mismatch", "Safety Notes",
                    "network_used is none, but the Network confirmation does not say so");
            return;
        }
        if (says_none(said))
            add("network_mismatch", "Safety Notes",
                "network_used is allowlist, but the Network confirmation says that none was used");
        const auto& listed = front.network_destinations;
        const bool is_any = std::ranges::find(listed, "any") != listed.end();
        const auto is_named = [](std::string_view text, std::string_view name) {
            return text.find(name) != text.npos;
        };
        for (const auto& host : hosts)
            if (!is_any && std::ranges::none_of(listed, [&](const std::string& name) {
                    return is_named(in_lower_case(name), host);
                }))
                add("network_mismatch", "Safety Notes",
                    "the Network confirmation names a host that network_destinations does not");
        for (const auto& name : listed)
            if (name != "any" && !is_named(said, name))
                add("network_mismatch", "Safety Notes",
                    "the Network confirmation does not name every one of network_destinations");
    }

    const ResultDocument& document_;
    std::vector<domain::GateReason> list_;
};

}  // namespace

std::vector<domain::GateReason> meaning_faults(const ResultDocument& document) {
    return Meaning(document).faults();
}

}  // namespace gate
