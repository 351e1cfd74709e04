#include <algorithm>
#include <array>
#include <optional>

#include "base/hash.h"
#include "base/text.h"
#include "exec/gate/document/document.h"
#include "exec/gate/document/front_matter.h"
#include "exec/gate/document/labels.h"
#include "exec/gate/document/meaning.h"

namespace gate {
namespace {

constexpr std::array<std::string_view, 6> kSections = {"Summary", "Provenance", "Outputs",
                                                       "Stdout",  "Stderr",     "Safety Notes"};
constexpr std::size_t kLabelBytesMax = 200;  // executor, backend, destinations.
constexpr std::size_t kFaultsMax = 200;

struct Line {
    std::string_view text;  // Without its end.
    std::size_t begin{0};
    std::size_t end{0};  // Behind its end.
};

// The line at `begin`.
Line line_at(std::string_view text, std::size_t begin) {
    const std::size_t newline = text.find('\n', begin);
    const std::size_t end = newline == text.npos ? text.size() : newline;
    auto line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return {line, begin, newline == text.npos ? end : end + 1};
}

std::vector<Line> lines_of(std::string_view text, std::size_t begin, std::size_t end) {
    std::vector<Line> lines;
    while (begin < end) {
        lines.push_back(line_at(text.substr(0, end), begin));
        begin = lines.back().end;
    }
    return lines;
}

bool is_blank(std::string_view line) {
    return base::trim(line).empty();
}

// Blocks between ``` and ```, in which nothing has a meaning.
class Fences {
public:
    enum class Part { Outside, Opening, Inside, Closing };
    Part next(std::string_view line) {
        const std::size_t ticks = std::min(line.find_first_not_of('`'), line.size());
        if (open_ == 0) {
            if (ticks < 3 || line.find('`', ticks) != line.npos) return Part::Outside;
            open_ = ticks;
            return Part::Opening;
        }
        if (ticks < open_ || !is_blank(line.substr(ticks))) return Part::Inside;
        open_ = 0;
        return Part::Closing;
    }
    bool is_open() const { return open_ > 0; }

private:
    std::size_t open_{0};
};

class Reader {
public:
    Reader(std::string_view text, std::int64_t stream_lines_max)
        : text_(text), stream_lines_max_(stream_lines_max) {}

    Parsed read() {
        if (text_.size() > kDocumentBytesMax) {
            fault("document_size",
                  fmt::format("the document has {} bytes, more than {}; put large output into "
                              "artifacts",
                              text_.size(), kDocumentBytesMax));
        } else if (!base::is_utf8(text_) || text_.find('\0') != text_.npos) {
            fault("not_text", "the document is not UTF-8 text");
        } else {
            read_sections(read_front_matter());
            read_summary();
            read_provenance();
            read_outputs();
            out_.document.stdout_excerpt = read_stream("Stdout", front().stdout_sha256);
            out_.document.stderr_excerpt = read_stream("Stderr", front().stderr_sha256);
            read_safety_notes();
            if (has_good_front_)
                for (auto& found : meaning_faults(out_.document))
                    *fault(found.rule, found.message) = found;
        }
        return std::move(out_);
    }

private:
    FrontMatter& front() { return out_.document.front; }

    domain::GateReason* fault(std::string rule, std::string_view message) {
        if (out_.faults.size() >= kFaultsMax) return &overflow_;
        out_.faults.push_back({.rule = std::move(rule), .message = base::to_utf8(message)});
        return &out_.faults.back();
    }
    void field_fault(std::string rule, std::string_view field, std::string_view message) {
        fault(std::move(rule), message)->field = std::string(field);
    }
    void section_fault(std::string rule, std::string_view section, std::string_view message) {
        fault(std::move(rule), message)->section = std::string(section);
    }

    // Front matter -------------------------------------------------------------------------------

