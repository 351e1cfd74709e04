#include "flow/plans/plans.h"

#include <csignal>

#include <algorithm>
#include <future>

#include "agent/identity/agent_lock.h"
#include "agent/workspace/workspace.h"
#include "base/text.h"
#include "exec/plan/language/params.h"
#include "exec/plan/language/parse.h"
#include "exec/plan/language/wire.h"
#include "exec/plan/record/chain.h"
#include "exec/plan/run/preview.h"
#include "exec/tools/plan_tools/plan_tools.h"
#include "flow/plans/request.h"

namespace plans {
namespace {

using base::ErrorCode;
using base::fail;
using domain::PlanRun;
using domain::PlanRunStatus;

constexpr std::chrono::seconds kPreviewTimeMax{30};  // Where others wait for the same daemon.

// A run that only pretends, on the loop.
struct Pretended {
    Pretended(const Parts& parts, const ExecutionContext& context, plan::State state)
        : journal(parts.loop),
          performer(parts.dispatcher, context.place, context.profile),
          runner({.loop = parts.loop,
                  .clock = parts.clock,
                  .dispatcher = parts.dispatcher,
                  .journal = journal,
                  .performer = performer,
                  .place = context.place},
                 std::move(state)) {}
    plan::MemoryJournal journal;
    plan::PreviewPerformer performer;
    plan::Runner runner;
};

void shorten(std::optional<std::int64_t>& limit_ms, std::chrono::milliseconds bound) {
    limit_ms = std::min(limit_ms.value_or(bound.count()), bound.count());
}

// A folder of a run that only pretends, gone with it.
class Scratch {
public:
    explicit Scratch(std::filesystem::path path) : path_(std::move(path)) {}
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

private:
    std::filesystem::path path_;
};

}  // namespace

// Drops the way to interrupt an operation when it is over, however it ends.
class Plans::Reset {
public:
    explicit Reset(Plans& plans) : plans_(plans) {}
    ~Reset() { plans_.interrupt_by(nullptr); }
    Reset(const Reset&) = delete;
    Reset& operator=(const Reset&) = delete;

private:
    Plans& plans_;
};

void Plans::interrupt(const std::string& reason) {
    if (interrupt_) interrupt_(reason);
}

// Signals end a daemon, not one of its runs.
void Plans::interrupt_by(std::function<void(const std::string&)> how) {
    if (!host_.stays()) interrupt_ = std::move(how);
}

template <class T>
base::Result<T> Plans::await(const std::function<base::Status(Done<T>)>& start) {
    if (host_.stays()) {
        const auto ended = std::make_shared<std::promise<base::Result<T>>>();
        TRY(start([ended](base::Result<T> result) { ended->set_value(std::move(result)); }));
        return ended->get_future().get();
    }
    std::optional<base::Result<T>> ended;
    TRY(start([&](base::Result<T> result) {
        ended = std::move(result);
        parts_.stop_loop();
    }));
    parts_.run_loop();
    if (!ended) return fail(ErrorCode::Internal, "the loop was stopped before its work was done");
    return std::move(*ended);
}

template <class T>
base::Result<T> Plans::await_work(const std::function<void(Done<T>)>& begin,
                                  const std::function<void(const std::string& reason)>& stop) {
    const Reset reset(*this);
    interrupt_by(stop);
    return await<T>([&](const Done<T>& done) -> base::Status {
        const auto work =
            std::make_shared<Work>(Work{.stop = [&stop] { stop("the runtime ends"); }});
        return host_.attend(work, [this, &begin, work, done] {
            begin([this, work, done](base::Result<T> result) {
                const auto left = host_.leave(work);
                done(left ? std::move(result) : std::unexpected(left.error()));
            });
        });
    });
}

template base::Result<MadePlan> Plans::await_work<MadePlan>(
    const std::function<void(Done<MadePlan>)>&, const std::function<void(const std::string&)>&);

base::Result<domain::RunId> Plans::name_run(const std::string& run) {
    std::vector<domain::RunId> fitting;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        if (TRY(tx.plan_run({run})))
            fitting = {{run}};
        else if (run != kLastRun && !run.empty())
            fitting = TRY(tx.plan_run_ids(run, 2));
        else if (run == kLastRun)
            for (const auto& newest : TRY(tx.plan_runs(1, {}))) fitting.push_back(newest.run_id);
        return {};
    }));
    if (fitting.size() == 1) return fitting.front();
    if (fitting.empty())
        return fail(ErrorCode::NotFound, "there is no run '{}'; see holon plan list", run);
    return fail(ErrorCode::InvalidInput, "more than one run begins with '{}'; give more of it",
                run);
}

