// Whether a result document may enter: its form, its digests, its content.
//
// All input is untrusted data here: nothing is followed, run or unpacked beyond the bounds, and
// every reason says where, with secrets taken out.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/scan/scanner.h"
#include "domain/gate.h"
#include "exec/gate/document/document.h"

namespace gate {

inline constexpr std::size_t kReasonsMax =
    100;  // The first ones; one more says that there are more.
// Larger ones are refused before they are read, so that a verdict takes seconds, not hours.
inline constexpr std::uint64_t kArtifactBytesMax = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kArtifactsBytesMax = std::uint64_t{2} << 30;  // All of a document.
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20;             // Read at a time.

// The bytes of one artifact, in order.
class ByteSource {
public:
    virtual ~ByteSource() = default;
    // How many there are now.
    virtual base::Result<std::uint64_t> size() = 0;
    // Fills `into` as far as there are bytes; fewer than its size only at the end.
    virtual base::Result<std::size_t> read(char* into, std::size_t bytes) = 0;
};

// The files that came with a document.
class Artifacts {
public:
    virtual ~Artifacts() = default;
    // A regular file below the artifact folder, reached without links.
    virtual base::Result<std::unique_ptr<ByteSource>> open(const std::string& path) = 0;
    // The paths of all that is there, files and other things; at most `paths_max` and one more.
    virtual base::Result<std::vector<std::string>> list(std::size_t paths_max) = 0;
};

struct Verdict {
    domain::GateOutcome outcome{domain::GateOutcome::Reject};
    std::vector<domain::GateReason> reasons{};  // Empty when accepted.
    std::string document_sha256{};
    ResultDocument document{};  // As far as it could be read.
};

struct ValidatorOptions {
    std::vector<std::string> credentials{};  // Everything secret that the runtime knows.
    std::int64_t stream_lines_max{kStreamLinesDefault};
};

// Any thread may use one.
class Validator {
public:
    // Fails when a rule cannot be used: a gate with a gap does not open.
    static base::Result<Validator> make(const ValidatorOptions& options);

    // A document is rejected for what it is, not for its name; it is an error only when an artifact
    // could not be read for a reason of this machine.
    base::Result<Verdict> validate(std::string_view text, Artifacts& artifacts) const;

    // The content rules alone, over a piece of text.
    std::vector<domain::GateReason> check_text(std::string_view text) const;

private:
    Validator() = default;
    std::shared_ptr<const scan::Scanner> scanner_;
    std::int64_t stream_lines_max_{kStreamLinesDefault};
};

// The artifacts in a folder of the file system. A folder that does not exist has none.
class FolderArtifacts final : public Artifacts {
public:
    explicit FolderArtifacts(std::string folder) : folder_(std::move(folder)) {}
    base::Result<std::unique_ptr<ByteSource>> open(const std::string& path) override;
    base::Result<std::vector<std::string>> list(std::size_t paths_max) override;

private:
    std::string folder_;
};

}  // namespace gate
