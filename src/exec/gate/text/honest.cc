#include "exec/gate/text/honest.h"

#include <re2/re2.h>

#include <algorithm>

#include "exec/gate/text/manual.h"

namespace gate {
namespace {

constexpr std::size_t kMarkReach = 4096;   // An entry is at most this far from a mark of its log.
constexpr std::size_t kMarkSpacing = 512;  // One mark is kept for so many bytes.
constexpr std::size_t kHeadBytesMax = 200;
constexpr std::size_t kEntryBytesMax = 400;  // Of the entry, on each side of the finding.

re2::StringPiece piece(std::string_view text) {
    return {text.data(), text.size()};
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The end of the sentence or of the line, whichever comes first.
std::string_view to_sentence_end(std::string_view text) {
    const auto end = std::min(text.find_first_of("\n!?"), text.find(". "));
    return text.substr(0, std::min(end, kEntryBytesMax));
}

// How software is built and installed by its name. What follows is judged up to the end of the
// line that has the command.
bool is_build_command(std::string_view after) {
    constexpr std::size_t kCommandBytes = 240;
    after = after.substr(0, kCommandBytes);
    if (after.starts_with("again") || after.starts_with(" again")) return true;  // What is known.
    static const re2::RE2 kTool(
        R"re((?i)(?:^|[\s`$>])((?:pip3?|pipx|conda|npm|yarn|pnpm|brew|apt|apt-get|dnf|cargo|make|cmake|ctest|pytest|tox|pre-commit|bundle|gem|mvn|gradle|docker\s+(?:build|run|compose)|go\s+(?:build|test)|python3?\s+-m|python3?\s+setup\.py|\./configure|perl\s+(?:Makefile|Build)\.PL|meson|ninja|autoreconf|gcloud)\b))re");
    static const re2::RE2 kDanger(
        R"re((?i)https?://|\||&&|;|\$\(|\bcurl\b|\bwget\b|\bbase64\b|\brm\s+-|\bsudo\b|\beval\b)re");
    re2::StringPiece tool;
    if (!re2::RE2::PartialMatch(piece(after), kTool, &tool)) return false;
    const auto at = static_cast<std::size_t>(tool.data() - after.data());
    return !re2::RE2::PartialMatch(piece(after.substr(0, after.find('\n', at))), kDanger);
}

// "You must install the headers first": something with a name, and nothing that came along.
bool is_requirement(std::string_view hit, std::string_view after) {
    static const re2::RE2 kHit(R"re((?i)^you\s.*\b(?:run|install|invoke)$)re");
    static const re2::RE2 kUrgent(R"re((?i)\b(?:now|immediately|please)\b)re");
    static const re2::RE2 kBrought(
        R"re((?i)\b(?:this|these|following|attached|below|above|updater?|stage|payload|scripts?|commands?|code|binary|binaries|installer|root|tools?|helper|agent|programs?|plugin|patch|hotfix|files?)\b|https?://|[|;&$]|\bsudo\b|\bcurl\b|\bwget\b)re");
    return re2::RE2::PartialMatch(piece(hit), kHit) &&
           !re2::RE2::PartialMatch(piece(hit), kUrgent) &&
           !re2::RE2::PartialMatch(piece(to_sentence_end(after)), kBrought);
}

// The line above is full and ends within a sentence: these words only happen to begin a line.
bool is_wrapped(std::string_view text, std::size_t begin) {
    constexpr std::size_t kFullLine = 50;
    auto first = begin;
    while (first < text.size() &&
           (text[first] == '\n' || text[first] == ' ' || text[first] == '\t'))
        ++first;
    const auto line_end = text.substr(0, first).rfind('\n');
    if (line_end == text.npos || line_end < begin || first >= text.size()) return false;
    if (text[first] < 'a' || text[first] > 'z') return false;
    const auto above = text.substr(0, line_end).rfind('\n') + 1;
    return line_end - above >= kFullLine && is_letter(text[line_end - 1]);
}

// "The tool can now skip validation": what something else does, since its last version.
bool is_ability(std::string_view text, std::size_t begin) {
    constexpr std::size_t kBeforeBytes = 60;
    static const re2::RE2 kAbility(
        R"re((?i)\b([\w\-]+)[\s)\]`]{1,3}(?:can|may|will|could|might|would)\s{1,3}$)re");
    static const re2::RE2 kReader(
        R"re((?i)^(?:you|i|we|agents?|assistants?|models?|ai|llms?|bots?|chatbots?|core|system|operators?)$)re");
    static const re2::RE2 kAdverb(R"re((?i)^(?:now|then|also|always|just|simply)\b)re");
    if (!re2::RE2::PartialMatch(piece(text.substr(begin)), kAdverb)) return false;
    const std::size_t from = begin > kBeforeBytes ? begin - kBeforeBytes : 0;
    re2::StringPiece subject;
    return re2::RE2::PartialMatch(piece(text.substr(from, begin - from)), kAbility, &subject) &&
           !re2::RE2::PartialMatch(subject, kReader);
}

std::string_view line_before(std::string_view text, std::size_t at) {
    const auto line = text.substr(0, at).rfind('\n') + 1;
    return text.substr(line, at - line);
}

// "- `false`: skip validation": what a value of an option means.
bool describes_value(std::string_view text, std::size_t begin) {
    static const re2::RE2 kValue(
        R"re((?i)^\s{0,12}[*+\-]\s{1,3}[`"'*_]{1,3}(?:true|false|yes|no|on|off|none|null|\d{1,4})[`"'*_]{1,3}(?:\s{0,2}\([^)\n]{1,40}\))?\s{0,2}:?\s{0,2}$)re");
    return re2::RE2::PartialMatch(piece(line_before(text, begin)), kValue);
}

// "check the "give others write access" box": the words on a control.
bool is_named_control(std::string_view hit, std::string_view after) {
    static const re2::RE2 kControl(
        R"re((?i)^[^"'\n]{0,60}["'”]\s{1,3}(?:check ?box|box|option|button|switch|toggle)\b)re");
    return !hit.empty() && (hit[0] == '"' || hit[0] == '\'') &&
           re2::RE2::PartialMatch(piece(after), kControl);
}

