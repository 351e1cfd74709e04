#include "flow/retention/keeper.h"

#include <utility>

#include "base/log/log.h"
#include "base/text.h"

namespace retention {
namespace {

void add(store::Removed& sum, const store::Removed& part) {
    sum.messages += part.messages;
    sum.events += part.events;
    sum.other_rows += part.other_rows;
    sum.agents += part.agents;
    sum.files += part.files;
    sum.file_bytes += part.file_bytes;
}

std::string text_of(const store::Removed& removed) {
    return fmt::format(
        "{} with their turns, {}, {}, {}, {} of {}", base::counted(removed.messages, "message"),
        base::counted(removed.events, "event"), base::counted(removed.other_rows, "other record"),
        base::counted(removed.agents, "temporary agent"), base::counted(removed.files, "file"),
        base::counted(removed.file_bytes, "byte"));
}

}  // namespace

Pruning::Pruning(const Parts& parts, bool dry_run)
    : parts_(parts), dry_run_(dry_run), started_at_(parts.clock.now()) {}

base::Result<bool> Pruning::step() {
    if (!pass_)
        pass_.emplace(parts_.store, parts_.agents_folder(),
                      cut_of(parts_.settings, started_at_, shortenings_).value(), dry_run_);
    if (TRY(pass_->step())) return true;
    const std::int64_t file_bytes =
        bytes_below(parts_.agents_folder()) + bytes_below(parts_.home / "plans");
    const auto report = TRY(load_report(parts_.store, started_at_));
    is_over_budget_ = report.database.used_bytes + file_bytes > parts_.settings.max_bytes;
    add(removed_, pass_->removed());
    pass_.reset();
    // A further pass that removes nothing would find the same rows again.
    if (is_over_budget_ && !dry_run_ && cut_of(parts_.settings, started_at_, shortenings_ + 1)) {
        ++shortenings_;
        return true;
    }
    if (!dry_run_) TRY(finish(file_bytes));
    return false;
}

base::Status Pruning::finish(std::int64_t file_bytes) {
    return parts_.store.write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
        auto state = TRY(tx.retention());
        state.last_pass_at = parts_.clock.now();
        state.last_pass = removed_;
        add(state.total, removed_);
        state.file_bytes = file_bytes;
        state.is_over_budget = is_over_budget_;
        return tx.put_retention(state);
    });
}

base::Result<Report> load_report(store::Store& store, base::Time now) {
    Report report;
    TRY(store.read([&](store::Tx& tx) -> base::Status {
        report = {.database = TRY(tx.database_size()), .state = TRY(tx.retention())};
        return {};
    }));
    if (report.state.deletes_from && *report.state.deletes_from > now)
        report.waits_until = report.state.deletes_from;
    return report;
}

base::Result<store::Removed> prune(const Parts& parts, bool dry_run) {
    Pruning pruning(parts, dry_run);
    while (TRY(pruning.step())) {
    }
    return pruning.removed();
}

// What the next pass is to be, or when.
struct Keeper::Plan {
    bool is_notice{false};               // Only counts what a pass would remove.
    std::chrono::microseconds delay{0};  // 0: now.
};

namespace {

// The notice of a home that an older program made, unless it has begun: true when it begins now. It
// runs from the first start on, however short that process lives; how much would go is counted when
// one lives long enough.
base::Result<bool> begin_notice(store::Store& store, base::Time now) {
    const auto is_due = [](const store::RetentionState& state) {
        return state.existed_before && !state.deletes_from;
    };
    bool begins = false;
    TRY(store.read([&](store::Tx& tx) -> base::Status {
        begins = is_due(TRY(tx.retention()));
        return {};
    }));
    if (!begins) return false;
    TRY(store.write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        auto state = TRY(tx.retention());
        begins = is_due(state);
        if (!begins) return {};
        state.announced_at = now;
        state.deletes_from = now + kNotice;
        return tx.put_retention(state);
    }));
    return begins;
}

}  // namespace

Keeper::Keeper(Parts parts, base::Loop& loop) : parts_(std::move(parts)), loop_(loop) {}

Keeper::~Keeper() {
    loop_.cancel(timer_);
}

