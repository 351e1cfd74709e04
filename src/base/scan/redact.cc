#include "base/scan/redact.h"

#include <algorithm>

namespace scan {

base::Result<Redactor> Redactor::make(std::vector<std::string> known, Suspects suspects) {
    ScannerOptions options{.known = std::move(known)};
    if (suspects == Suspects::Redact) {
        options.rules.assign(secret_rules().begin(), secret_rules().end());
        options.prepared = prepared_secret_rules();
    }
    return Redactor(TRY(Scanner::make(std::move(options))));
}

std::string Redactor::redact(std::string_view text) const {
    std::string out;
    std::uint64_t passed = 0;
    for (const auto& finding : scanner_->scan(text)) {
        if (finding.end <= passed) continue;  // Inside one of another rule.
        if (finding.begin >= passed) {
            out += text.substr(passed, finding.begin - passed);
            out += fmt::format("[redacted:{}]", finding.rule);
        }
        passed = finding.end;
    }
    out += text.substr(passed);
    return out;
}

Redactor::Stream::Stream(const Redactor& redactor)
    : scanner_(*redactor.scanner_), reach_(scanner_.reach()), stream_(scanner_) {}

// Gives out everything before `safe`. A value that is still open there is left for the next call.
std::string Redactor::Stream::release(std::uint64_t safe) {
    std::string out;
    const auto pass_to = [&](std::uint64_t end, bool is_shown) {
        if (end <= passed_) return;
        const auto bytes = static_cast<std::size_t>(std::min(end, total_) - passed_);
        if (is_shown) out += held_.substr(0, bytes);
        held_.erase(0, bytes);
        passed_ += bytes;
    };
    std::size_t used = 0;
    for (; used < ahead_.size() && ahead_[used].begin < safe; ++used) {
        const auto& finding = ahead_[used];
        if (finding.end > total_) break;  // Its remaining bytes have not arrived yet.
        const bool is_fresh = finding.begin >= passed_;
        pass_to(finding.begin, true);
        if (is_fresh) out += fmt::format("[redacted:{}]", finding.rule);
        pass_to(finding.end, false);
    }
    ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(used));
    pass_to(ahead_.empty() ? safe : std::min(safe, ahead_.front().begin), true);
    return out;
}

std::string Redactor::Stream::feed(std::string_view piece) {
    stream_.feed(piece);
    held_ += piece;
    total_ += piece.size();
    std::ranges::copy(stream_.take(), std::back_inserter(ahead_));
    scanner_.drop_yielding(ahead_);
    ahead_ = merged(std::move(ahead_));
    std::uint64_t safe = total_ > reach_ ? total_ - reach_ : 0;
    if (const auto open = stream_.open_at()) safe = std::min(safe, *open);
    return release(safe);
}

std::string Redactor::Stream::finish() {
    stream_.finish();
    std::ranges::copy(stream_.take(), std::back_inserter(ahead_));
    scanner_.drop_yielding(ahead_);
    ahead_ = merged(std::move(ahead_));
    for (auto& finding : ahead_) finding.end = std::min(finding.end, total_);
    return release(total_);
}

}  // namespace scan