    // Returns where the sections begin.
    std::size_t read_front_matter() {
        const Line first = line_at(text_, 0);
        if (first.text != "---") {
            fault("front_matter", "the document does not start with front matter: a line '---'");
            return 0;
        }
        std::size_t at = first.end;
        while (at < text_.size() && at <= kFrontMatterBytesMax) {
            const Line line = line_at(text_, at);
            if (line.text == "---") {
                out_.sections.push_back({"", first.end, at});
                read_fields(text_.substr(first.end, at - first.end));
                return line.end;
            }
            at = line.end;
        }
        fault("front_matter",
              fmt::format("the front matter has no closing line '---' within {} bytes",
                          kFrontMatterBytesMax));
        return at;
    }

    void read_fields(std::string_view yaml) {
        const auto parsed = read_yaml(yaml);
        for (const auto& problem : parsed.faults)
            field_fault(problem.rule, problem.pointer, problem.message);
        if (!parsed.faults.empty()) return;
        out_.has_front = true;
        std::vector<base::typed::Fault> faults;
        base::typed::decode(base::typed::type_of<FrontMatter>(), &front(), parsed.value,
                            base::Unknown::Reject, "", faults);
        for (const auto& problem : faults)
            field_fault("front_matter_field", problem.pointer, problem.message);
        has_good_front_ = faults.empty();
        if (has_good_front_) check_fields();
    }

    void expect(bool holds, std::string_view field, std::string_view message) {
        if (!holds) field_fault("front_matter_field", field, message);
    }

    void check_fields() {
        const auto& f = front();
        expect(f.result_type == kResultType, "/result_type", "must be tool_result");
        expect(f.schema_version == kSchemaVersion, "/schema_version", "must be 1");
        expect(is_request_id(f.request_id), "/request_id",
               "must be TR- and letters, digits, '.', '_' or '-'");
        const auto created = base::parse_time(f.created_utc);
        expect(created && f.created_utc.ends_with('Z'), "/created_utc",
               "must be a time in UTC, like 2031-01-02T03:04:05Z");
        expect(is_result_id(f), "/result_id", "must be TS-YYYYMMDD-HHMMSSZ- and the request_id");
        for (const auto& [field, value] :
             {std::pair{"/executor", &f.executor}, std::pair{"/backend", &f.backend}})
            expect(!is_blank(*value) && value->size() <= kLabelBytesMax, field,
                   fmt::format("must be a name of at most {} bytes", kLabelBytesMax));
        expect(f.runtime_sec >= 0, "/runtime_sec", "must not be negative");
        check_network();
        check_artifacts();
        expect(is_sha256(f.stdout_sha256), "/stdout_sha256", "must be 64 lower-case hex digits");
        expect(is_sha256(f.stderr_sha256), "/stderr_sha256", "must be 64 lower-case hex digits");
    }

    static bool is_result_id(const FrontMatter& f) {
        constexpr std::string_view kShape = "TS-dddddddd-ddddddZ-";
        const std::string_view id = f.result_id;
        if (id.size() <= kShape.size() || id.substr(kShape.size()) != f.request_id) return false;
        for (std::size_t i = 0; i < kShape.size(); ++i)
            if (kShape[i] == 'd' ? (id[i] < '0' || id[i] > '9') : id[i] != kShape[i]) return false;
        return base::parse_time(fmt::format("{}-{}-{}T{}:{}:{}Z", id.substr(3, 4), id.substr(7, 2),
                                            id.substr(9, 2), id.substr(12, 2), id.substr(14, 2),
                                            id.substr(16, 2)))
            .has_value();
    }

    void check_network() {
        const auto& f = front();
        if (f.network_used == NetworkUsed::None)
            expect(f.network_destinations.empty(), "/network_destinations",
                   "must be empty when network_used is none");
        else
            expect(
                !f.network_destinations.empty() && f.network_destinations.size() <= kArtifactsMax,
                "/network_destinations",
                "must list what was reached when network_used is allowlist");
        for (const auto& name : f.network_destinations)
            expect(!is_blank(name) && name.size() <= kLabelBytesMax &&
                       name.find_first_of(" \t\r\n") == name.npos,
                   "/network_destinations", "must be names of hosts");
    }

