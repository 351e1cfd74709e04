#include "exec/gate/text/manual.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>

namespace gate {
namespace {

constexpr std::size_t kFormReach = 3000;      // Marks of a manual count up to here on each side.
constexpr int kFormMarks = 2;                 // So many of them make a manual.
constexpr std::size_t kSentenceReach = 300;   // On each side of the finding.
constexpr std::size_t kShownBytesMax = 1500;  // Of what a step shows.
constexpr std::size_t kShownWithin = 300;     // It begins so soon after the finding.
constexpr std::size_t kObjectBytes = 40;      // In which a verb has its object.

re2::StringPiece piece(std::string_view text) {
    return {text.data(), text.size()};
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool matches(std::string_view text, const re2::RE2& expression) {
    return re2::RE2::PartialMatch(piece(text), expression);
}

// Headings, code, links and the heads of packages and logs: what tools print has none of them.
bool has_form_of_manual(std::string_view text, std::size_t at) {
    static const re2::RE2 kMark(
        R"re((?m)(^#{1,6} \S|^ {0,3}(?:```|~~~)|^[=~^"*\-]{4,}\s*$|^\.\. \S|::\s*$|\]\(|^\s{0,8}[$%] \S|^ {4,8}\S[^\n]*$|^\s*<(?:h[1-6]|li|p|pre)\b|^(?:Metadata-Version|Home-page|Project-URL): |^\d{4}-\d\d-\d\d  \S|^\d{1,2}\. \S|^[*\-] \[|^\s*</?[A-Za-z][^>\n]*>\s*$|^\.(?:TH|SH|SS|PP?|TP|IP)\b|`[^`\n]{2,80}`))re");
    const std::size_t begin = at > kFormReach ? at - kFormReach : 0;
    re2::StringPiece rest = piece(text.substr(begin, at - begin + kFormReach)), mark;
    for (int found = 0; re2::RE2::FindAndConsume(&rest, kMark, &mark);)
        if (++found == kFormMarks) return true;
    return false;
}

bool ends_sentence(std::string_view text, std::size_t at) {
    const char c = text[at];
    const char next = at + 1 < text.size() ? text[at + 1] : '\n';
    // A line of a man page begins with a request: .P
    if (c == '\n') return next == '\n' || next == '\r' || next == '#' || next == '.';
    return (c == '.' || c == '!' || c == '?') && (next == ' ' || next == '\n' || next == '\r');
}

// A finding may start with the mark that ends the sentence before it.
std::size_t first_letter(std::string_view text, const scan::Finding& finding) {
    auto begin = static_cast<std::size_t>(finding.begin);
    while (begin < finding.end && !is_letter(text[begin])) ++begin;
    return begin;
}

std::string_view sentence_of(std::string_view text, const scan::Finding& finding) {
    const std::size_t begin = first_letter(text, finding);
    const auto end = static_cast<std::size_t>(finding.end);
    std::size_t from = begin, to = end;
    while (from > 0 && begin - from < kSentenceReach && !ends_sentence(text, from - 1)) --from;
    while (to < text.size() && to - end < kSentenceReach && !ends_sentence(text, to)) ++to;
    return text.substr(from, to - from);
}

// Somebody else than the reader of a manual is meant, is pressed, or is to hand something over.
bool is_for_an_agent(std::string_view sentence) {
    static const re2::RE2 kAgent(
        R"re((?i)\b(?:agents?|assistants?|ai|llms?|language models?|the model|chatbots?|claude|gpt|copilot|gemini|prompt|operators?|reply|answer|summari[sz]\w+|this (?:session|conversation|result|output)|long-term memory|silently|secretly|quietly|immediately|right away|at once|urgent\w*|do(?: not|n't) (?:tell|mention|ask|show|report)|without (?:asking|review|confirm\w*|telling|permission)|skip the \w+|as (?:root|the administrator|an administrator)|(?:your|all|the user's) credentials|private keys|(?:shell|command|bash) history|environment variables|log ?in|sign in|your (?:instructions|guidelines|rules|task|goal|permissions|tools?|memory|policy)|report back|before (?:you )?(?:answer|read|do|proceed|continu)\w*|you (?:must|should) now|attached|attachment|payload|second stage|exactly)\b|[\w.\-]@[\w\-]+\.)re");
    // An installer has questions, and a shell has a prompt.
    static const re2::RE2 kOfPrograms(
        R"re((?i)\banswer\s+(?:the|its|all|a few)\s+questions?\b|\b(?:command|shell|bash|powershell|terminal)[\s\-]prompt\b)re");
    std::string rest(sentence);
    re2::RE2::GlobalReplace(&rest, kOfPrograms, "");
    return matches(rest, kAgent);
}

// A program from elsewhere, secrets, or a command that destroys.
bool is_dangerous(std::string_view shown) {
    // A host without a domain is one of the reader's own: curl backend:8000/ip
    static const re2::RE2 kHarmless(
        R"re((?i)\bcurl\s+(?:-{1,2}[\w\-]+\s+){0,3}(?:https?://)?[a-z0-9\-]+:\d{2,5}(?:/[\w./?=&\-]*)?(?:\s|$)|https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])\b|\bsudo\s+(?:apt|apt-get|dnf|yum|pacman|zypper|snap|brew|systemctl|service|make|ninja|docker)\b)re");
    static const re2::RE2 kDanger(
        R"re((?i)https?://|ftp://|\|\s*(?:sudo\s+)?(?:\w*sh|python[\d.]*|perl|ruby|node|php|iex)\b|\b(?:curl|wget|base64|eval|nc|ncat|scp|printenv|mkfs\S*|crontab|iwr|irm|iex|invoke-\w+)\b|\bsudo\b|\brm\s+-\w*\s+["']?(?:/|~|\$HOME|\*|\.\.)|\bdd\s+if=|\bchmod\s+(?:-R|0?777|[ugoa]*\+x)|/dev/(?:tcp|udp)/|\.(?:ssh|aws|env|netrc|npmrc)\b|id_(?:rsa|ed25519)|authorized_keys|/etc/(?:passwd|shadow|sudoers)|/credentials\b|_history\b|\benv\s*\||/tmp/|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b)re");
    std::string rest(shown);
    re2::RE2::GlobalReplace(&rest, kHarmless, "");
    return matches(rest, kDanger);
}

// The sentence without the links of Markdown and reStructuredText: they name a page to read.
std::string without_links(std::string_view sentence) {
    static const re2::RE2 kLink(
        R"re(\]\(<?https?://[^\s)]*\)?|\]\[[^\]\n]*\]|`[^`\n]{0,80}<https?://[^>\n]*>`_)re");
    std::string rest(sentence);
    re2::RE2::GlobalReplace(&rest, kLink, "]");
    return rest;
}

// What a step shows: a fenced or indented block, lines behind a prompt, or code in the sentence.
std::optional<std::string_view> shown_after(std::string_view after) {
    after = after.substr(0, kShownBytesMax);
    static const re2::RE2 kFence(R"re((?m)^[ \t>*\-\d.]{0,8}(?:```|~~~)[^\n]*\n)re");
    static const re2::RE2 kBlock(
        R"re((?m)((?:^(?: {2,}|\t+ *|[ \t]*[$%>#] )\S[^\n]*(?:\n|\z)(?:[ \t]*\r?\n)?)+))re");
    static const re2::RE2 kInline(R"re((`[^`\n]{2,200}`))re");
    const auto near = after.substr(0, kShownWithin);
    re2::StringPiece rest = piece(after);
    if (matches(near, kFence) && re2::RE2::FindAndConsume(&rest, kFence)) {
        const std::string_view block(rest.data(), rest.size());
        re2::StringPiece end;
        static const re2::RE2 kEnd("(?m)(^[ \t>]{0,8}(?:```|~~~))");
        if (!re2::RE2::PartialMatch(piece(block), kEnd, &end)) return block;
        return block.substr(0, static_cast<std::size_t>(end.data() - block.data()));
    }
    re2::StringPiece shown;
    if (re2::RE2::PartialMatch(piece(after), kBlock, &shown) &&
        static_cast<std::size_t>(shown.data() - after.data()) < kShownWithin)
        return std::string_view(shown.data(), shown.size());
    if (re2::RE2::PartialMatch(piece(near), kInline, &shown))
        return std::string_view(shown.data(), shown.size());
    return std::nullopt;
}

// "You must install the headers first": what the reader gets by its name.
bool is_requirement(std::string_view hit) {
    static const re2::RE2 kRequirement(R"re((?is)^you\s.*\b(?:install|source)$)re");
    return matches(hit, kRequirement);
}

// "Download the archive and run it", against "open the folder and run the tests".
bool is_something_loaded(std::string_view after) {
    static const re2::RE2 kLoaded(
        R"re((?i)^\W{0,3}(?:it|them|this|that|everything|whatever|what)\b|\b(?:installers?|binar(?:y|ies)|scripts?|setup|updaters?|programs?|executables?|files?|code|commands?)\b)re");
    return matches(after, kLoaded);
}

// "Visit the page and follow it": more is wanted than that the page is read.
bool asks_for_more(std::string_view sentence) {
    static const re2::RE2 kMore(
        R"re((?i)\b(?:and|then)\s+(?:then\s+)?(?:follow|run|execute|do|enter|paste|submit|upload|apply|install|copy|obey|treat|accept|import|post|send)\b|https?://\d{1,3}\.\d)re");
    static const re2::RE2 kLocal(R"re((?i)https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0)\b)re");
    std::string rest(sentence);
    re2::RE2::GlobalReplace(&rest, kLocal, "");
    return matches(rest, kMore);
}

}  // namespace

bool speaks_to_agent(std::string_view text, const scan::Finding& finding) {
    return is_for_an_agent(sentence_of(text, finding));
}

bool is_manual_step(std::string_view text, const scan::Finding& finding) {
    const auto begin = first_letter(text, finding);
    const auto end = static_cast<std::size_t>(finding.end);
    const auto sentence = sentence_of(text, finding);
    if (is_for_an_agent(sentence) || !has_form_of_manual(text, begin)) return false;
    const auto& rule = finding.rule;
    if (rule == "fetch-url") return !asks_for_more(sentence);
    const auto shown = shown_after(text.substr(end));
    if (is_dangerous(without_links(sentence)) || (shown && is_dangerous(without_links(*shown))))
        return false;
    if (shown || rule == "follow-steps") return true;
    const auto after = text.substr(end, kObjectBytes);
    if (rule == "you-must-act") return is_requirement(text.substr(begin, end - begin));
    return rule == "download-and-run" && !is_something_loaded(after);
}

}  // namespace gate
