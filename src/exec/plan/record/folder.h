// The files of one run, for people and other programs: run.json, calls.jsonl, results.jsonl and
// events.jsonl. They are written from committed facts and never read back as truth; a run that is
// resumed writes them again.
#pragma once

#include <array>
#include <filesystem>

#include "base/os/files.h"
#include "domain/plan.h"

namespace plan {

inline constexpr std::size_t kRunFileBytesMax = std::size_t{1} << 30;

// Appends lines; a reader never sees half a commit's line missing, at worst its last line cut by a
// crash.
class RunFolder {
public:
    // Writes what is there already, and keeps the files open for what is to come.
    static base::Result<RunFolder> open(const std::filesystem::path& folder,
                                        const domain::PlanRun& run, const json::value& document,
                                        const std::vector<domain::PlanRecord>& records);

    base::Status append(const std::vector<domain::PlanRecord>& records);
    // run.json: the run as it stands, its plan and the end of the chain.
    base::Status write_run(const domain::PlanRun& run);

private:
    std::filesystem::path path_;
    json::value document_;
    std::array<base::Fd, 3> files_;  // By PlanRecordKind.
};

// What a folder says, for verify and replay.
struct RunFiles {
    domain::PlanRun run;
    json::object written;  // run.json as it is, without the plan.
    json::value document;
    std::vector<domain::PlanRecord> records;  // Of all files, by their number.
    std::vector<std::string> places;          // Of each record: "calls.jsonl line 3".
    std::string out_of_order;                 // The first line that is not in its place, if any.
};
// Corrupt, naming the place, when a file is not what a run writes; NotFound, naming it, when one is
// missing.
base::Result<RunFiles> read_folder(const std::filesystem::path& folder);

// Those of a run's files that are one kind of record: "calls.jsonl".
std::string_view file_name(domain::PlanRecordKind kind);

}  // namespace plan