// "If you add translations, please send them to the list": what its writer gives of his own will.
bool is_contribution(std::string_view text, std::size_t begin) {
    constexpr std::size_t kBeforeBytes = 160;
    static const re2::RE2 kOffer(
        R"re((?i)\b(?:if you|when you|should you|in case you)\s[^.!?]{0,80}\b(?:translations?|patch(?:es)?|bugs?|fix(?:es)?|comments?|suggestions?|corrections?|improvements?|additions?|ideas?|typos?|questions?|feedback|problems?|requests?|changes?)\b[^.!?]{0,40}$)re");
    static const re2::RE2 kOwned(
        R"re((?i)\b(?:secrets?|credentials?|keys?|tokens?|passwords?|environment|history|files?|data|conversation|prompt)\b)re");
    const auto from = begin > kBeforeBytes ? begin - kBeforeBytes : 0;
    const auto before = text.substr(from, begin - from);
    return re2::RE2::PartialMatch(piece(before), kOffer) &&
           !re2::RE2::PartialMatch(piece(before), kOwned);
}

// Only mild statements: no entry of any log tells its reader to ignore instructions.
bool may_be_entry(const scan::Finding& finding) {
    return finding.family == "policy" || finding.rule == "persist" ||
           finding.rule == "download-and-run" || finding.rule == "reveal-secrets";
}