    void check_artifacts() {
        const auto& list = front().artifacts;
        expect(list.size() <= kArtifactsMax, "/artifacts",
               fmt::format("must not be more than {}", kArtifactsMax));
        std::vector<std::string> paths;
        for (std::size_t i = 0; i < std::min(list.size(), kArtifactsMax); ++i) {
            const std::string field = fmt::format("/artifacts/{}", i);
            expect(is_artifact_path(list[i].path), field + "/path",
                   "must be a relative path without '..'");
            expect(is_sha256(list[i].sha256), field + "/sha256",
                   "must be 64 lower-case hex digits");
            paths.push_back(list[i].path);
        }
        std::ranges::sort(paths);
        expect(std::ranges::adjacent_find(paths) == paths.end(), "/artifacts",
               "must not name a path twice");
    }

    // Sections -----------------------------------------------------------------------------------

    void read_sections(std::size_t begin) {
        Fences fences;
        bool has_stray = false;
        for (std::size_t at = begin; at < text_.size();) {
            const Line line = line_at(text_, at);
            at = line.end;
            const bool is_heading =
                fences.next(line.text) == Fences::Part::Outside && line.text.starts_with("## ");
            if (is_heading) {
                close_section(line.begin);
                out_.sections.push_back({base::trim(line.text.substr(3)), line.end, line.end});
                has_open_ = true;
            } else if (!has_open_ && !is_blank(line.text) && !line.text.starts_with("# ")) {
                has_stray = true;
            }
        }
        close_section(text_.size());
        if (fences.is_open()) fault("open_block", "a block that starts with ``` has no end");
        if (has_stray) fault("stray_text", "there is text before the section '## Summary'");
        check_order();
    }

    void close_section(std::size_t end) {
        if (has_open_) out_.sections.back().end = end;
    }

    void check_order() {
        std::vector<std::string_view> found;
        for (const auto& section : out_.sections)
            if (!section.name.empty()) found.push_back(section.name);
        for (const auto name : kSections) {
            const auto times = std::ranges::count(found, name);
            if (times == 0)
                section_fault("missing_section", name,
                              fmt::format("the section '## {}' is missing", name));
            if (times > 1)
                section_fault("repeated_section", name,
                              fmt::format("the section '## {}' is there {} times", name, times));
        }
        std::vector<std::string_view> known;
        for (const auto name : found) {
            if (std::ranges::find(kSections, name) != kSections.end())
                known.push_back(name);
            else
                section_fault("unknown_section", base::ellipsize(name, 60),
                              "there is a section that a result document does not have");
        }
        const auto place = [](std::string_view name) {
            return std::ranges::find(kSections, name) - kSections.begin();
        };
        if (!std::ranges::is_sorted(known, {}, place))
            fault("section_order",
                  fmt::format("the sections are not in the order {}", fmt::join(kSections, ", ")));
    }

    const SectionSpan* section(std::string_view name) const {
        const auto found = std::ranges::find(out_.sections, name, &SectionSpan::name);
        return found == out_.sections.end() ? nullptr : &*found;
    }

    std::vector<Line> body(std::string_view name) const {
        const auto* found = section(name);
        return found ? lines_of(text_, found->begin, found->end) : std::vector<Line>{};
    }

    void read_summary() {
        const auto* found = section("Summary");
        if (!found) return;
        out_.document.summary = base::trim(text_.substr(found->begin, found->end - found->begin));
        if (out_.document.summary.empty())
            section_fault("empty_section", "Summary",
                          "the summary does not say what ran and how it ended");
    }

    // Provenance ---------------------------------------------------------------------------------

    enum class Fact { None, Command, Backend, Limits };

