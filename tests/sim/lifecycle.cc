#include "tests/sim/lifecycle.h"

#include <random>
#include <set>

#include "base/hash.h"
#include "flow/admission/admission.h"
#include "flow/ingress/ingress.h"
#include "flow/notify/sender.h"
#include "flow/queue/waits.h"
#include "flow/scheduler/hints.h"
#include "flow/scheduler/lifecycle.h"
#include "flow/scheduler/scheduler.h"
#include "flow/scheduler/timers/timers.h"
#include "flow/work_items/work_items.h"
#include "tests/sim/invariants.h"
#include "tests/sim/life.h"

namespace sim {
namespace {

constexpr std::int64_t kAll = 100'000;
constexpr int kTimers = 5;
constexpr int kHints = 4;
constexpr int kActionTries = 3;  // In one process: a commit may fail once.

domain::WorkItemId work_item_id(const domain::AgentId& agent, int number) {
    return {"work_" + base::sha256_hex(fmt::format("{} {}", agent, number)).substr(0, 32)};
}

// What the clients know, whatever becomes of the runtime.
struct Clients {
    std::map<std::string, std::size_t> done;  // By agent: how many actions are acknowledged.
    std::set<std::string> prompts;            // Keys of acknowledged ones.
    std::set<std::string> work_items;         // Ids of acknowledged ones.
};

// One life of the program, with clients that act while turns run.
class Process final : public Life {
public:
    Process(Disk& disk, World& world, FaultPlan plan, std::uint64_t seed, int life)
        : Life(disk, world, plan, seed, life),
          random_(seed * 7919 + static_cast<std::uint64_t>(life)),
          life_(life),
          scheduler_(with_channel(parts_),
                     {.model_ref = "scripted/sim", .concurrent_turns_max = 2}),
          sender_({*store_, loop_, loop_, ids_, feed_},
                  {.command = [this, &world](const auto& outgoing, auto done) {
                      receive(world, outgoing, std::move(done));
                  }}) {}

    void run(Clients& clients) {
        tasks_.set_listener(
            {.on_result = [this](const domain::AgentId& agent) { scheduler_.wake(agent); }});
        for (const auto& agent : agents())
            for (int tries = 0; tries < kActionTries; ++tries)
                if (create(agent)) break;
        tasks_.recover(agents());
        scheduler_.start();
        sender_.start();
        const auto list = actions();
        for (std::size_t at = 0; at < list.size(); ++at)
            for (const auto& agent : agents()) {
                if (clients.done[agent.value] > at) continue;
                for (std::uint64_t steps = random_() % 12; steps > 0; --steps) loop_.run_one();
                for (int tries = 0; tries < kActionTries; ++tries)
                    if (list[at](agent, clients)) break;
                clients.done[agent.value] = at + 1;
            }
        for (const auto& agent : agents()) control(agent, scheduler::Control::Resume);
        loop_.run();
    }

private:
    using Action = std::function<bool(const domain::AgentId&, Clients&)>;

    static turn::Parts with_channel(turn::Parts parts) {
        parts.brief_channels.command = true;
        return parts;
    }

    // It arrives at once; the answer takes a while, and every fourth one is a failure.
    void receive(World& world, const notify::Outgoing& outgoing,
                 std::move_only_function<void(notify::Outcome)> done) {
        world.received[outgoing.delivery.delivery_intent_id].push_back(outgoing.body);
        const bool fails = random_() % 4 == 0;
        loop_.after(std::chrono::milliseconds(random_() % 1000),
                    [fails, done = std::move(done)]() mutable {
                        if (fails)
                            done(notify::Failed{"no answer (simulated)"});
                        else
                            done(notify::Delivered{});
                    });
    }

