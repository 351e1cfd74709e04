#include "service/local/plan_session.h"

#include "agent/workspace/workspace.h"
#include "base/log.h"
#include "exec/plan/chain.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;
using domain::PlanRunStatus;

base::Result<plan::CheckedPlan> checked_again(const PlanParts& parts, const StoredRun& stored) {
    auto checked = plan::check(stored.document, parts.dispatcher.registry());
    if (!checked)
        return fail(ErrorCode::Refused,
                    "the plan of run {} no longer fits this program's tools:\n{}",
                    stored.run.run_id, plan::faults_text(checked.error()));
    return *checked;
}

// A run's files are for people; one that cannot be written must not stop the run.
class Files {
public:
    Files(const PlanParts& parts, const StoredRun& stored) {
        auto opened = plan::RunFolder::open(parts.folder(stored.run.run_id), stored.run,
                                            stored.document, stored.records);
        if (opened)
            folder_ = std::move(*opened);
        else
            complain(opened.error());
    }

    void add(const plan::Commit& commit) {
        if (!folder_) return;
        base::Status written = folder_->append(commit.records);
        // run.json seals the end of the chain, so it is written when there is an end; and at first,
        // to say that the run has begun.
        if (written && (is_first_ || !commit.run.is_open()))
            written = folder_->write_run(commit.run);
        is_first_ = false;
        if (!written) complain(written.error());
    }

private:
    void complain(const base::Error& error) {
        base::log_warn(
            "the files of the run could not be written: {}. The run goes on; resume or "
            "verify it later to write them again.",
            error.message);
        folder_.reset();
    }
    std::optional<plan::RunFolder> folder_;
    bool is_first_{true};
};

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

base::Result<tools::Place> plan_place(const PlanParts& parts, const domain::PlanRun& run) {
    return tools::Place{.agent_id = {"plan"},
                        .agent_home = parts.folder(run.run_id),
                        .workspace = TRY(workspace::enter(run.vault, "")),
                        .context = run.context};
}

base::Status record_event(const PlanParts& parts, StoredRun& stored, const plan::RunEvent& event) {
    auto& run = stored.run;
    stored.records.push_back(plan::seal(run.last_seq, run.last_hash, domain::PlanRecordKind::Event,
                                        plan::event_json(run.run_id, event)));
    TRY(parts.store.write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        TRY(tx.append_plan_records(run.run_id, {stored.records.back()}));
        return tx.put_plan_run(run);
    }));
    TRY(plan::RunFolder::open(parts.folder(run.run_id), run, stored.document, stored.records));
    return {};
}

base::Status heal_files(const PlanParts& parts, const StoredRun& stored) {
    if (stored.run.is_open()) return {};
    const auto folder = parts.folder(stored.run.run_id);
    const auto files = plan::read_folder(folder);
    const bool is_behind = files ? files->run.is_open() : files.error().code == ErrorCode::NotFound;
    if (!is_behind) return {};
    TRY(plan::RunFolder::open(folder, stored.run, stored.document, stored.records));
    return {};
}

base::Status carry(const PlanParts& parts, plan::Runner& runner,
                   const std::function<void(plan::Runner&)>& start) {
    std::optional<base::Error> stuck;
    runner.on_ended = [&] { parts.stop_loop(); };
    runner.on_stuck = [&](const base::Error& error) {
        stuck = error;
        parts.stop_loop();
    };
    parts.loop.post([&] { start(runner); });
    parts.run_loop();
    if (stuck) return std::unexpected(*stuck);
    return {};
}

base::Result<domain::PlanRun> carry_stored(const PlanParts& parts, StoredRun stored,
                                           PlanObserver& observer,
                                           const std::function<void(plan::Runner&)>& on_runner) {
    const auto checked = TRY(checked_again(parts, stored));
    const auto place = TRY(plan_place(parts, stored.run));
    auto state = stored.run.pass == 0
                     ? plan::State(stored.run, checked)
                     : TRY(plan::State::from_journal(stored.run, checked, stored.records));
    Files files(parts, stored);
    plan::StoreJournal journal(parts.store, parts.loop);
    plan::DispatcherPerformer performer(parts.dispatcher, place);
    plan::Runner runner({.loop = parts.loop,
                         .clock = parts.clock,
                         .ids = parts.ids,
                         .dispatcher = parts.dispatcher,
                         .journal = journal,
                         .performer = performer,
                         .place = place},
                        std::move(state));
    runner.on_commit = [&](const plan::Commit& commit) {
        files.add(commit);
        for (const auto& record : commit.records) observer.on_record(record);
    };
    on_runner(runner);
    const bool goes_on = stored.run.status == PlanRunStatus::Running;
    TRY(carry(parts, runner, [&](plan::Runner& one) { goes_on ? one.restart() : one.begin(); }));
    return runner.state().run;
}

}  // namespace service
