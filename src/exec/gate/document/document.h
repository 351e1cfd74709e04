// The result document: the one form in which what an execution boundary made reaches the core.
//
// Markdown with YAML front matter, version 1:
//
//     ---
//     result_type: tool_result
//     …
//     ---
//     ## Summary … ## Provenance … ## Outputs … ## Stdout … ## Stderr … ## Safety Notes
//
// What parse() reads, render() writes: parse(render(document)) is the same document.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/typed.h"
#include "domain/gate.h"

namespace gate {

inline constexpr std::int64_t kSchemaVersion = 1;
inline constexpr std::string_view kResultType = "tool_result";
// Lines of a stream that a document shows by default.
inline constexpr std::int64_t kStreamLinesDefault = 200;
// Lines have no bound of their own, so the bytes shown have one.
inline constexpr std::size_t kStreamBytesShownMax = 64 * 1024;
inline constexpr std::size_t kDocumentBytesMax = 4 * 1024 * 1024;
inline constexpr std::size_t kFrontMatterBytesMax = 256 * 1024;
inline constexpr std::size_t kArtifactsMax = 1024;
// The folder of the artifacts, next to the document.
inline constexpr std::string_view kArtifactFolder = "artifacts";

enum class NetworkUsed { None, Allowlist };
BOOST_DESCRIBE_ENUM(NetworkUsed, None, Allowlist)

struct ArtifactRef {
    std::string path;  // Below kArtifactFolder.
    std::string sha256;
    friend bool operator==(const ArtifactRef&, const ArtifactRef&) = default;
};
BOOST_DESCRIBE_STRUCT(ArtifactRef, (), (path, sha256))

struct FrontMatter {
    std::string result_type{kResultType};
    std::int64_t schema_version{kSchemaVersion};
    std::string result_id;
    std::string created_utc;
    std::string request_id;
    std::string executor;
    std::string backend;
    std::int64_t exit_code{0};
    double runtime_sec{0};
    NetworkUsed network_used{NetworkUsed::None};
    std::vector<std::string> network_destinations{};
    std::vector<ArtifactRef> artifacts{};
    std::string stdout_sha256;
    std::string stderr_sha256;
    friend bool operator==(const FrontMatter&, const FrontMatter&) = default;
};
BOOST_DESCRIBE_STRUCT(FrontMatter, (),
                      (result_type, schema_version, result_id, created_utc, request_id, executor,
                       backend, exit_code, runtime_sec, network_used, network_destinations,
                       artifacts, stdout_sha256, stderr_sha256))
constexpr auto describe_fields(const FrontMatter*) {
    return std::to_array<base::FieldDoc>({{.field = "network_destinations", .has_default = true}});
}

struct Provenance {
    std::string command;  // Exactly as it ran.
    std::string backend;  // Its identity, with the version where it is known.
    std::vector<std::pair<std::string, std::string>> limits{};  // Name and value.
    friend bool operator==(const Provenance&, const Provenance&) = default;
};

struct OutputEntry {
    std::string path;
    std::string sha256;
    std::string description;
    friend bool operator==(const OutputEntry&, const OutputEntry&) = default;
};

// What a document shows of a stream.
struct StreamExcerpt {
    std::string text;                       // Whole lines; the last one has its newline, too.
    std::optional<std::string> whole_in{};  // The artifact with all of it, when this is not all.
    std::int64_t lines_total{0};            // Of the stream, when this is not all.
    friend bool operator==(const StreamExcerpt&, const StreamExcerpt&) = default;
};

struct SafetyNotes {
    std::string untrusted_output_statement;
    std::string unexpected_behavior;
    std::string network_confirmation;
    friend bool operator==(const SafetyNotes&, const SafetyNotes&) = default;
};

struct ResultDocument {
    FrontMatter front;
    std::string summary;
    Provenance provenance;
    std::vector<OutputEntry> outputs{};
    StreamExcerpt stdout_excerpt;
    StreamExcerpt stderr_excerpt;
    SafetyNotes safety;
    friend bool operator==(const ResultDocument&, const ResultDocument&) = default;
};

std::string render(const ResultDocument& document);

// A section as it is in the text.
struct SectionSpan {
    std::string_view name;  // Without the "## "; empty for the front matter.
    std::size_t begin{0};   // Bytes of its body.
    std::size_t end{0};
    friend bool operator==(const SectionSpan&, const SectionSpan&) = default;
};

struct Parsed {
    ResultDocument document;            // What could be read; whole when there are no faults.
    std::vector<SectionSpan> sections;  // Views into the text.
    bool has_front{false};              // Its fields could be read, good or bad.
    // The command inside Provenance: a report of what ran, whatever it says.
    std::size_t command_begin{0};
    std::size_t command_end{0};
    std::vector<domain::GateReason> faults;
};

// Reads any bytes in time linear in their number. Every fault is reported, and names its field or
// its section; artifacts themselves are not checked.
Parsed parse(std::string_view text, std::int64_t stream_lines_max = kStreamLinesDefault);

// "TS-YYYYMMDD-HHMMSSZ-<request_id>"
std::string result_id(base::Time created, std::string_view request_id);
bool is_request_id(std::string_view text);
bool is_sha256(std::string_view text);
// A relative path without "..", empty parts or control characters.
bool is_artifact_path(std::string_view path);

}  // namespace gate