    std::vector<Action> actions() {
        using scheduler::Control;
        const auto prompt = [this](std::string name, domain::Priority priority) {
            return [this, name, priority](const domain::AgentId& agent, Clients& clients) {
                return send(agent, name, priority, clients);
            };
        };
        const auto command = [this](Control what) {
            return [this, what](const domain::AgentId& agent, Clients&) {
                return control(agent, what);
            };
        };
        std::vector<Action> list{
            prompt("0", domain::Priority::Normal),
            prompt("1", domain::Priority::Interject),
            [this](const auto& agent, Clients& clients) { return give_work(agent, 0, clients); },
            [this](const auto& agent, Clients& clients) { return give_work(agent, 1, clients); },
            [this](const auto& agent, Clients&) { return storm(agent); },
            [this](const auto& agent, Clients&) { return change_work(agent); },
            prompt("2", domain::Priority::Interject),
            command(Control::Stop),
            command(Control::Resume),
            prompt("3", domain::Priority::Background),
            [this](const auto& agent, Clients&) { return abort(agent); },
            command(Control::Resume),
            [this](const auto& agent, Clients&) { return rejoin(agent); },
            command(Control::Pause),
            prompt("4", domain::Priority::Normal),
            command(Control::Resume)};
        for (int hint = 0; hint < kHints; ++hint)
            list.insert(list.begin() + 2 + hint * 3,
                        [this, hint](const auto& agent, Clients&) { return nudge(agent, hint); });
        return list;
    }

    bool send(const domain::AgentId& agent, const std::string& name, domain::Priority priority,
              Clients& clients) {
        const std::string key = fmt::format("{}-{}", agent, name);
        const bool is_stored = admit(agent, key, priority);
        if (is_stored) clients.prompts.insert(key);
        scheduler_.wake(agent);
        return is_stored;
    }

    // The same item again after a crash changes nothing.
    bool give_work(const domain::AgentId& agent, int number, Clients& clients) {
        const auto id = work_item_id(agent, number);
        const bool is_stored = commit([&](events::Log& log) -> base::Status {
            if (TRY(log.tx().work_item(id))) return {};
            TRY(work_items::create(log, {.id = id,
                                         .agent_id = agent,
                                         .workspace_id = "agent_home",
                                         .objective = "work " + id.value}));
            return {};
        });
        if (is_stored) clients.work_items.insert(id.value);
        scheduler_.wake(agent);
        return is_stored;
    }

    // Blocks one item, so that its reminder fires during other turns, and completes or picks the
    // other, while a turn for it may be open.
    bool change_work(const domain::AgentId& agent) {
        const bool completes = random_() % 2 == 0;
        const bool is_stored = commit([&](events::Log& log) -> base::Status {
            auto known = TRY(log.tx().agent(agent));
            const auto first = work_item_id(agent, 0);
            const auto second = work_item_id(agent, 1);
            const auto blocked = TRY(log.tx().work_item(first));
            const auto other = TRY(log.tx().work_item(second));
            if (blocked && blocked->state == domain::WorkItemState::Open)
                TRY(work_items::update(
                    log, *known, {.id = first, .blocked_by = "a change", .recheck_after_ms = 1}));
            if (other && other->state == domain::WorkItemState::Open && completes)
                TRY(work_items::complete(log, *known, {.id = second}));
            else if (other && other->state == domain::WorkItemState::Open)
                TRY(work_items::pick(log, *known, {.id = second}));
            return log.tx().put_agent(*known);
        });
        scheduler_.timers_changed();
        scheduler_.wake(agent);
        return is_stored;
    }

    bool nudge(const domain::AgentId& agent, int hint) {
        const bool is_stored = commit([&](events::Log& log) -> base::Status {
            TRY(scheduler::submit(
                log, {.target_agent_id = agent,
                      .reason = "changed",
                      .body = hint % 2 == 0 ? std::optional<domain::Body>(
                                                  domain::TextBody{fmt::format("n{}", hint)})
                                            : std::nullopt,
                      .trust = domain::TrustLevel::TrustedIntegration,
                      .created_at = log.now()}));
            return {};
        });
        scheduler_.wake(agent);
        return is_stored;
    }

    bool storm(const domain::AgentId& agent) {
        const bool is_stored = commit([&](events::Log& log) -> base::Status {
            for (int n = 0; n < kTimers; ++n)
                TRY(scheduler::create_timer(
                    log, {.agent_id = agent,
                          .duration_ms = static_cast<std::int64_t>(n % 3),
                          .summary = fmt::format("{} {} in life {}", agent, ++timers_, life_)}));
            return {};
        });
        scheduler_.timers_changed();
        return is_stored;
    }

