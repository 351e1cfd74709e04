#include "flow/plans/execution/session.h"

#include "agent/workspace/workspace.h"
#include "base/log/log.h"
#include "exec/plan/record/chain.h"
#include "exec/tools/vault/changes/intents.h"

namespace plans {
namespace {

using base::ErrorCode;
using base::fail;

base::Result<plan::CheckedPlan> checked_again(const Parts& parts, const StoredRun& stored) {
    auto checked = plan::check(stored.document, parts.dispatcher.registry());
    if (!checked)
        return fail(ErrorCode::Refused,
                    "the plan of run {} no longer fits this program's tools:\n{}",
                    stored.run.run_id, plan::faults_text(checked.error()));
    return *checked;
}

}  // namespace

base::Result<StoredRun> load_run(store::Store& store, const domain::RunId& id) {
    StoredRun stored;
    TRY(store.read([&](store::Tx& tx) -> base::Status {
        const auto run = TRY(tx.plan_run(id));
        const auto document = TRY(tx.plan_document(id));
        if (!run || !document)
            return fail(ErrorCode::NotFound, "there is no run {}; see holon plan list", id);
        stored.run = *run;
        stored.document = TRY(base::parse_json(*document));
        stored.records = TRY(plan::read_journal(tx, id));
        return {};
    }));
    return stored;
}

base::Result<ExecutionContext> execution_context(const Parts& parts, const domain::PlanRun& run) {
    const auto reverted = run.reverts ? parts.folder(*run.reverts) : std::filesystem::path();
    if (run.owner)
        return ExecutionContext{
            .place = {.agent_id = run.owner->agent_id,
                      .agent_home = parts.folder(run.run_id),
                      .workspace = run.owner->workspace,
                      .context = run.context,
                      .owner_home = parts.home / "agents" / run.owner->agent_id.value,
                      .reverted = reverted},
            .profile = run.owner->profile};
    return ExecutionContext{.place = {.agent_id = {"plan"},
                                      .agent_home = parts.folder(run.run_id),
                                      .workspace = TRY(workspace::enter(run.vault, "")),
                                      .context = run.context,
                                      .reverted = reverted}};
}

base::Result<ReadyRun> ready_run(const Parts& parts, const StoredRun& stored) {
    const auto checked = TRY(checked_again(parts, stored));
    return ReadyRun{.context = TRY(execution_context(parts, stored.run)),
                    .state = stored.run.pass == 0 ? plan::State(stored.run, checked)
                                                  : TRY(plan::State::from_journal(
                                                        stored.run, checked, stored.records))};
}

RunWriter::RunWriter(const Parts& parts, const StoredRun& stored)
    : path_(parts.folder(stored.run.run_id)) {
    auto opened = plan::RunFolder::open(path_, stored.run, stored.document, stored.records);
    if (opened)
        folder_ = std::move(*opened);
    else
        complain(opened.error());
}

void RunWriter::add(const plan::Commit& commit) {
    if (!commit.run.is_open()) vault::forget_intents(path_);  // Every call has its result.
    if (!folder_) return;
    base::Status written = folder_->append(commit.records);
    // run.json seals the end of the chain, so it is written when there is an end; and at first, to
    // say that the run has begun.
    if (written && (is_first_ || !commit.run.is_open())) written = folder_->write_run(commit.run);
    is_first_ = false;
    if (!written) complain(written.error());
}

void RunWriter::complain(const base::Error& error) {
    base::log_warn(
        "the files of the run could not be written: {}. The run continues; resume or verify it "
        "later "
        "to write them again.",
        error.message);
    folder_.reset();
}

plan::Joins Parts::joins() const {
    if (!owners) return {};
    return [owners = owners, watch = owners->watch()](events::Log& log,
                                                      const domain::PlanRun& run) -> base::Status {
        if (!run.owner) return {};
        const auto stay = watch.stay();
        if (!stay) return fail(ErrorCode::Unavailable, "the runtime is ending");
        return owners->committing(log, run);
    };
}

base::Status record_event(const Parts& parts, const base::Lifetime::Watch& owner, StoredRun& stored,
                          const plan::RunEvent& event) {
    auto& run = stored.run;
    stored.records.push_back(plan::seal(run.last_seq, run.last_hash, domain::PlanRecordKind::Event,
                                        plan::event_json(run.run_id, event)));
    const auto joins = parts.joins();
    TRY(parts.committer().write_now(owner, [&](events::Log& log) -> base::Status {
        TRY(log.tx().append_plan_records(run.run_id, {stored.records.back()}));
        TRY(log.tx().put_plan_run(run));
        return joins ? joins(log, run) : base::Status{};
    }));
    parts.notify_owner(run);
    TRY(plan::RunFolder::open(parts.folder(run.run_id), run, stored.document, stored.records));
    parts.feed->publish(run.run_id, run.last_seq);
    return {};
}

base::Status heal_files(const Parts& parts, const StoredRun& stored) {
    if (stored.run.is_open()) return {};
    const auto folder = parts.folder(stored.run.run_id);
    const auto files = plan::read_folder(folder);
    const bool is_behind =
        files && files->run.is_open() && files->records.size() <= stored.records.size() &&
        std::equal(files->records.begin(), files->records.end(), stored.records.begin());
    if (!is_behind) return {};
    TRY(plan::RunFolder::open(folder, stored.run, stored.document, stored.records));
    return {};
}

}  // namespace plans
