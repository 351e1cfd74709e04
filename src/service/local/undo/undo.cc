#include "service/local/undo/undo.h"

#include <algorithm>
#include <set>

#include "agent/context/digest.h"
#include "base/log/log.h"
#include "base/os/files.h"
#include "base/os/fs/open_path.h"
#include "base/text.h"
#include "domain/events/undo.h"
#include "service/local/agents/control.h"
#include "store/records/retention.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;
using domain::TranscriptKind;

constexpr std::string_view kPatchTool = "ApplyPatch";
constexpr std::string_view kPlanTool = "RunPlan";
constexpr std::string_view kIntentsFolder = "undo";
constexpr std::size_t kIntentBytesMax = 1024 * 1024;
constexpr std::int64_t kEntriesPage = 256;

std::unexpected<base::Error> conflict(std::string kind, std::string message,
                                      json::object details = {}) {
    return std::unexpected(
        base::Error{ErrorCode::Conflict, std::move(message), std::move(kind), std::move(details)});
}

// What is kept of the call to undo it; nothing when it changed nothing or was undone.
std::optional<patch::Undo> undo_of(const domain::ToolExecution& execution) {
    if (execution.call.tool != kPatchTool || !execution.envelope) return std::nullopt;
    const auto* result = base::find(*execution.envelope, "result");
    const auto* kept = result ? base::find(*result, "undo") : nullptr;
    if (!kept) return std::nullopt;
    auto undo = base::from_json<patch::Undo>(*kept);
    if (!undo || undo->undone_at) return std::nullopt;
    return std::move(*undo);
}

bool is_changing_plan(const domain::ToolExecution& execution) {
    return execution.call.tool == kPlanTool && execution.result &&
           execution.result->effects.side_effects_observed;
}

std::string plan_run_of(const domain::ToolExecution& execution) {
    const auto* result = execution.envelope ? base::find(*execution.envelope, "result") : nullptr;
    return result ? base::string_at(*result, "run_id") : "last";
}

std::string patches_text(std::size_t count) {
    return count == 1 ? "1 patch" : fmt::format("{} patches", count);
}

void mark_undone(domain::ToolExecution& execution, const std::string& at) {
    auto& result = execution.envelope->as_object().at("result").as_object();
    result.at("undo").as_object()["undone_at"] = at;
}

// The first of them, each as `show` writes it.
std::string listed(const std::vector<std::string>& paths, std::string (*show)(const std::string&)) {
    std::string text;
    for (std::size_t i = 0; i < std::min(paths.size(), kUndonePathsNamed); ++i)
        text += (i == 0 ? "" : ", ") + show(paths[i]);
    if (paths.size() > kUndonePathsNamed)
        text += fmt::format(" and {} more", paths.size() - kUndonePathsNamed);
    return text;
}

std::string plain(const std::string& path) {
    return base::printable(base::to_utf8(path));
}

// For a prompt: a name that reads like a sentence must not become the operator's words.
std::string quoted(const std::string& path) {
    return base::json_text(json::value(base::to_utf8(path)));
}

// What the agent's next prompt says of it.
std::string note_for_agent(std::size_t patches, const std::string& root,
                           const std::vector<std::string>& paths, base::Time at) {
    return fmt::format(
        "## patches_undone\n[operator_instruction]\nAt {} the operator undid your last {}. These "
        "files in {} are again as they were before: {}. Your changes to them no longer exist. Read "
        "the files again before you build on them, and do not repeat the changes unless you are "
        "asked to.",
        base::to_text(at), patches == 1 ? "patch" : patches_text(patches), quoted(root),
        paths.empty() ? "(none had changed)" : listed(paths, quoted));
}

// The bytes that an agent's patch kept. The name leads nowhere but into the agent's own folder.
base::Result<std::string> kept_bytes(const std::filesystem::path& home,
                                     const std::string& artifact) {
    const auto name = std::filesystem::path(artifact).filename();
    if (name.empty()) return fail(ErrorCode::NotFound, "nothing was kept");
    const auto file =
        TRY(base::open_file_beneath(home, std::filesystem::path(store::kArtifactsFolder) / name));
    return base::read_file(std::filesystem::path("/proc/self/fd") / std::to_string(file.get()),
                           patch::kUndoBytesMax);
}

}  // namespace