    bool control(const domain::AgentId& agent, scheduler::Control command) {
        scheduler::Controlled step;
        const bool is_stored = commit([&](events::Log& log) -> base::Status {
            step = TRY(scheduler::apply_control(log, agent, command, {"local_process"}));
            return {};
        });
        if (is_stored && step.ends_turn)
            scheduler_.halt(agent, "held back", turn::StopKind::Interrupt);
        if (command == scheduler::Control::Resume) scheduler_.wake(agent);
        return is_stored;
    }

    bool abort(const domain::AgentId& agent) {
        bool is_running = false;
        const bool is_stored = commit([&](events::Log& log) -> base::Status {
            auto open = TRY(log.tx().open_attempt_of(agent));
            is_running = open.has_value();
            if (!open) return {};
            open->is_aborted = true;
            TRY(log.tx().put_attempt(*open));
            TRY(scheduler::apply_control(log, agent, scheduler::Control::Stop, {"local_process"}));
            return {};
        });
        if (is_stored && is_running)
            scheduler_.halt(agent, std::string(domain::kReasonAborted), turn::StopKind::Abort);
        return is_stored;
    }

    // A wait for a task, and its result, whichever comes first.
    bool rejoin(const domain::AgentId& agent) {
        const domain::TaskId task{agent.value + "-task"};
        const auto wait = [&](events::Log& log) -> base::Status {
            TRY(queue::open_wait(log, {.id = log.ids().fresh<domain::WaitId>(),
                                       .agent_id = agent,
                                       .kind = domain::WaitKind::Task,
                                       .subject_ref = task.value,
                                       .waiting_for = "the task"}));
            return {};
        };
        const auto result = [&](events::Log& log) -> base::Status {
            const auto message =
                TRY(ingress::receive({.agent_id = agent,
                                      .kind = domain::MessageKind::TaskResult,
                                      .origin = domain::TaskOrigin{task},
                                      .body = domain::TextBody{"result of " + task.value},
                                      .surface = domain::DeliverySurface::TaskRejoin,
                                      .admission = domain::AdmissionContext::RuntimeOwned},
                                     log.now(), log.ids()));
            TRY(admission::admit(log, message, queue::task_result_key(task)));
            return {};
        };
        if (random_() % 2 == 0) loop_.run();  // Also while nothing runs.
        const bool wait_first = random_() % 2 == 0;
        const bool is_stored =
            wait_first ? commit(wait) && commit(result) : commit(result) && commit(wait);
        scheduler_.wake(agent);
        return is_stored;
    }

    std::mt19937_64 random_;
    int life_;
    int timers_{0};
    scheduler::Scheduler scheduler_;
    notify::Sender sender_;
};

class Checker {
public:
    Checker(store::Tx& tx, const World& world, Outcome& outcome)
        : tx_(tx), world_(world), outcome_(outcome) {}

    base::Status check(const domain::AgentId& agent, const Clients& clients) {
        if (TRY(tx_.open_attempt_of(agent))) violation("{} has an open attempt at the end", agent);
        if (!TRY(tx_.outbox(agent)).empty()) violation("{} has effects left", agent);
        if (TRY(tx_.pending_count(agent)) > 0) violation("{} sleeps with input", agent);
        if (TRY(tx_.wake_hint(agent))) violation("{} sleeps with a hint", agent);
        for (const auto& wait : TRY(tx_.open_waits(agent)))
            if (!wait.work_item_id)
                violation("{} sleeps with the {} wait {}", agent, base::enum_name(wait.status),
                          wait.id);
        TRY(check_work(agent, clients));
        TRY(check_messages(agent, clients));
        TRY(check_timers(agent));
        TRY(check_deliveries(agent));
        return check_events(agent);
    }

private:
    template <class... Args>
    void violation(fmt::format_string<Args...> text, Args&&... args) {
        outcome_.violations.push_back(fmt::format(text, std::forward<Args>(args)...));
    }

