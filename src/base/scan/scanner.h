// Secrets in bytes: what a rule describes, and credentials whose value is known.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/scan/assign/assigned.h"
#include "base/scan/engine/checks.h"
#include "base/scan/engine/matcher.h"
#include "base/scan/rule.h"

namespace re2 {
class RE2;
}

namespace scan {

inline constexpr std::string_view kKnownRule = "known-credential";
// A value that extends to a closing text (Rule::until) is at most this long.
inline constexpr std::size_t kUntilBytesMax = 16 * 1024;

struct Finding {
    std::string_view rule;    // The id; lives as long as the scanner.
    std::string_view family;  // "secret" for known credentials.
    std::uint64_t begin{0};   // The bytes of the value, never the value itself.
    std::uint64_t end{0};
    friend bool operator==(const Finding&, const Finding&) = default;
};

struct ScannerOptions {
    std::vector<Rule> rules{};
    std::string_view prepared{};  // The engine of just these rules; without one it is built.
    // The engine of the first rules only, those of the family "secret". With it, a search for
    // secrets alone takes less time.
    std::string_view prepared_secrets{};
    std::vector<std::string> known{};  // Credentials, as they are; see known.h for short ones.
};

// Which findings are wanted of a text.
enum class Part {
    All,
    Secrets,  // Of the family "secret", and known credentials.
};

// Any thread may use one.
class Scanner {
public:
    // Takes a second or more with all rules, unless they are prepared, and some milliseconds for
    // each known credential. The error names the rule that cannot be used.
    static base::Result<std::shared_ptr<const Scanner>> make(ScannerOptions options);

    ~Scanner();

    // Ordered by where they begin; findings of one rule never overlap.
    std::vector<Finding> scan(std::string_view text, Part part = Part::All) const;

    // Removes the findings of rules that yield, where others overlap with them.
    void drop_yielding(std::vector<Finding>& found) const;

    // No match begins further than this before its end, nor before it is found in a stream.
    std::size_t reach() const {
        return std::max(
            {of_rules_.width_max(), of_known_.width_max(), has_keywords_ ? kAssignedBytesMax : 0});
    }

    // The same over a text that arrives in pieces.
    class Stream {
    public:
        explicit Stream(const Scanner& scanner);
        void feed(std::string_view piece);
        void finish();
        // What was found since the last take(), in the same order. A finding that two pieces share
        // may come in two parts that touch, and rules that yield do not do so yet.
        std::vector<Finding> take();
        // Where the first value begins whose closing text has not arrived yet.
        std::optional<std::uint64_t> open_at() const;

    private:
        struct Open {
            Finding finding;
            std::string_view until;
        };
        struct Keyword {
            std::size_t rule;
            std::uint64_t end;
        };
        // True when it has ended, in this piece or by its length.
        bool follow(Open& open, std::string_view piece) const;
        // Reads the values behind keywords of which enough has arrived, or all of them at the end.
        void read_assigned(bool at_end);

        const Scanner& scanner_;
        std::vector<Finding> found_;
        std::vector<Open> open_;
        std::string last_;  // The end of what was fed, where a closing text may have begun.
        std::vector<Keyword> keywords_;
        std::string recent_;  // The end of what was fed, with all open keywords and their names.
        std::uint64_t offset_{0};
        Matcher::Stream rules_stream_, known_stream_;
    };

private:
    // Rules and credentials apart, since the rules are the same in every process.
    struct Matchers {
        Matcher rules, known;
        std::optional<Matcher> secrets;  // The first of the rules, again.
    };
    Scanner(std::vector<Rule> rules, Matchers matchers, std::vector<std::size_t> follow,
            std::vector<std::unique_ptr<re2::RE2>> shapes);
    std::optional<Finding> judge_rule(const Match& match) const;
    // The value of the name with the keyword, or around the prefix or the core, that ends at
    // `keyword_end` of `text`.
    std::optional<Finding> judge_around(std::size_t rule, std::string_view text,
                                        std::size_t keyword_end) const;
    std::optional<Finding> judge_around_core(std::size_t rule, std::string_view text,
                                             std::size_t core_end) const;
    // A token that line ends cut into parts, of which `first` is the one on its first line. Only
    // what a rule describes exactly counts: any two words make one that looks random.
    std::optional<Finding> judge_over_lines(std::string_view text, std::string_view first) const;
    Finding judge_known(const Match& match) const;

    std::vector<Rule> rules_;
    bool has_keywords_{false};
    std::vector<std::string_view> yielding_;  // Ids of the rules that yield.
    std::vector<Check> checks_;
    std::vector<std::unique_ptr<re2::RE2>> shapes_;  // By rule; null without a value or core.
    Matcher of_rules_;
    Matcher of_known_;
    std::optional<Matcher> of_secrets_;
    std::vector<std::size_t> follow_;  // How many bytes of each needle come behind its match.
};

// Sorts by beginning and joins findings of one rule that overlap or touch.
std::vector<Finding> merged(std::vector<Finding> findings);

}  // namespace scan