base::Result<Plans::Prepared> Plans::prepare(const domain::PlanRequest& request) {
    Prepared out;
    json::value document;
    if (request.action) {
        document = TRY(action(*request.action)).plan;
        out.action = request.action;
    } else {
        auto parsed = plan::parse_document(request.text);
        if (!parsed) {
            out.faults.push_back({"", parsed.error().message, ""});
            return out;
        }
        document = std::move(*parsed);
    }
    auto checked = plan::check(document, parts_.dispatcher.registry());
    if (!checked) {
        out.faults = shown(checked.error());
        return out;
    }
    out.plan = *checked;
    const auto entry = TRY(workspace::enter(request.vault.value_or(parts_.vault.string()), ""));
    out.vault = entry.execution_root;
    out.policy =
        TRY(plan::policy_from(request.policy, default_policy(out.vault, parts_.settings.policy)));
    out.context = bind_context(out.plan->plan, request.context, out.vault, parts_.settings,
                               out.policy.sandbox, out.faults);
    out.params = check_params(*out.plan, parts_.dispatcher.registry(), request.params, out.faults);
    return out;
}

base::Result<domain::PlanCheck> Plans::check(const domain::PlanRequest& request) {
    json::value document;
    if (request.action) document = TRY(action(*request.action)).plan;
    const auto checked = request.action
                             ? plan::check(document, parts_.dispatcher.registry())
                             : plan::check_text(request.text, parts_.dispatcher.registry());
    if (!checked) return domain::PlanCheck{.faults = shown(checked.error())};
    const auto& one = **checked;
    return domain::PlanCheck{.ok = true,
                             .plan_hash = one.hash,
                             .goal = one.plan.goal,
                             .risk_level = std::string(plan::risk_name(one.risk)),
                             .steps = static_cast<std::int64_t>(one.plan.steps.size()),
                             .params = one.params,
                             .param_types = plan::param_types(one, parts_.dispatcher.registry())};
}

base::Result<json::object> Plans::preview(const domain::PlanRequest& request) {
    auto prepared = TRY(prepare(request));
    if (!prepared.faults.empty()) {
        json::array faults;
        for (const auto& fault : prepared.faults) faults.push_back(base::to_json(fault));
        return json::object{{"ok", false}, {"faults", std::move(faults)}};
    }
    // Nothing is changed, so no approval is needed. One call after the other: each sees what those
    // before it would have left.
    prepared.policy.confirmations_required = false;
    prepared.policy.limits.max_concurrency = 1;
    const auto plan = plan::without_stops(prepared.plan);
    auto created = plan::create_run({.run_id = {"preview-" + parts_.ids.hex32()},
                                     .plan = plan,
                                     .vault = prepared.vault,
                                     .policy = prepared.policy,
                                     .context = prepared.context,
                                     .params = prepared.params},
                                    parts_.clock.now());
    if (host_.stays()) shorten(created.run.policy.limits.run_timeout_ms, kPreviewTimeMax);
    const Scratch scratch(parts_.folder(created.run.run_id));
    auto context = TRY(execution_context(parts_, created.run));
    context.place.pretence = plan_tools::make_pretence();
    context.place.pretence->run_id = created.run.run_id;
    context.place.pretence->sandbox = created.run.policy.sandbox;
    std::unique_ptr<Pretended>
        pretended;  // Made and dropped on the loop: its timers are the loop's.
    return await_work<json::object>(
        [&](const Done<json::object>& done) {
            pretended =
                std::make_unique<Pretended>(parts_, context, plan::State(created.run, plan));
            pretended->runner.on_ended = [&, done] {
                parts_.loop.post([&, done] {
                    auto out = plan::preview_json(prepared.plan, pretended->journal.records,
                                                  pretended->performer);
                    out["ok"] = true;
                    out["vault"] = prepared.vault;
                    pretended.reset();
                    done(std::move(out));
                });
            };
            pretended->runner.begin();
        },
        [&](const std::string& reason) {
            if (pretended) pretended->runner.cancel(reason);
        });
}

base::Result<PlanRun> Plans::store_new(const Prepared& prepared,
                                       std::optional<domain::RunId> reverts,
                                       const ForAgent* agent) {
    std::optional<domain::PlanOrigin> origin;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        origin = TRY(tx.plan_origin(prepared.plan->hash));
        return {};
    }));
    auto created =
        plan::create_run({.run_id = agent ? agent->run_id : parts_.ids.fresh<domain::RunId>(),
                          .plan = prepared.plan,
                          .vault = prepared.vault,
                          .policy = prepared.policy,
                          .context = prepared.context,
                          .params = prepared.params,
                          .action = prepared.action,
                          .reverts = std::move(reverts),
                          .tool_registry_version = parts_.dispatcher.registry().version(),
                          .planner_version = origin  ? std::optional(origin->planner_version)
                                             : agent ? agent->planner_version
                                                     : std::nullopt,
                          .owner = agent ? std::optional(agent->owner) : std::nullopt},
                         parts_.clock.now());
    auto& run = created.run;
    std::vector<domain::PlanRecord> records;
    for (const auto& event : created.events)
        records.push_back(plan::seal(run.last_seq, run.last_hash, domain::PlanRecordKind::Event,
                                     plan::event_json(run.run_id, event)));
    TRY(parts_.committer().write_now(lifetime_.watch(), [&](events::Log& log) -> base::Status {
        TRY(log.tx().add_plan_run(run, base::json_text(prepared.plan->document)));
        return log.tx().append_plan_records(run.run_id, records);
    }));
    TRY(plan::RunFolder::open(parts_.folder(run.run_id), run, prepared.plan->document, records));
    return run;
}