    base::Status check_work(const domain::AgentId& agent, const Clients& clients) {
        std::set<std::string> found;
        const auto statistics = TRY(tx_.statistics(agent));
        const auto& last = statistics.last_turn_terminal;
        const bool is_held = last && last->kind != domain::TerminalKind::Completed;
        for (const auto& item : TRY(tx_.work_items(agent, {.limit = kAll}))) {
            found.insert(item.id.value);
            const auto waits = TRY(tx_.open_waits_of(item.id));
            const auto readiness = domain::readiness_of(item);
            if (readiness == domain::WorkReadiness::Runnable && !is_held)
                violation("{} sleeps while {} is runnable", agent, item.id);
            if ((readiness == domain::WorkReadiness::Blocked) != !waits.empty())
                violation("{} is {} with {} open waits", item.id, base::enum_name(readiness),
                          waits.size());
        }
        for (const auto& id : clients.work_items)
            if (id.starts_with("work_" + agent.value + "_") && !found.contains(id))
                violation("work item {} was lost", id);
        for (const auto& id : found)
            if (!clients.work_items.contains(id))
                outcome_.history += id + " was not acknowledged\n";
        return {};
    }

    base::Status check_messages(const domain::AgentId& agent, const Clients& clients) {
        std::map<std::string, int> results;
        for (const auto& brief : TRY(tx_.briefs(agent, {.limit = kAll})))
            if (brief.record.kind != domain::BriefKind::Ack && brief.record.related_message_id &&
                brief.record.visibility != domain::BriefVisibility::WorkDone)
                ++results[brief.record.related_message_id->value];
        std::set<std::string> prompts;
        for (const auto& numbered : TRY(tx_.messages(agent, {.limit = kAll}))) {
            const auto& [message, entry] = numbered.record;
            if (message.kind == domain::MessageKind::OperatorPrompt &&
                !prompts.insert(domain::readable(message.body).substr(7)).second)
                violation("message {} was admitted twice", message.id);
            check_end(message, entry, results[message.id.value]);
        }
        for (const auto& key : clients.prompts)
            if (key.starts_with(agent.value + "-") && !prompts.contains(key))
                violation("prompt {} was lost", key);
        return {};
    }

    void check_end(const domain::Message& message, const domain::QueueEntry& entry, int results) {
        using Status = domain::QueueStatus;
        const bool is_below_model = entry.reason == "liveness only";
        // Output that a turn has read with TaskOutput is not delivered again.
        const bool was_read = message.kind == domain::MessageKind::TaskResult &&
                              entry.status == Status::Dropped &&
                              entry.reason == "the result was read in a turn";
        const int expected =
            entry.status == Status::Interjected || is_below_model || was_read ? 0 : 1;
        const bool is_over = entry.status == Status::Processed ||
                             entry.status == Status::Interjected || was_read ||
                             (entry.status == Status::Dropped &&
                              entry.reason == std::string(domain::kReasonAborted));
        if (!is_over)
            violation("message {} ended as {}: {}", message.id, base::enum_name(entry.status),
                      entry.reason.value_or(""));
        if (is_below_model && message.kind != domain::MessageKind::SystemTick)
            violation("message {} was swallowed", message.id);
        if (results != expected)
            violation("message {} ({}) has {} results", message.id, base::enum_name(entry.status),
                      results);
    }

    base::Status check_timers(const domain::AgentId& agent) {
        for (const auto& timer : TRY(tx_.timers(agent, kAll, {}))) {
            // A reminder that was cancelled with its blocker does not fire.
            if (timer.work_item_id && timer.status != domain::TimerStatus::Active) continue;
            if (timer.status != domain::TimerStatus::Completed || timer.fire_count != 1)
                violation("timer {} is {} after {} fires", timer.id, base::enum_name(timer.status),
                          timer.fire_count);
            if (!timer.last_tick_message_id || !TRY(tx_.message(*timer.last_tick_message_id)))
                violation("timer {} fired without a tick", timer.id);
        }
        return {};
    }