    // What a label of any clear wording announces: "Exact command executed", "Resource limits".
    Fact fact_of(std::string_view label) const {
        const auto has_any = [&](std::initializer_list<std::string_view> words) {
            return std::ranges::any_of(words, [&](auto word) { return has_word(label, word); });
        };
        if (has_any({"command", "cmd", "invocation", "executed", "ran"})) return Fact::Command;
        if (has_any({"limit", "limits", "quota", "quotas", "resources"})) return Fact::Limits;
        if (has_any({"backend", "engine", "sandbox", "platform", "version"}) ||
            (out_.has_front && !out_.document.front.backend.empty() &&
             has_word(label, out_.document.front.backend)))
            return Fact::Backend;
        return Fact::None;
    }

    void set_command(std::string_view value) {
        Provenance& provenance = out_.document.provenance;
        if (value.empty() || !provenance.command.empty()) return;
        provenance.command = unquoted(value);
        out_.command_begin = static_cast<std::size_t>(value.data() - text_.data());
        out_.command_end = out_.command_begin + value.size();
    }

    void set_backend(std::string_view value) {
        auto& backend = out_.document.provenance.backend;
        if (!value.empty()) backend += (backend.empty() ? "" : " ") + unquoted(value);
    }

    // A sentence instead of a label: "Ran `python3 x.py` on ERA 1.4 without limits."
    void read_sentence(std::string_view line) {
        Provenance& provenance = out_.document.provenance;
        const auto open = line.find('`');
        const auto close = open == line.npos ? open : line.find('`', open + 1);
        if (close != line.npos && fact_of(line.substr(0, open)) == Fact::Command)
            set_command(line.substr(open + 1, close - open - 1));
        const auto& backend = out_.document.front.backend;
        if (provenance.backend.empty() &&
            (has_word(line, "backend") || (!backend.empty() && has_word(line, backend))))
            set_backend(base::trim(line));
        if (provenance.limits.empty() && (has_word(line, "limit") || has_word(line, "limits")))
            provenance.limits.emplace_back("limits", base::trim(line));
    }

    void read_provenance() {
        if (!section("Provenance")) return;
        Provenance& provenance = out_.document.provenance;
        Fences fences;
        Fact last = Fact::None;  // What the lines below a label belong to.
        bool has_limits = false;
        std::size_t block = 0;
        for (const Line& line : body("Provenance")) {
            const auto part = fences.next(line.text);
            if (part == Fences::Part::Opening) block = line.end;
            if (part == Fences::Part::Closing && last == Fact::Command && line.begin > block)
                set_command(base::trim(text_.substr(block, line.begin - block)));
            if (part != Fences::Part::Outside || is_blank(line.text)) continue;
            const bool is_indented = line.text.starts_with(' ') || line.text.starts_with('\t');
            if (last == Fact::Limits && is_indented) {
                has_limits = true;
                read_limit(line.text);
                continue;
            }
            const auto found = labelled_line(line.text);
            last = found ? fact_of(found->label) : Fact::None;
            if (!found) {
                read_sentence(line.text);
            } else if (last == Fact::Command) {
                set_command(found->value);
            } else if (last == Fact::Backend) {
                set_backend(found->value);
            } else if (last == Fact::Limits && !found->value.empty()) {
                provenance.limits.emplace_back("limits", found->value);
            }
        }
        has_limits = has_limits || !provenance.limits.empty();
        const auto need = [&](bool has, std::string_view what) {
            if (!has)
                section_fault("missing_provenance", "Provenance",
                              fmt::format("Provenance does not say {}; write a line '- {}: …'",
                                          what == "Command"   ? "which command ran"
                                          : what == "Backend" ? "on which backend it ran"
                                                              : "which limits applied",
                                          what));
        };
        need(!provenance.command.empty(), "Command");
        need(!provenance.backend.empty(), "Backend");
        need(has_limits, "Limits");
    }