// What is before the first word of an entry on its line: a list mark, an id, the part of the
// program that changed.
bool is_head(std::string_view head) {
    static const re2::RE2 kHead(
        R"re(^[\s|/\\]{0,12}(?:[*+\-•o]\s{1,4}|\d{1,3}[.)]\s{1,3}|<li>\s{0,2})?(?:(?:commit )?[0-9a-f]{6,40}:?\s{1,4}|\\?\[[^\]\n]{1,120}\](?:\([^)\n]{1,120}\))?\]?:?\s{0,4}(?:-\s)?|[#!]\d{1,7}:?\s{1,4}|Re-|Revert "|Also\s|View and\s)?(?:(?:Fix |New |\*\*)?[\w./+*(),#`\- ]{1,60}(?:\*\*)?:\s{1,4}(?:\[[^\]\n]{1,40}\]:\s{1,4})?){0,3}(?:\*\*(?:Breaking Change\*\*:?\s)?)?$)re");
    // Another sentence of the entry.
    static const re2::RE2 kSentence(
        R"re(^\s{0,12}(?:[*+\-•]\s|\([^)\n]{1,80}\): )?[^\n]{0,160}[.;]\s{1,2}$)re");
    return re2::RE2::PartialMatch(piece(head), kHead) ||
           re2::RE2::PartialMatch(piece(head), kSentence);
}

// "- [Remove the loader and its checks][123]": the whole entry is a link to its change.
bool is_linked(std::string_view entry) {
    static const re2::RE2 kLinked(R"re(^\s{0,4}[*\-]\s\[[^\]\n]{4,300}\]\[#?\d{2,7}\]\s*$)re");
    return re2::RE2::PartialMatch(piece(entry), kLinked);
}

// Written for somebody who reads it now.
bool is_addressed(std::string_view entry) {
    static const re2::RE2 kAddressed(
        R"re((?i)\b(?:you|your|yours|yourself|we need|agents?|assistant|language model|llm|ai|chatbot|operators?|system prompt|instructions?|guardrails?|this (?:result|output|tool|session|report|message|document|conversation|task)|next step|from now on|immediately|please|must|right away|at once|all (?:security|safety|polic)\w*)\b|https?://)re");
    // Where the change can be read is in many entries.
    static const re2::RE2 kSource(
        R"re(\(?<?https?://[^\s)>]{1,120}/(?:commit|commits|pull|issues?|merge_requests|bugs?)[/=?][^\s)>]{1,80}[)>]?)re");
    std::string text(entry);
    re2::RE2::GlobalReplace(&text, kSource, "");
    return re2::RE2::PartialMatch(text, kAddressed);
}

}  // namespace

bool is_ordinary(std::string_view text, const scan::Finding& finding) {
    const auto begin = static_cast<std::size_t>(finding.begin);
    const auto end = static_cast<std::size_t>(finding.end);
    const auto hit = text.substr(begin, end - begin);
    const auto after = text.substr(end);
    const auto& rule = finding.rule;
    // view-reveal, mech-dump: a part of a word.
    if (hit.size() > 1 && hit[0] == '-' && is_letter(hit[1]) && begin > 0 &&
        is_letter(text[begin - 1]))
        return true;
    if (is_wrapped(text, begin) || is_ability(text, begin)) return true;
    static constexpr std::string_view kSteps[] = {"run-the-following", "please-run",
                                                  "follow-steps",      "you-must-act",
                                                  "fetch-url",         "download-and-run"};
    if (std::ranges::find(kSteps, rule) != std::end(kSteps) && is_manual_step(text, finding))
        return true;
    // "check whether it is a copy and do not delete it"; "`fetch()` of a browser, and does"
    static const re2::RE2 kCall(R"re(^\W{0,3}\w{1,20}\(\))re");
    if (rule == "download-and-run" &&
        (after.starts_with(" not ") || re2::RE2::PartialMatch(piece(hit), kCall)))
        return true;
    // "Run this code in the playground": a link to a page that runs it.
    static const re2::RE2 kPlayground(
        R"re((?i)^\s{1,3}(?:in|on)\s{1,3}(?:(?:the|a|your|its)\s{1,3})?(?:\w{1,12}\s{1,3})?playground\b)re");
    static const re2::RE2 kAsUsual(R"re((?i)\bas (?:usual|before|always)\W{0,2}$)re");
    if (rule == "please-run" && re2::RE2::PartialMatch(piece(to_sentence_end(after)), kAsUsual) &&
        !speaks_to_agent(text, finding))
        return true;
    if (rule == "run-the-following" || rule == "please-run")
        return (is_build_command(after) || re2::RE2::PartialMatch(piece(after), kPlayground)) &&
               !speaks_to_agent(text, finding);
    if (rule == "you-must-act") return is_requirement(hit, after);
    // "content": "Hello, Model": nothing but the greeting.
    if (rule == "to-the-agent")
        return begin > 0 && text[begin - 1] == '"' && after.starts_with('"');
    static const re2::RE2 kComplaint(R"re((?i)^\s{1,2}(?:error|warning|failure|message:))re");
    // "If you are reading this, you were probably asked": the sentence goes on about its reader.
    // "If you read this page on a phone": where the reader is.
    static const re2::RE2 kAboutReader(
        R"re((?i)^,?\s{1,3}(?:you(?:'re|'ve)?(?:\s{1,3}(?:are|were|have))?\s{1,3}(?:probably|likely|perhaps)|(?:directory|folder|file|readme|page|section|document|manual)\s{1,3}(?:on|in|at|from|via|outside)\s)\b)re");
    if (rule == "when-you-read")
        return re2::RE2::PartialMatch(piece(after), kComplaint) ||
               re2::RE2::PartialMatch(piece(after), kAboutReader);
    // "You are allowed to pass in `null`": of a function.
    static const re2::RE2 kLicence(
        R"re((?i)^\s{1,2}(?:licensed\s|licen[cs]e\b|pass(?:\s{1,2}in)?\s{1,2}`[\w.]{1,30}`))re");
    if (rule == "you-are-allowed") return re2::RE2::PartialMatch(piece(after), kLicence);
    if (rule == "grant-access") return is_named_control(hit, after);
    if (rule == "exfiltrate") return is_contribution(text, begin);
    // Of the same project.
    static const re2::RE2 kDocument(
        R"re(^\s{1,3}(?:in|of|from)\s{1,3}(?:the\s{1,3})?(?:[`"'\[]{0,2}(?:INSTALL|README|SECURITY|CONTRIBUTING|HACKING|BUILDING)\b|(?:next |previous |above )?(?:section|manual|documentation)\b))re");
    if (rule == "follow-steps") return re2::RE2::PartialMatch(piece(after), kDocument);
    // "skip if SELinux is off": of a test.
    static const re2::RE2 kCondition(
        R"re((?i)\b(?:skip|disable|remove)\s{1,3}(?:if|when|unless|per)\b)re");
    if (rule == "disable-control")
        return re2::RE2::PartialMatch(piece(hit), kCondition) || describes_value(text, begin);
    // "Act as if the file were missing": of an option.
    static const re2::RE2 kAsIf(R"re((?i)act\s{1,3}as\s{1,3}(?:if|though)$)re");
    static const re2::RE2 kReader(
        R"re((?i)\b(?:you|your|i|we|operator|agent|checks?|tests?|approv\w*|allow\w*|permi\w*|polic\w*|restrict\w*|safe|trusted)\b)re");
    // "Act as a `gzip -d` drop-in": of a list of features.
    static const re2::RE2 kDropIn(R"re((?i)^\s{1,3}(?:`[^`\n]{1,40}`\s{1,3})?drop-?in\b)re");
    return rule == "role-change" &&
           (re2::RE2::PartialMatch(piece(hit), kAsIf) ||
            re2::RE2::PartialMatch(piece(after), kDropIn)) &&
           !re2::RE2::PartialMatch(piece(to_sentence_end(after)), kReader);
}

bool History::is_near_mark(std::size_t at) {
    if (!marks_) {
        static const re2::RE2 kMark(
            R"re((?m)(^\S{1,80} \([^)\n]{1,60}\) [\w \-]{1,60}; urgency=|^ -- [^\n]{1,80} <[^\n>]{1,80}>  |^\d{4}-\d\d-\d\d\s{1,4}[^\n<]{2,60}<[^>\n]{1,80}>|\b(?:[Cc]loses|[Ff]ixes):? #\d|^commit [0-9a-f]{7,40}$|^[0-9a-f]{40}$|^(?:Author|Signed-off-by|Reviewed-by|Change-Id): |^[\s*|/\\\-]{0,12}(?:\\?\[[`\[]{0,3})?[0-9a-f]{7,40}[`\]]{0,2}[ (:]|/(?:commit|pull|merge_requests)/[0-9a-f]{1,40}\b|^(?:#{1,3} )?\[?(?:[Vv]ersion |[Rr]elease |v)?\d{1,4}\.\d{1,4}(?:\.\d{1,4}){0,2}\]?(?: ?[(\-–:/]|$)|^(?:#{1,3} )?(?:Overview of )?[Cc]hanges (?:in|from|for|since|between) |^\d{4}-\d\d-\d\d\s\S|^==+ \[?v?\d|^\d{1,2} \w{3,9} \d{4}: |#\d{2,6}[,)\]]|\[GH-\d|^Release v?\d|^\s{0,4}<h\d>\d{4}-\d\d-\d\d|^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d |^\s{0,8}\* [\w./\-]{1,60}\.(?:c|h|cc|cpp|in|am|ac|texi|sh|py|el)\b[^\n]{0,80}:))re");
        marks_.emplace();
        re2::StringPiece rest = piece(text_), found;
        while (re2::RE2::FindAndConsume(&rest, kMark, &found)) {
            const auto place = static_cast<std::size_t>(found.data() - text_.data());
            marks_->push_back(place);
            // A line start is one only with the line end before it.
            const auto next = std::min(text_.size(), place + kMarkSpacing);
            const auto line = text_.find('\n', next);
            if (line == text_.npos) break;
            rest = piece(text_.substr(line));
        }
    }
    const auto after = std::ranges::lower_bound(*marks_, at);
    if (after != marks_->end() && *after - at <= kMarkReach) return true;
    return after != marks_->begin() && at - *std::prev(after) <= kMarkReach;
}

bool History::reports(const scan::Finding& finding) {
    if (!may_be_entry(finding)) return false;
    auto begin = static_cast<std::size_t>(finding.begin);
    const auto end = static_cast<std::size_t>(finding.end);
    while (begin < end && !is_letter(text_[begin])) ++begin;
    const auto line = text_.substr(0, begin).rfind('\n') + 1;
    const auto stop = std::min(text_.find('\n', end), end + kEntryBytesMax);
    const auto entry = text_.substr(line, stop - line);
    if (begin - line > kHeadBytesMax) return false;
    if (!is_head(text_.substr(line, begin - line)) && !is_linked(entry)) return false;
    return !is_addressed(entry) && is_near_mark(begin);
}

}  // namespace gate