struct LocalUndo::Intent {
    std::string agent_id;
    std::vector<std::string> call_ids;
    std::string run_id;
    std::optional<std::string> message_id;
    std::string admission;
    std::optional<std::string> actor_id;
    BOOST_DESCRIBE_CLASS(Intent, (), (agent_id, call_ids, run_id, message_id, admission, actor_id),
                         (), ())
};

base::Result<LocalUndo::Found> LocalUndo::find(store::Tx& tx, const domain::AgentId& agent,
                                               const UndoRequest& request) const {
    std::set<std::string> seen;
    std::int64_t before = 0, read = 0;
    while (read < kUndoEntriesMax) {
        const auto page = TRY(tx.transcript(
            agent, {.before_seq = before, .limit = kEntriesPage, .newest_first = true}));
        if (page.empty()) break;
        read += std::ssize(page);
        for (const auto& [seq, entry] : page) {
            before = seq;
            if (entry.kind != TranscriptKind::ToolResults ||
                !seen.insert(entry.run_id.value).second)
                continue;
            Found found{.run_id = entry.run_id, .message_id = entry.related_message_id};
            auto calls = TRY(tx.tool_executions(entry.run_id, std::nullopt));
            std::ranges::reverse(calls);
            for (auto& call : calls) {
                if (found.undos.empty() && is_changing_plan(call))
                    return conflict(
                        "plan_run_is_last",
                        fmt::format("the last change of agent {} was made by a plan run; undo it "
                                    "with: holon plan revert {}",
                                    agent, plan_run_of(call)));
                auto undo = undo_of(call);
                if (!undo) continue;
                if (found.undos.empty() && undo->not_kept)
                    return conflict("undo_not_kept",
                                    fmt::format("the last patch of agent {} cannot be undone: {}; "
                                                "use version control",
                                                agent, *undo->not_kept));
                const bool is_other =
                    !found.undos.empty() && undo->root != found.undos.front().root;
                if (undo->not_kept || is_other ||
                    std::ssize(found.undos) >= request.patches.value_or(kUndoPatchesMax))
                    break;
                found.undos.push_back(std::move(*undo));
                found.calls.push_back(std::move(call));
            }
            if (!found.undos.empty()) return found;
        }
        if (before <= 1) break;
    }
    return conflict("nothing_to_undo",
                    fmt::format("agent {} has made no patch that can be undone", agent));
}

base::Result<std::vector<std::string>> LocalUndo::take_back(const domain::AgentId& agent,
                                                            const Found& found,
                                                            bool dry_run) const {
    const auto home = parts_.turn.home_of(agent);
    const auto whole = patch::composed(found.undos);
    const auto taken =
        whole ? patch::take_back(
                    *whole, [&](const std::string& artifact) { return kept_bytes(home, artifact); },
                    dry_run)
              : patch::Outcome<std::vector<std::string>>(std::unexpected(whole.error()));
    if (taken) return *taken;
    const auto& error = taken.error();
    return conflict(
        error.kind, error.message + (error.recovery_hint ? " " + *error.recovery_hint : ""),
        error.details && error.details->is_object() ? error.details->get_object() : json::object{});
}

base::Status LocalUndo::record(const domain::AgentId& agent, const Found& found,
                               const std::vector<std::string>& paths, const Caller& caller) {
    const auto now = parts_.turn.clock.now();
    const auto& root = found.undos.front().root;
    const std::string note = note_for_agent(found.calls.size(), root, paths, now);
    bool is_in_turn = false;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        auto& tx = log.tx();
        domain::events::PatchesUndone event{
            .agent_id = agent,
            .run_id = found.run_id,
            .root = root,
            .path_count = std::ssize(paths),
            .summary = fmt::format("{}, {}", patches_text(found.calls.size()),
                                   paths.empty() ? "no file" : listed(paths, plain)),
            .admission_context = std::string(base::enum_name(caller.admission)),
            .actor_id = caller.actor_id};
        for (std::size_t i = 0; i < std::min(paths.size(), kUndonePathsNamed); ++i)
            event.paths.push_back(base::to_utf8(paths[i]));
        for (auto call : found.calls) {
            mark_undone(call, base::to_text(now));
            TRY(tx.put_tool_execution(call));
            event.call_ids.push_back(call.call.call_id);
        }
        TRY(log.append(agent, event));
        is_in_turn = TRY(tx.open_attempt_of(agent)).has_value();
        if (is_in_turn) return {};
        // Nothing is being asked: the next prompt continues behind this.
        return tx.append_transcript(
            {.id = parts_.turn.ids.uuid(),
             .agent_id = agent,
             .run_id = found.run_id,
             .created_at = now,
             .kind = TranscriptKind::ContinuationPrompt,
             .related_message_id = found.message_id,
             .data = json::object{{"text", note}, {"reason", context::kPatchesUndone}}});
    }));
    // A turn began meanwhile; the operator's note joins it.
    if (is_in_turn) TRY(parts_.prompt(agent.value, note, caller));
    return {};
}