base::Result<domain::PlanCreated> Plans::create(const domain::PlanRequest& request) {
    const auto prepared = TRY(prepare(request));
    if (!prepared.faults.empty()) return domain::PlanCreated{.faults = prepared.faults};
    auto run = TRY(store_new(prepared, std::nullopt));
    const bool needs = plan::needs_approval(run);
    return domain::PlanCreated{.run = std::move(run), .needs_approval = needs};
}

base::Result<PlanRun> Plans::approve(const std::string& run, const std::string& approver,
                                     std::chrono::milliseconds lifetime) {
    const auto id = TRY(name_run(run));
    // "last" may mean a run that was proposed after the operator read another one.
    if (run != id.value)
        return fail(ErrorCode::InvalidInput,
                    "an approval needs the whole id of the run, which '{}' is not; read it with: "
                    "holon plan show {}, then: holon plan approve {}",
                    base::printable(run), id, id);
    auto lock = TRY(identity::lock_folder(parts_.folder(id), "run " + id.value));
    auto stored = TRY(load_run(parts_.store, id));
    const auto event = TRY(plan::approve(
        stored.run, stored.document,
        {.confirmation_id = parts_.ids.uuid(), .approver = approver, .lifetime = lifetime},
        parts_.clock.now()));
    TRY(record_event(parts_, lifetime_.watch(), stored, event));
    lock = base::Fd();
    begin_if_owned(stored.run);
    return stored.run;
}

base::Result<PlanRun> Plans::reject(const std::string& run, const std::string& by,
                                    const std::string& reason) {
    const auto id = TRY(name_run(run));
    const auto lock = TRY(identity::lock_folder(parts_.folder(id), "run " + id.value));
    auto stored = TRY(load_run(parts_.store, id));
    const auto event = TRY(plan::reject(stored.run, by, reason, parts_.clock.now()));
    TRY(record_event(parts_, lifetime_.watch(), stored, event));
    return stored.run;
}

base::Result<PlanRun> Plans::execute(const std::string& run, const OnRecord& on_record) {
    auto ended = execute_locked(run, on_record);
    if (ended) sweep();
    return ended;
}

base::Result<PlanRun> Plans::execute_locked(const std::string& run, const OnRecord& on_record) {
    const auto id = TRY(name_run(run));
    const Reset reset(*this);
    interrupt_by([this, id](const std::string& reason) { host_.cancel(id, reason); });
    return await<PlanRun>([&](const Done<PlanRun>& done) -> base::Status {
        TRY(host_.execute(id, {.on_record = on_record, .on_end = [done](base::Result<PlanRun> how) {
                                   done(std::move(how));
                               }}));
        return {};
    });
}

base::Result<PlanRun> Plans::begin(const std::string& run) {
    const auto id = TRY(name_run(run));
    if (!host_.stays())
        return fail(ErrorCode::Refused,
                    "no daemon serves here to execute run {}; start one with holon daemon start",
                    id);
    return await<PlanRun>([&](const Done<PlanRun>& done) -> base::Status {
        auto once = [done, is_done = std::make_shared<bool>(false)](base::Result<PlanRun> how) {
            if (!std::exchange(*is_done, true)) done(std::move(how));
        };
        TRY(host_.execute(
            id, {.on_begun = once, .on_end = [once](base::Result<PlanRun> how) { once(how); }}));
        return {};
    });
}

base::Result<std::shared_ptr<void>> Plans::watch(const std::string& run, Feed::Changed changed) {
    return parts_.feed->watch(TRY(name_run(run)), std::move(changed));
}

base::Result<PlanRun> Plans::cancel(const std::string& run, const std::string& reason) {
    const auto id = TRY(name_run(run));
    const auto ended = std::make_shared<std::promise<void>>();
    if (host_.cancel(id, reason, [ended] { ended->set_value(); })) {
        ended->get_future().wait_for(domain::kPlanCancelWait);
        return this->run(id.value);
    }
    const auto folder = parts_.folder(id);
    if (const auto holder = TRY(identity::lock_holder(folder))) {
        TRY(identity::signal_process(*holder, SIGINT));
        const auto lock = TRY(identity::wait_for_lock(folder, domain::kPlanCancelWait));
        return this->run(id.value);
    }
    auto lock = TRY(identity::lock_folder(folder, "run " + id.value));
    auto stored = TRY(load_run(parts_.store, id));
    if (!stored.run.is_open())
        return fail(ErrorCode::Conflict, "run {} has ended: {}", id,
                    base::enum_name(stored.run.status));
    if (stored.run.status == PlanRunStatus::AwaitingApproval) {
        const auto event = TRY(plan::reject(stored.run, "operator", reason, parts_.clock.now()));
        TRY(record_event(parts_, lifetime_.watch(), stored, event));
        return stored.run;
    }
    lock = base::Fd();
    return await<PlanRun>([&](const Done<PlanRun>& done) -> base::Status {
        TRY(host_.end(id, reason,
                      {.on_end = [done](base::Result<PlanRun> how) { done(std::move(how)); }}));
        return {};
    });
}

}  // namespace plans
