// What a run left behind: shown, proved, replayed and taken back.
#include "agent/identity/agent_lock.h"
#include "exec/plan/language/wire.h"
#include "exec/plan/record/verify.h"
#include "exec/plan/run/replay.h"
#include "exec/plan/run/revert.h"
#include "flow/plans/plans.h"
#include "flow/plans/request.h"

namespace plans {

using base::ErrorCode;
using base::fail;
using domain::PlanRun;

base::Result<PlanRun> Plans::run(const std::string& run) {
    const auto id = TRY(name_run(run));
    std::optional<PlanRun> found;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        found = TRY(tx.plan_run(id));
        return {};
    }));
    if (!found) return fail(ErrorCode::NotFound, "there is no run {}; see holon plan list", id);
    return std::move(*found);
}

base::Result<bool> Plans::is_executing(const std::string& run) {
    const auto id = TRY(name_run(run));
    return host_.is_executing(id) || TRY(identity::is_locked(parts_.folder(id)));
}

base::Result<std::vector<PlanRun>> Plans::runs(std::int64_t limit, const domain::RunId& before) {
    std::vector<PlanRun> list;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        list = TRY(tx.plan_runs(limit, before));
        return {};
    }));
    return list;
}

base::Result<json::object> Plans::show(const std::string& run) {
    const auto stored = TRY(load_run(parts_.store, TRY(name_run(run))));
    json::array lists[3];
    for (const auto& record : stored.records)
        lists[static_cast<std::size_t>(record.kind)].push_back(TRY(base::parse_json(record.line)));
    return json::object{{"run", plan::run_json(stored.run)},
                        {"plan", stored.document},
                        {"calls", std::move(lists[0])},
                        {"results", std::move(lists[1])},
                        {"events", std::move(lists[2])}};
}

base::Result<std::vector<domain::PlanRecord>> Plans::records(const std::string& run,
                                                             std::int64_t after_seq,
                                                             std::int64_t limit) {
    const auto id = TRY(name_run(run));
    std::vector<domain::PlanRecord> list;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        list = TRY(tx.plan_records(id, after_seq, limit));
        return {};
    }));
    return list;
}

// The folder that `run` names.
base::Result<std::filesystem::path> Plans::folder_of(const std::string& run) {
    // A folder of the working directory may be called like a run; only a path says that it is
    // meant.
    std::error_code ignored;
    const bool is_folder = std::filesystem::is_directory(run, ignored);
    if (is_folder && run.contains('/')) return std::filesystem::path(run);
    const auto named = name_run(run);
    if (!named && is_folder && run != kLastRun) return std::filesystem::path(run);
    const auto id = TRY(named);
    TRY(heal_files(parts_, TRY(load_run(parts_.store, id))));
    return parts_.folder(id);
}

base::Result<domain::PlanVerdict> Plans::verify(const std::string& run) {
    const auto folder = TRY(folder_of(run));
    const auto files = plan::read_folder(folder);
    if (!files) return domain::PlanVerdict{.faults = {files.error().message}};
    std::optional<PlanRun> stored;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        stored = TRY(tx.plan_run(files->run.run_id));
        return {};
    }));
    // Its own folder, however it was named, has to say what the store does.
    std::error_code ignored;
    const bool is_own =
        std::filesystem::equivalent(folder, parts_.folder(files->run.run_id), ignored);
    auto verdict = plan::verify(*files, is_own && stored && !stored->is_open() ? &*stored : nullptr,
                                parts_.dispatcher.registry());
    const bool is_same = stored && stored->last_seq == files->run.last_seq &&
                         stored->last_hash == files->run.last_hash &&
                         plan::run_json(*stored) == plan::run_json(files->run);
    return domain::PlanVerdict{.ok = verdict.faults.empty(),
                               .faults = std::move(verdict.faults),
                               .calls = verdict.calls,
                               .events = verdict.events,
                               .approved_calls = verdict.approved_calls,
                               .unknown_outcomes = std::move(verdict.unknown_outcomes),
                               .authenticated = verdict.faults.empty() && is_same};
}

base::Result<domain::PlanReplay> Plans::replay(const std::string& run) {
    const auto files = TRY(plan::read_folder(TRY(folder_of(run))));
    const auto checked = plan::check(files.document, parts_.dispatcher.registry());
    if (!checked)
        return fail(ErrorCode::Refused,
                    "the recorded plan no longer fits this program's tools:\n{}",
                    plan::faults_text(checked.error()));
    if (files.run.is_open())
        return fail(ErrorCode::Conflict, "run {} has not ended", files.run.run_id);
    if (files.run.pass == 0) return domain::PlanReplay{.ok = true, .status = files.run.status};
    auto replayed = plan::replay(files, *checked, parts_.dispatcher);
    return domain::PlanReplay{.ok = replayed.divergences.empty(),
                              .divergences = std::move(replayed.divergences),
                              .served = replayed.served,
                              .status = replayed.status};
}

base::Result<domain::PlanReverted> Plans::make_revert(const std::string& run,
                                                      const std::string& approver) {
    const auto stored = TRY(load_run(parts_.store, TRY(name_run(run))));
    if (stored.run.is_open())
        return fail(ErrorCode::Conflict, "run {} has not ended; cancel it first",
                    stored.run.run_id);
    domain::PlanReverted out{.no_way_back = plan::irrevertible(stored.records)};
    const auto document = TRY(plan::revert_plan(stored.run, stored.records));
    if (!document) return out;
    const auto checked = plan::check(*document, parts_.dispatcher.registry());
    if (!checked)
        return fail(ErrorCode::Corrupt, "what run {} left to undo it cannot be used:\n{}",
                    stored.run.run_id, plan::faults_text(checked.error()));
    Prepared prepared{.plan = *checked,
                      .vault = stored.run.vault,
                      .policy = default_policy(stored.run.vault, parts_.settings.policy)};
    // In order: a later change has to be gone before the one before it can be.
    prepared.policy.limits.max_concurrency = 1;
    const auto made = TRY(store_new(prepared, stored.run.run_id));
    out.run = TRY(approve(made.run_id.value, approver, plan::kApprovalLifetimeDefault));
    return out;
}

}  // namespace plans
