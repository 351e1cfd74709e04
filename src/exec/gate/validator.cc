#include "exec/gate/validator.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "exec/gate/content.h"
#include "exec/gate/unpack.h"

namespace gate {

using base::ErrorCode;
using domain::GateReason;

namespace {

// Pieces of an artifact overlap by two of these, so that a match is whole in one of them, with its
// surroundings.
constexpr std::size_t kMargin = 2 * scan::kMatchBytesMax;
static_assert(kPieceBytes > 4 * kMargin);
constexpr std::size_t kUtf16BytesPerChar = 2;
constexpr std::size_t kPackedBytesMax = std::size_t{8} << 20;  // Of a packed artifact, looked into.

class Reasons {
public:
    bool is_full() const { return list_.size() >= kReasonsMax; }
    void add(GateReason reason) {
        if (is_full())
            has_more_ = true;
        else
            list_.push_back(std::move(reason));
    }
    std::vector<GateReason> take() {
        if (has_more_)
            list_.push_back(
                {.rule = "more_reasons",
                 .message = fmt::format("there are more than {} reasons", kReasonsMax)});
        return std::move(list_);
    }

private:
    std::vector<GateReason> list_;
    bool has_more_{false};
};

GateReason reason_of(std::string_view text, const Hit& hit, const std::vector<Hit>& hits) {
    return {.rule = std::string(hit.finding.rule),
            .message = hit.message,
            .excerpt = excerpt(text, hit.finding, hits)};
}

void check_document_text(const scan::Scanner& scanner, std::string_view text, const Parsed& parsed,
                         Reasons& reasons) {
    const auto hits = judge(
        scanner, text, {.command_begin = parsed.command_begin, .command_end = parsed.command_end});
    for (const auto& hit : hits) {
        const auto at = static_cast<std::size_t>(hit.finding.begin);
        GateReason reason = reason_of(text, hit, hits);
        reason.section = "front matter";
        for (const auto& section : parsed.sections)
            if (!section.name.empty() && at >= section.begin) reason.section = section.name;
        reason.line = 1 + std::ranges::count(text.substr(0, at), '\n');
        const auto newline = text.substr(0, at).rfind('\n');
        reason.column = static_cast<std::int64_t>(newline == text.npos ? at + 1 : at - newline);
        reasons.add(std::move(reason));
    }
}

// Whether `shown` is how the beginning of `stream` is written down: with marks for bytes that are
// no text, and a newline at its end.
bool begins_with(std::string_view stream, std::string_view shown) {
    constexpr std::string_view kMark = "\xef\xbf\xbd";
    if (shown.ends_with('\n')) shown.remove_suffix(1);
    while (shown.ends_with(kMark)) shown.remove_suffix(kMark.size());  // Maybe a letter cut in two.
    std::string text = base::to_utf8(stream.substr(0, shown.size() + kMark.size()));
    std::ranges::replace(text, '\0', ' ');
    return text.starts_with(shown);
}

// Hashes one artifact and judges it piece by piece.
class ArtifactCheck {
public:
    ArtifactCheck(const scan::Scanner& scanner, const ArtifactRef& artifact, Scope scope,
                  Reasons& reasons)
        : scanner_(scanner), artifact_(artifact), scope_(scope), reasons_(reasons) {}

    // What `section` shows is to be the beginning of the artifact.
    void expect_beginning(const char* section, std::string_view shown) {
        expected_.emplace_back(section, shown);
    }

    // `left` bytes may be read; what is read is taken from it.
    base::Status run(ByteSource& source, std::uint64_t& left) {
        const std::uint64_t size = TRY(source.size());
        if (size > kArtifactBytesMax) return refuse_size();
        if (size > left) {
            add("artifact_size", fmt::format("the artifacts have more than {} GiB together, so "
                                             "this one is not read",
                                             kArtifactsBytesMax >> 30));
            return {};
        }
        left -= size;
        base::Sha256 hash;
        std::string buffer;
        std::uint64_t start = 0;  // Of the buffer, in the artifact.
        for (bool at_end = false; !at_end;) {
            const std::size_t kept = buffer.size();
            buffer.resize(kept + kPieceBytes);
            const std::size_t got = TRY(source.read(buffer.data() + kept, kPieceBytes));
            buffer.resize(kept + got);
            hash.add(std::string_view(buffer).substr(kept));
            at_end = got < kPieceBytes;
            if (start + buffer.size() > kArtifactBytesMax) return refuse_size();  // It grew.
            if (start == 0) {
                check_beginning(buffer);
                is_utf16_ = is_utf16(buffer);
                is_packed_ = is_gzip(buffer) || is_zip(buffer);
            }
            if (is_packed_ && packed_.size() < kPackedBytesMax)
                packed_ += std::string_view(buffer).substr(kept);
            if (is_utf16_)
                look(utf16_to_utf8(buffer), start, at_end, kUtf16BytesPerChar);
            else
                look(buffer, start, at_end, 1);
            if (at_end) break;
            const std::size_t gone = buffer.size() - 2 * kMargin;
            buffer.erase(0, gone);
            start += gone;
        }
        if (is_packed_) look_inside();
        if (hash.finish_hex() != artifact_.sha256)
            add("artifact_hash", "the sha256 of the file is not the one that the document says");
        return {};
    }

private:
    base::Status refuse_size() {
        add("artifact_size", fmt::format("the artifact is larger than {} GiB, so it is not read",
                                         kArtifactBytesMax >> 30));
        return {};
    }

    void add(std::string rule, std::string message) {
        reasons_.add(
            {.rule = std::move(rule), .message = std::move(message), .artifact = artifact_.path});
    }