void Keeper::start(std::chrono::milliseconds delay) {
    if (!parts_.settings.enabled) return;
    base::run_in_background<bool>(
        loop_, lifetime_,
        [&store = parts_.store, now = parts_.clock.now()] { return begin_notice(store, now); },
        [this, delay](const base::Result<bool>& begins) {
            if (!begins) return failed(begins.error(), [this, delay] { start(delay); });
            if (*begins)
                base::log_warn(
                    "this home was made by an older version, which kept everything. In {} days "
                    "holon begins to remove records older than {} days and beyond {} bytes. See: "
                    "holon store status. To keep everything: holon config set retention.enabled "
                    "false",
                    kNotice.count(), parts_.settings.max_age_days, parts_.settings.max_bytes);
            check_later(delay);
        });
}

void Keeper::check_later(std::chrono::microseconds delay) {
    timer_ = loop_.after(delay, lifetime_.guard([this] { check(); }));
}

void Keeper::failed(const base::Error& error, std::move_only_function<void()> again) {
    base::log_warn("old records cannot be removed now: {}", error.message);
    timer_ = loop_.after(kFaultPause, lifetime_.guard(std::move(again)));
}

void Keeper::check() {
    base::run_in_background<Plan>(
        loop_, lifetime_,
        [&store = parts_.store, now = parts_.clock.now()]() -> base::Result<Plan> {
            const auto report = TRY(load_report(store, now));
            const auto& state = report.state;
            if (report.waits_until && !state.announced) return Plan{.is_notice = true};
            if (report.waits_until) return Plan{.delay = *report.waits_until - now};
            // A clock that was set back does not put the next pass off for longer than the pause.
            if (state.last_pass_at && *state.last_pass_at <= now &&
                *state.last_pass_at + kPassPause > now)
                return Plan{.delay = *state.last_pass_at + kPassPause - now};
            return Plan{};
        },
        [this](const base::Result<Plan>& plan) {
            if (!plan) return failed(plan.error(), [this] { check(); });
            planned(*plan);
        });
}

// A long wait is checked in between: timers follow the wall clock, which may be set.
void Keeper::planned(const Plan& plan) {
    if (plan.delay.count() > 0)
        return check_later(std::min<std::chrono::microseconds>(plan.delay, kPassPause));
    continue_with(std::make_shared<Pruning>(parts_, plan.is_notice), plan.is_notice);
}

void Keeper::continue_with(std::shared_ptr<Pruning> pruning, bool is_notice) {
    base::run_in_background<bool>(
        loop_, lifetime_, [pruning] { return pruning->step(); },
        [this, pruning, is_notice](const base::Result<bool>& has_more) {
            if (!has_more) return failed(has_more.error(), [this] { check(); });
            if (*has_more) {
                timer_ = loop_.after(kStepPause, lifetime_.guard([this, pruning, is_notice] {
                    continue_with(pruning, is_notice);
                }));
                return;
            }
            if (is_notice) return announced(pruning->removed());
            over(pruning->removed(), pruning->is_over_budget());
        });
}

// Durable: a restart does not count again.
void Keeper::announced(const store::Removed& removed) {
    struct Announced {};
    base::run_in_background<Announced>(
        loop_, lifetime_,
        [&store = parts_.store, removed]() -> base::Result<Announced> {
            TRY(store.write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
                auto state = TRY(tx.retention());
                state.announced = removed;
                return tx.put_retention(state);
            }));
            return Announced{};
        },
        [this, removed](const base::Result<Announced>& done) {
            if (!done) return failed(done.error(), [this] { check(); });
            base::log_warn("today holon would remove as old: {}. See: holon store status",
                           text_of(removed));
            check_later(kPassPause);
        });
}

void Keeper::over(const store::Removed& removed, bool is_over_budget) {
    if (removed != store::Removed{}) base::log_info("removed old records: {}", text_of(removed));
    if (is_over_budget)
        base::log_warn(
            "the home uses more than retention.max_bytes ({} bytes), and what is left is younger "
            "than {} days or still needed. See: holon store status",
            parts_.settings.max_bytes, parts_.settings.min_age_days);
    check_later(kPassPause);
}

}  // namespace retention
