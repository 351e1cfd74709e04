#include "flow/retention/files.h"

#include <algorithm>

#include "exec/tasks/host.h"

namespace retention {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLogSuffixes[] = {".network.jsonl", ".log"};
// A folder with more files than this is swept over several passes.
constexpr std::size_t kSweptFilesMax = 100'000;
// Messages whose artifacts are gathered before files of an agent are swept. With more of them that
// are old and kept, none of its artifacts is: each pass would read all of them again.
constexpr std::int64_t kMessagesPage = 256;
constexpr std::int64_t kKeptMessagesMax = 4096;

FileCount remove_file(const fs::path& file, bool dry_run) {
    std::error_code failed;
    const auto bytes = fs::is_symlink(file, failed) ? 0 : fs::file_size(file, failed);
    if (failed) return {};
    if (!dry_run && (!fs::remove(file, failed) || failed)) return {};
    return {.files = 1, .bytes = static_cast<std::int64_t>(bytes)};
}

std::vector<fs::path> old_files(const fs::path& folder, base::Time before) {
    std::vector<fs::path> list;
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed);
         !failed && entry != fs::directory_iterator() && list.size() < kSweptFilesMax;
         entry.increment(failed)) {
        std::error_code ignored;
        if (!entry->is_regular_file(ignored) || ignored) continue;
        const auto written = written_at(entry->path());
        if (written && *written < before) list.push_back(entry->path());
    }
    return list;
}

// The command that a log is of; empty for another file.
std::string command_of(const std::string& name) {
    for (const auto suffix : kLogSuffixes)
        if (name.size() > suffix.size() && name.ends_with(suffix))
            return name.substr(0, name.size() - suffix.size());
    return {};
}

// Artifacts that messages name which arrived before `before`; nothing when there are too many.
base::Result<std::optional<std::set<std::string>>> named_artifacts(store::Tx& tx,
                                                                   const domain::AgentId& agent,
                                                                   base::Time before) {
    std::set<std::string> names;
    std::int64_t after = 0;
    for (std::int64_t checked = 0; checked < kKeptMessagesMax; checked += kMessagesPage) {
        const auto page = TRY(tx.messages(agent, {.after_seq = after, .limit = kMessagesPage}));
        for (const auto& [seq, queued] : page) {
            if (queued.entry.created_at >= before) return names;
            for (auto& name : TRY(tx.artifacts_of(queued.message.id)))
                names.insert(std::move(name));
            after = seq;
        }
        if (std::ssize(page) < kMessagesPage) return names;
    }
    return std::nullopt;
}

}  // namespace

FileCount remove_files(const fs::path& agent_home, const Unnamed& unnamed, bool dry_run) {
    FileCount count;
    for (const auto& command : unnamed.commands)
        for (const auto suffix : kLogSuffixes)
            count += remove_file(
                agent_home / tasks::kOutputFolder / (command + std::string(suffix)), dry_run);
    for (const auto& artifact : unnamed.artifacts)
        count += remove_file(agent_home / store::kArtifactsFolder / artifact, dry_run);
    return count;
}

base::Result<FileCount> sweep_files(store::Store& store, const fs::path& agent_home,
                                    const domain::AgentId& agent, base::Time before, bool dry_run) {
    const auto logs = old_files(agent_home / tasks::kOutputFolder, before);
    const auto artifacts = old_files(agent_home / store::kArtifactsFolder, before);
    if (logs.empty() && artifacts.empty()) return FileCount{};
    std::vector<fs::path> strays;
    TRY(store.read([&](store::Tx& tx) -> base::Status {
        strays.clear();
        for (const auto& log : logs) {
            const auto command = command_of(log.filename().string());
            if (!command.empty() && !TRY(tx.task({command})) && !TRY(tx.tool_execution({command})))
                strays.push_back(log);
        }
        if (artifacts.empty()) return {};
        const auto named = TRY(named_artifacts(tx, agent, before));
        if (!named) return {};
        for (const auto& artifact : artifacts)
            if (!named->contains(artifact.filename().string())) strays.push_back(artifact);
        return {};
    }));
    FileCount count;
    for (const auto& stray : strays) count += remove_file(stray, dry_run);
    return count;
}

FileCount remove_folder(const fs::path& folder, bool dry_run) {
    FileCount count;
    std::error_code failed;
    for (fs::recursive_directory_iterator entry(folder, failed);
         !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
        std::error_code ignored;
        if (entry->is_symlink(ignored) || !entry->is_regular_file(ignored)) continue;
        const auto bytes = entry->file_size(ignored);
        if (!ignored) count += {.files = 1, .bytes = static_cast<std::int64_t>(bytes)};
    }
    if (!dry_run) fs::remove_all(folder, failed);
    return count;
}

std::int64_t bytes_below(const fs::path& folder) {
    std::int64_t bytes = 0;
    std::int64_t entries = 0;
    std::error_code failed;
    for (fs::recursive_directory_iterator entry(
             folder, fs::directory_options::skip_permission_denied, failed);
         !failed && entry != fs::recursive_directory_iterator() && entries < kMeasuredMax;
         entry.increment(failed), ++entries) {
        std::error_code ignored;
        if (entry->is_symlink(ignored) || !entry->is_regular_file(ignored)) continue;
        const auto size = entry->file_size(ignored);
        if (!ignored) bytes += static_cast<std::int64_t>(size);
    }
    return bytes;
}

std::optional<base::Time> written_at(const fs::path& path) {
    std::error_code failed;
    const auto written = fs::last_write_time(path, failed);
    if (failed) return std::nullopt;
    return std::chrono::floor<base::Time::duration>(std::chrono::file_clock::to_sys(written));
}

}  // namespace retention