    // Or a document could show one thing and vouch for another.
    void check_beginning(std::string_view piece) {
        for (const auto& [section, shown] : expected_)
            if (!begins_with(piece, shown))
                reasons_.add({.rule = "stream_excerpt",
                              .message = "what is shown is not the beginning of the whole stream",
                              .section = section,
                              .artifact = artifact_.path});
    }

    // Hits near a border are left to the piece that has them in its middle. A byte of `piece`
    // stands for `scale` bytes of the artifact.
    void look(std::string_view piece, std::uint64_t start, bool at_end, std::size_t scale) {
        if (reasons_.is_full()) return;
        const std::size_t margin = std::min(kMargin / scale, piece.size());
        const std::size_t first = start == 0 ? 0 : margin;
        const std::size_t last = at_end ? piece.size() : piece.size() - margin;
        const auto hits = judge(scanner_, piece, {.scope = scope_});
        for (const auto& hit : hits) {
            const bool is_here = hit.finding.begin >= first && hit.finding.begin < last;
            if (!is_here && !(start == 0 && at_end)) continue;
            GateReason reason = reason_of(piece, hit, hits);
            reason.artifact = artifact_.path;
            reason.offset = static_cast<std::int64_t>(start + hit.finding.begin * scale);
            reasons_.add(std::move(reason));
        }
    }

    void look_inside() {
        visit_unpacked(packed_, [&](std::string_view inside, const std::string& via) {
            if (reasons_.is_full()) return;
            const auto hits = judge(scanner_, inside, {.scope = scope_});
            for (const auto& hit : hits) {
                GateReason reason = reason_of(inside, hit, hits);
                reason.message = fmt::format("inside the {} file: {}", via, reason.message);
                reason.artifact = artifact_.path;
                reasons_.add(std::move(reason));
            }
        });
    }

    const scan::Scanner& scanner_;
    const ArtifactRef& artifact_;
    Scope scope_;
    Reasons& reasons_;
    std::vector<std::pair<const char*, std::string_view>> expected_;
    bool is_utf16_{false};
    bool is_packed_{false};
    std::string packed_;  // The beginning of a packed artifact.
};

// Faults that are the document's, not this machine's.
bool is_of_document(const base::Error& error) {
    return error.code == ErrorCode::NotFound || error.code == ErrorCode::InvalidInput ||
           error.code == ErrorCode::Refused;
}

base::Status check_listing(const std::vector<ArtifactRef>& listed, Artifacts& artifacts,
                           Reasons& reasons) {
    const auto present = TRY(artifacts.list(kArtifactsMax));
    for (const auto& path : present) {
        if (std::ranges::find(listed, path, &ArtifactRef::path) != listed.end()) continue;
        reasons.add({.rule = "unlisted_artifact",
                     .message = "there is a file that the document does not list",
                     .artifact = base::ellipsize(base::printable(base::to_utf8(path)), 200)});
    }
    return {};
}

}  // namespace

base::Result<Validator> Validator::make(const ValidatorOptions& options) {
    auto scanning = all_rules();
    scanning.known = options.credentials;
    Validator made;
    made.scanner_ = TRY(scan::Scanner::make(std::move(scanning)));
    made.stream_lines_max_ = options.stream_lines_max;
    return made;
}

base::Result<Verdict> Validator::validate(std::string_view text, Artifacts& artifacts) const {
    Verdict verdict{.document_sha256 = base::sha256_hex(text)};
    Parsed parsed = parse(text, stream_lines_max_);
    Reasons reasons;
    for (auto& fault : parsed.faults) reasons.add(std::move(fault));
    const auto& front = parsed.document.front;
    // What is too large to be a document is not read as one.
    if (text.size() <= kDocumentBytesMax) check_document_text(*scanner_, text, parsed, reasons);
    if (parsed.has_front) TRY(check_listing(front.artifacts, artifacts, reasons));
    std::uint64_t left = kArtifactsBytesMax;
    for (const auto& artifact : front.artifacts) {
        if (!is_artifact_path(artifact.path) || reasons.is_full()) continue;  // Reported already.
        auto source = artifacts.open(artifact.path);
        if (!source && !is_of_document(source.error())) return std::unexpected(source.error());
        if (!source) {
            reasons.add({.rule = "artifact_missing",
                         .message = source.error().message,
                         .artifact = artifact.path});
            continue;
        }
        // A stream is text of the result, however much of it the document shows.
        const bool is_stream =
            artifact.sha256 == front.stdout_sha256 || artifact.sha256 == front.stderr_sha256;
        ArtifactCheck check(*scanner_, artifact, is_stream ? Scope::Everything : Scope::Secrets,
                            reasons);
        for (const auto& [section, excerpt] :
             {std::pair{"Stdout", &parsed.document.stdout_excerpt},
              std::pair{"Stderr", &parsed.document.stderr_excerpt}})
            if (excerpt->whole_in == artifact.path) check.expect_beginning(section, excerpt->text);
        TRY(check.run(**source, left));
    }
    verdict.reasons = reasons.take();
    // A message may quote what it complains about.
    for (auto& reason : verdict.reasons)
        if (!scanner_->scan(reason.message).empty())
            reason.message = "the value is not what is expected there";
    verdict.document = std::move(parsed.document);
    if (verdict.reasons.empty()) verdict.outcome = domain::GateOutcome::Accept;
    return verdict;
}

std::vector<GateReason> Validator::check_text(std::string_view text) const {
    std::vector<GateReason> list;
    const auto hits = judge(*scanner_, text, {});
    for (const auto& hit : hits) list.push_back(reason_of(text, hit, hits));
    return list;
}

}  // namespace gate