base::Result<Undone> LocalUndo::undo(const std::string& agent, const UndoRequest& request,
                                     const Caller& caller) {
    TRY(check_operator(caller));
    if (request.patches && (*request.patches < 1 || *request.patches > kUndoPatchesMax))
        return fail(ErrorCode::InvalidInput, "patches must be between 1 and {}", kUndoPatchesMax);
    const std::lock_guard lock(mutex_);
    const domain::AgentId id{agent};
    Found found;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        TRY(known_agent(tx, id));
        if (TRY(tx.open_attempt_of(id)))
            return conflict("agent_in_turn",
                            fmt::format("agent {} is in a turn; wait for its end or interrupt it, "
                                        "then undo",
                                        agent));
        found = TRY(find(tx, id, request));
        return {};
    }));
    Undone out{.agent_id = agent,
               .run_id = found.run_id.value,
               .root = found.undos.front().root,
               .patches = std::ssize(found.undos),
               .dry_run = request.dry_run};
    if (request.dry_run) {
        out.paths = TRY(take_back(id, found, true));
        return out;
    }
    const auto folder = parts_.home / kIntentsFolder;
    const auto file = folder / (agent + ".json");
    Intent intent{.agent_id = agent,
                  .call_ids = {},
                  .run_id = found.run_id.value,
                  .message_id = std::nullopt,
                  .admission = std::string(base::enum_name(caller.admission)),
                  .actor_id = caller.actor_id};
    if (found.message_id) intent.message_id = found.message_id->value;
    for (const auto& call : found.calls) intent.call_ids.push_back(call.call.call_id.value);
    TRY(base::make_folders(folder, 0700));
    TRY(base::write_file_atomic(file, base::json_text(base::to_json(intent)), 0600));
    std::error_code ignored;
    auto paths = take_back(id, found, false);
    if (!paths) {
        std::filesystem::remove(file, ignored);
        return std::unexpected(std::move(paths).error());
    }
    // Without a record the file stays, and the next start finishes it.
    TRY(record(id, found, *paths, caller));
    std::filesystem::remove(file, ignored);
    out.paths = std::move(*paths);
    return out;
}

base::Status LocalUndo::finish(const std::filesystem::path& file) {
    const auto text = TRY(base::read_file(file, kIntentBytesMax));
    const auto intent = TRY(base::from_json<Intent>(TRY(base::parse_json(text))));
    const domain::AgentId agent{intent.agent_id};
    Found found{.run_id = {intent.run_id}};
    if (intent.message_id) found.message_id = domain::MessageId{*intent.message_id};
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        TRY(known_agent(tx, agent));
        for (const auto& id : intent.call_ids) {
            auto call = TRY(tx.tool_execution({id}));
            auto undo = call ? undo_of(*call) : std::nullopt;
            if (!undo) continue;
            found.undos.push_back(std::move(*undo));
            found.calls.push_back(std::move(*call));
        }
        return {};
    }));
    if (found.undos.empty()) return {};  // It was recorded.
    std::vector<std::string> all;
    for (const auto& undo : found.undos)
        for (const auto& one : undo.files)
            if (std::ranges::find(all, one.path) == all.end()) all.push_back(one.path);
    TRY(take_back(agent, found, false));
    Caller caller{.admission = base::enum_from<domain::AdmissionContext>(intent.admission)
                                   .value_or(domain::AdmissionContext::LocalProcess)};
    caller.actor_id = intent.actor_id;
    return record(agent, found, all, caller);
}

void LocalUndo::finish_all() {
    const std::lock_guard lock(mutex_);
    std::error_code failed;
    std::filesystem::directory_iterator entries(parts_.home / kIntentsFolder, failed);
    if (failed) return;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : entries)
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    for (const auto& file : files) {
        if (const auto done = finish(file); !done)
            base::log_warn("an undo that a crash cut off could not be finished: {}",
                           done.error().message);
        std::filesystem::remove(file, failed);
    }
}

}  // namespace service
