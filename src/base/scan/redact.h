// Text with its secrets taken out, for everything that is kept, shown or sent: tool output, events,
// transcripts, logs, prompts.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/scan/scanner.h"

namespace scan {

// Whether what only looks like a secret goes, too. Known credentials always go.
enum class Suspects { Keep, Redact };

class Redactor {
public:
    // The error names what the engines refuse; see Scanner::make for what it costs.
    static base::Result<Redactor> make(std::vector<std::string> known, Suspects suspects);

    // `text` with each secret replaced by "[redacted:<rule>]".
    std::string redact(std::string_view text) const;

    // The same for a text that arrives in pieces. What comes out lags behind by at most the longest
    // secret, so that none slips through where a piece ends. Uses the redactor until its end.
    class Stream {
    public:
        explicit Stream(const Redactor& redactor);
        std::string feed(std::string_view piece);
        std::string finish();

    private:
        std::string release(std::uint64_t safe);

        const Scanner& scanner_;
        std::size_t reach_;
        Scanner::Stream stream_;
        std::vector<Finding> ahead_;  // Found, but not passed yet.
        std::string held_;            // From passed_ on.
        std::uint64_t passed_{0};
        std::uint64_t total_{0};
    };

private:
    explicit Redactor(std::shared_ptr<const Scanner> scanner) : scanner_(std::move(scanner)) {}
    std::shared_ptr<const Scanner> scanner_;
};

}  // namespace scan