    // Each brief that leaves the program has reached the operator under one id, whatever was
    // repeated under it; and nothing has that is not on record.
    base::Status check_deliveries(const domain::AgentId& agent) {
        std::map<std::string, int> delivered;  // By brief.
        for (const auto& delivery : TRY(tx_.deliveries(agent, kAll))) {
            ++delivered[delivery.output_event_id];
            const auto found = world_.received.find(delivery.delivery_intent_id);
            if (delivery.status != domain::DeliveryStatus::AcceptedByTransport ||
                found == world_.received.end())
                violation("delivery {} is {}", delivery.delivery_intent_id,
                          base::enum_name(delivery.status));
            else if (std::set(found->second.begin(), found->second.end()).size() != 1)
                violation("delivery {} was repeated with other bytes", delivery.delivery_intent_id);
        }
        for (const auto& brief : TRY(tx_.briefs(agent, {.limit = kAll}))) {
            const bool leaves =
                brief.record.visibility == domain::BriefVisibility::ActionRequired ||
                brief.record.visibility == domain::BriefVisibility::WorkDone;
            if (delivered[brief.record.id.value] != (leaves ? 1 : 0))
                violation("brief {} has {} deliveries", brief.record.id,
                          delivered[brief.record.id.value]);
        }
        return {};
    }

    // Numbered without gaps, and each status follows from the one before it.
    base::Status check_events(const domain::AgentId& agent) {
        std::int64_t expected = 1;
        std::string status = "awake_idle";
        for (const auto& event : TRY(tx_.events(agent, {.limit = kAll}))) {
            if (event.event_seq != expected)
                violation("{} has event {} where {} belongs", agent, event.event_seq, expected);
            expected = event.event_seq + 1;
            outcome_.history += base::json_text(base::to_json(event)) + "\n";
            if (event.kind != "agent_state_changed") continue;
            const std::string before = base::string_at(event.data, "previous_status");
            if (before != status)
                violation("{} went from {}, but was {} (event {})", agent, before, status,
                          event.event_seq);
            status = base::string_at(event.data, "status");
        }
        return {};
    }

    store::Tx& tx_;
    const World& world_;
    Outcome& outcome_;
};

void check(store::Store& store, const World& world, const Clients& clients, Outcome& outcome) {
    const auto status = store.read([&](store::Tx& tx) -> base::Status {
        for (const auto& agent : agents()) TRY(Checker(tx, world, outcome).check(agent, clients));
        // A brief is on disk before anybody hears of it.
        for (const auto& [id, bodies] : world.received)
            if (!TRY(tx.delivery(id)))
                outcome.violations.push_back("the operator received " + id + " for nothing");
        return {};
    });
    if (!status)
        outcome.violations.push_back("the store cannot be read: " + status.error().message);
    for (const auto& [cmd, times] : world.runs)
        if (times > 1) outcome.violations.push_back(fmt::format("'{}' ran {} times", cmd, times));
    for (const auto& fault : world.pairing_faults) outcome.violations.push_back(fault);
    for (const auto& request : world.changed_prompts)
        outcome.violations.push_back("changed when asked again: " + request);
}

}  // namespace

Outcome simulate_lifecycle(const Setup& setup) {
    Outcome outcome;
    Disk disk;
    World world;
    Clients clients;
    bool lost_power = false;
    for (std::size_t life = 0;; ++life) {
        const bool last = life >= setup.plans.size();
        ++outcome.processes;
        const FaultPlan plan = last ? FaultPlan{} : setup.plans[life];
        Process process(disk, world, plan, setup.seed, static_cast<int>(life));
        bool crashed = false;
        try {
            process.run(clients);
        } catch (const Crash&) {
            crashed = true;
            lost_power = lost_power || plan.fault == Fault::PowerLoss;
        }
        outcome.commits = disk.commits();
        if (crashed) continue;
        // After a power cut the answer to a call may be lost, so the next prompt names another
        // story.
        if (lost_power) world.changed_prompts.clear();
        check(process.store(), world, clients, outcome);
        return outcome;
    }
}

}  // namespace sim