    void read_limit(std::string_view line) {
        line = base::trim(line);
        if (line.starts_with("- ")) line.remove_prefix(2);
        const auto colon = line.find(':');
        if (colon == line.npos) return;  // "none"
        out_.document.provenance.limits.emplace_back(line.substr(0, colon),
                                                     unquoted(base::trim(line.substr(colon + 1))));
    }

    void read_outputs() {
        if (!section("Outputs")) return;
        constexpr std::string_view kDigest = " sha256: ";
        auto& outputs = out_.document.outputs;
        for (const Line& line : body("Outputs")) {
            if (const auto text = labelled(line.text, "Description")) {
                if (!outputs.empty()) outputs.back().description = *text;
                continue;
            }
            const auto at = line.text.rfind(kDigest);
            if (!line.text.starts_with("- ") || at == line.text.npos || at < 2) continue;
            auto path = line.text.substr(2, at - 2);
            if (path.starts_with("/out/")) path.remove_prefix(5);
            outputs.push_back(
                {.path = std::string(path),
                 .sha256 = std::string(base::trim(line.text.substr(at + kDigest.size())))});
        }
        if (out_.has_front) check_outputs();  // Else there is nothing to hold them to.
    }

    void check_outputs() {
        const auto& outputs = out_.document.outputs;
        for (const auto& output : outputs) {
            const auto listed =
                std::ranges::find(front().artifacts, output.path, &ArtifactRef::path);
            if (listed == front().artifacts.end() || listed->sha256 != output.sha256)
                section_fault("outputs_mismatch", "Outputs",
                              fmt::format("'{}' is not an artifact of the front matter with this "
                                          "sha256",
                                          base::ellipsize(output.path, 120)));
            if (output.description.empty())
                section_fault(
                    "missing_description", "Outputs",
                    fmt::format("'{}' has no description", base::ellipsize(output.path, 120)));
        }
        for (const auto& artifact : front().artifacts)
            if (std::ranges::find(outputs, artifact.path, &OutputEntry::path) == outputs.end())
                section_fault("outputs_mismatch", "Outputs",
                              fmt::format("the artifact '{}' is not listed",
                                          base::ellipsize(artifact.path, 120)));
    }

    // Streams ------------------------------------------------------------------------------------

    StreamExcerpt read_stream(std::string_view name, const std::string& digest) {
        StreamExcerpt stream;
        if (!section(name)) return stream;
        Fences fences;
        std::size_t begin = 0, end = 0;
        std::int64_t shown = 0;
        int blocks = 0;
        std::vector<Line> bare;  // Output without a block around it.
        for (const Line& line : body(name)) {
            switch (fences.next(line.text)) {
                case Fences::Part::Opening:
                    ++blocks;
                    begin = end = line.end;
                    break;
                case Fences::Part::Inside:
                    end = line.end;
                    ++shown;
                    break;
                case Fences::Part::Closing:
                    break;
                case Fences::Part::Outside:
                    if (!read_note(line.text, stream)) bare.push_back(line);
                    break;
            }
        }
        if (blocks == 0 && !bare.empty()) {
            begin = bare.front().begin;
            end = bare.back().end;
            shown = std::ranges::count(text_.substr(begin, end - begin), '\n');
        } else if (!bare.empty()) {
            section_fault(
                "stream_shape", name,
                "there is text next to the block of output that is no note on an artifact "
                "with all of it");
        }
        if (blocks > 1)
            section_fault("stream_shape", name, "there is more than one block of output");
        stream.text = text_.substr(begin, end - begin);
        if (shown > stream_lines_max_)
            section_fault(
                "too_many_lines", name,
                fmt::format("{} lines are shown, more than {}", shown, stream_lines_max_));
        check_digest(name, stream, digest);
        return stream;
    }

