#include "exec/plan/record/folder.h"

#include <fcntl.h>

#include <algorithm>

#include "base/text.h"
#include "exec/plan/language/wire.h"

namespace plan {
namespace {

using base::ErrorCode;
using domain::PlanRecordKind;

constexpr std::string_view kFileNames[] = {"calls.jsonl", "results.jsonl", "events.jsonl"};
constexpr PlanRecordKind kKinds[] = {PlanRecordKind::Call, PlanRecordKind::Result,
                                     PlanRecordKind::Event};
constexpr std::string_view kRunFile = "run.json";

std::array<std::string, 3> lines_of(const std::vector<domain::PlanRecord>& records) {
    std::array<std::string, 3> texts;
    for (const auto& record : records)
        texts[static_cast<std::size_t>(record.kind)].append(record.line).append("\n");
    return texts;
}

}  // namespace

std::string_view file_name(PlanRecordKind kind) {
    return kFileNames[static_cast<std::size_t>(kind)];
}

base::Result<RunFolder> RunFolder::open(const std::filesystem::path& folder,
                                        const domain::PlanRun& run, const json::value& document,
                                        const std::vector<domain::PlanRecord>& records) {
    TRY(base::make_folders(folder, 0700));
    RunFolder out;
    out.path_ = folder;
    out.document_ = document;
    const auto texts = lines_of(records);
    for (const auto kind : kKinds) {
        const auto at = static_cast<std::size_t>(kind);
        const auto file = folder / file_name(kind);
        // Not forced to the disk: the store has it all, and a power cut costs a rewrite at most.
        out.files_[at] = base::Fd(
            ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
        if (!out.files_[at] || !base::write_all(out.files_[at].get(), texts[at]))
            return base::fail_errno("write " + file.string());
    }
    TRY(out.write_run(run));
    return out;
}

base::Status RunFolder::append(const std::vector<domain::PlanRecord>& records) {
    const auto texts = lines_of(records);
    for (std::size_t at = 0; at < texts.size(); ++at)
        if (!texts[at].empty() && !base::write_all(files_[at].get(), texts[at]))
            return base::fail_errno("write " + (path_ / kFileNames[at]).string());
    return {};
}

base::Status RunFolder::write_run(const domain::PlanRun& run) {
    json::object out = run_json(run);
    out["plan"] = document_;
    return base::write_file_atomic(path_ / kRunFile, base::pretty_json(out) + "\n", 0600);
}

namespace {

base::Result<std::string> read_part(const std::filesystem::path& folder, std::string_view name) {
    auto text = base::read_file(folder / name, kRunFileBytesMax);
    if (!text && text.error().code == ErrorCode::NotFound)
        return base::fail(ErrorCode::NotFound, "{} is missing", name);
    return text;
}

}  // namespace

base::Result<RunFiles> read_folder(const std::filesystem::path& folder) {
    RunFiles files;
    const auto run_text = TRY(read_part(folder, kRunFile));
    auto run = base::parse_json(run_text);
    if (!run || !run->is_object())
        return base::fail(ErrorCode::Corrupt, "run.json is not a run: it is not a JSON object");
    if (const auto* plan = base::find(*run, "plan")) files.document = *plan;
    files.written = run->get_object();
    files.written.erase("plan");
    auto decoded = run_from(*run);
    if (!decoded)
        return base::fail(ErrorCode::Corrupt, "run.json is not a run: {}", decoded.error().message);
    files.run = std::move(*decoded);
    struct Placed {
        domain::PlanRecord record;
        std::string place;
    };
    std::vector<Placed> all;
    for (const auto kind : kKinds) {
        const auto text = TRY(read_part(folder, file_name(kind)));
        std::size_t number = 0;
        std::int64_t before = 0;
        for (const auto line : base::split_lines(text)) {
            const std::string place = fmt::format("{} line {}", file_name(kind), ++number);
            const auto value = base::parse_json(line);
            if (!value || base::int_at(*value, "seq") < 1)
                return base::fail(ErrorCode::Corrupt, "{} is not a record of a run", place);
            const std::int64_t seq = base::int_at(*value, "seq");
            // A number that is there twice is reported by verify.
            if (seq < before && files.out_of_order.empty())
                files.out_of_order =
                    fmt::format("{}: record {} stands behind record {}", place, seq, before);
            before = std::max(before, seq);
            all.push_back({{seq, kind, std::string(line)}, place});
        }
    }
    std::ranges::sort(all, {}, [](const Placed& one) {
        return std::pair(one.record.seq, std::string_view(one.place));
    });
    for (auto& one : all) {
        files.records.push_back(std::move(one.record));
        files.places.push_back(std::move(one.place));
    }
    return files;
}

}  // namespace plan