    // Text in a stream's section outside the block of output: a note that it is empty, or that it
    // was truncated and which artifact has all of it, in any wording. False for anything else.
    bool read_note(std::string_view line, StreamExcerpt& stream) {
        auto words = base::trim(line);
        constexpr std::string_view kMarks = "*_`().-> ";
        const auto first = words.find_first_not_of(kMarks);
        if (first == words.npos) return true;
        const auto plain = words.substr(first, words.find_last_not_of(kMarks) - first + 1);
        for (const std::string_view nothing :
             {"empty", "none", "no output", "nothing", "no stderr", "no stdout", "n/a"})
            if (plain.size() == nothing.size() && has_word(plain, nothing)) return true;
        const ArtifactRef* named = nullptr;
        for (const auto& artifact : front().artifacts)
            if (line.find(artifact.path) != line.npos &&
                (!named || artifact.path.size() > named->path.size()))
                named = &artifact;
        if (!named) {
            if (!has_word(line, "truncated")) return false;
            stream.whole_in = "";  // All of it is nowhere; check_digest() says so.
            return true;
        }
        const bool is_note =
            std::ranges::any_of(std::array{"truncated", "truncation", "cut", "first", "omitted",
                                           "full", "whole", "complete", "all", "rest", "remaining"},
                                [&](std::string_view word) { return has_word(line, word); });
        if (!is_note) return false;
        stream.whole_in = named->path;
        // Our own notes say how many lines there are.
        constexpr std::string_view kStart = "Truncated: this is the beginning of ";
        if (words.starts_with(kStart)) {
            const auto count =
                words.substr(kStart.size(), words.find(' ', kStart.size()) - kStart.size());
            if (const auto number = base::parse_json(count); number && number->is_int64())
                stream.lines_total = number->get_int64();
        }
        return true;
    }

    void check_digest(std::string_view name, const StreamExcerpt& stream,
                      const std::string& digest) {
        if (!is_sha256(digest)) return;  // Reported already.
        if (stream.whole_in) {
            const auto artifact =
                std::ranges::find(front().artifacts, *stream.whole_in, &ArtifactRef::path);
            if (artifact == front().artifacts.end() || artifact->sha256 != digest)
                section_fault("stream_artifact", name,
                              "the artifact with the whole stream is not listed with the sha256 of "
                              "the stream");
            return;
        }
        // A stream need not end with a newline; a block has to.
        std::string_view text = stream.text;
        if (base::sha256_hex(text) == digest) return;
        if (text.ends_with('\n')) text.remove_suffix(1);
        if (base::sha256_hex(text) == digest) return;
        section_fault("stream_hash", name,
                      "what is shown does not have the sha256 of the stream, and there is no note "
                      "that it was truncated");
    }

    void read_safety_notes() {
        if (!section("Safety Notes")) return;
        SafetyNotes& safety = out_.document.safety;
        const auto lines = body("Safety Notes");
        for (const auto& [label, value] :
             {std::pair{"Untrusted Output Statement", &safety.untrusted_output_statement},
              std::pair{"Unexpected behavior", &safety.unexpected_behavior},
              std::pair{"Network confirmation", &safety.network_confirmation}}) {
            for (std::size_t i = 0; i < lines.size(); ++i) {
                const auto text = labelled(lines[i].text, label);
                if (!text) continue;
                *value = *text;
                // Its text may go on, or begin, on the lines below it.
                for (std::size_t next = i + 1; next < lines.size() && !is_blank(lines[next].text) &&
                                               !labelled_line(lines[next].text);
                     ++next)
                    *value +=
                        (value->empty() ? "" : " ") + std::string(base::trim(lines[next].text));
            }
            if (value->empty())
                section_fault("missing_safety_note", "Safety Notes",
                              fmt::format("there is no '{}:'", label));
        }
    }

    std::string_view text_;
    std::int64_t stream_lines_max_;
    Parsed out_;
    bool has_open_{false};
    bool has_good_front_{false};
    domain::GateReason overflow_;  // Takes what is beyond kFaultsMax.
};

}  // namespace

Parsed parse(std::string_view text, std::int64_t stream_lines_max) {
    return Reader(text, stream_lines_max).read();
}

}  // namespace gate
