#include "flow/retention/pass.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "agent/identity/agent_lock.h"
#include "base/log/log.h"

namespace retention {
namespace {

namespace fs = std::filesystem;

using store::Stream;

constexpr Stream kStreams[] = {Stream::Messages, Stream::Events,  Stream::Transcript,
                               Stream::Briefs,   Stream::Tasks,   Stream::Waits,
                               Stream::Timers,   Stream::Episodes};

// Is this the agent of a temporary run, and has nothing happened since?
// Nothing of it may be open. Input that a stopped turn left behind goes with it: nobody waits.
base::Result<bool> is_abandoned(store::Tx& tx, const domain::AgentId& id, base::Time before) {
    if (!id.value.starts_with(kTemporaryPrefix)) return false;
    const auto agent = TRY(tx.agent(id));
    if (!agent || agent->identity.visibility != domain::Visibility::Private) return false;
    if (agent->identity.updated_at >= before || agent->identity.created_at >= before) return false;
    const auto newest = TRY(tx.events(id, {.limit = 1, .newest_first = true}));
    if (!newest.empty() && newest.front().created_at >= before) return false;
    return !TRY(tx.open_attempt_of(id)) && TRY(tx.active_tasks(id)).empty() &&
           TRY(tx.active_timer_count(id)) == 0;
}

// What something open of the agent refers to stays, whatever its age.
base::Status pin(store::Tx& tx, const domain::AgentId& agent, Bounds& bounds) {
    if (const auto open = TRY(tx.open_attempt_of(agent))) {
        bounds.before = std::min(bounds.before, open->opened_at);
        bounds.pinned.insert(open->message_id.value);
    }
    for (const auto& wait : TRY(tx.open_waits(agent)))
        if (wait.triggered_by) bounds.pinned.insert(wait.triggered_by->value);
    for (const auto& task : TRY(tx.active_tasks(agent)))
        if (task.parent_message_id) bounds.pinned.insert(task.parent_message_id->value);
    return {};
}

// Neighbouring rows as (after, through).
std::vector<std::pair<std::int64_t, std::int64_t>> ranges_of(
    const std::vector<store::AgedRow>& rows) {
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (const auto& row : rows) {
        if (!ranges.empty() && ranges.back().second == row.seq - 1)
            ranges.back().second = row.seq;
        else
            ranges.emplace_back(row.seq - 1, row.seq);
    }
    return ranges;
}

}  // namespace

// What a step may remove of one stream of the agent.
struct Pass::Found {
    Choice choice;
    FileCount files{};  // Counted in a dry run.
};

Pass::Pass(store::Store& store, fs::path agents_folder, Cut cut, bool dry_run)
    : store_(store), agents_folder_(std::move(agents_folder)), cut_(cut), dry_run_(dry_run) {}

fs::path Pass::home_of(const domain::AgentId& agent) const {
    return agents_folder_ / agent.value;
}

void Pass::count(Stream stream, std::int64_t rows) {
    if (stream == Stream::Messages)
        removed_.messages += rows;
    else if (stream == Stream::Events)
        removed_.events += rows;
    else
        removed_.other_rows += rows;
}

void Pass::count(const FileCount& files) {
    removed_.files += files.files;
    removed_.file_bytes += files.bytes;
}

base::Result<bool> Pass::step() {
    if (!rows_are_done_) return step_rows();
    TRY(sweep_folders());
    return !folders_.empty();
}

// False when there is no further agent.
base::Result<bool> Pass::next_agent() {
    std::vector<domain::AgentId> next;
    TRY(store_.read([&](store::Tx& tx) -> base::Status {
        next = TRY(tx.agents(agent_, 1));
        return {};
    }));
    if (next.empty()) return false;
    agent_ = next.front();
    // One whose record cannot be read is not.
    is_abandoned_ = false;
    const auto checked = store_.read([&](store::Tx& tx) -> base::Status {
        is_abandoned_ = TRY(is_abandoned(tx, agent_, cut_.temporary_before));
        return {};
    });
    if (!checked && checked.error().code != base::ErrorCode::Corrupt)
        return std::unexpected(checked.error());
    stream_ = 0;
    after_seq_ = 0;
    return true;
}

// The agent that the walk is at begins with its first stream; before the first agent there is none.
base::Result<bool> Pass::step_rows() {
    if (agent_.value.empty()) stream_ = std::size(kStreams);
    for (int agents = 0; agents < kAgentsPerStep;) {
        if (stream_ == std::size(kStreams)) {
            if (is_abandoned_ && !agent_.value.empty() && TRY(remove_agent())) return true;
            ++agents;
            if (!TRY(next_agent())) {
                rows_are_done_ = true;
                return true;
            }
            continue;
        }
        Found found;
        const auto read = store_.read([&](store::Tx& tx) -> base::Status {
            found = TRY(find(tx));
            return {};
        });
        if (!read && read.error().code != base::ErrorCode::Corrupt)
            return std::unexpected(read.error());
        if (!read) {
            // Its other rows stay, too: what refers to what cannot be known.
            base::log_warn("old records of agent {} are kept: {}; see: holon store check", agent_,
                           read.error().message);
            stream_ = std::size(kStreams);
            is_abandoned_ = false;
            continue;
        }
        const bool has_removed = !found.choice.removable.empty();
        if (has_removed) TRY(remove(found));
        if (!has_removed || dry_run_) {
            after_seq_ = found.choice.next_after;
            if (found.choice.is_over) {
                ++stream_;
                after_seq_ = 0;
            }
        }
        if (has_removed) return true;
    }
    return true;
}

base::Result<Pass::Found> Pass::find(store::Tx& tx) const {
    const Stream stream = kStreams[stream_];
    const auto page = TRY(tx.oldest_rows(agent_, stream, after_seq_, kRowsPerStep));
    Bounds bounds{.before = base::Time::max(),
                  .last_seq = std::numeric_limits<std::int64_t>::max()};
    if (!is_abandoned_) {
        bounds.before = cut_.before;
        bounds.last_seq = TRY(tx.stream_head(agent_, stream)) - kept_of(stream, cut_);
    }
    Found found{.choice = choose(page, bounds, kRowsPerStep)};
    if (found.choice.removable.empty() || is_abandoned_) return found;
    TRY(pin(tx, agent_, bounds));
    found.choice = choose(page, bounds, kRowsPerStep);
    if (!dry_run_) return found;
    for (const auto& row : found.choice.removable) {
        Unnamed unnamed;
        if (stream == Stream::Messages) unnamed.artifacts = TRY(tx.artifacts_of({row.id}));
        if (stream == Stream::Tasks) unnamed.commands = {row.id};
        found.files += remove_files(home_of(agent_), unnamed, true);
    }
    return found;
}

// Decides again inside the transaction: something may have been opened since.
base::Status Pass::remove(const Found& found) {
    const Stream stream = kStreams[stream_];
    if (dry_run_) {
        count(stream, std::ssize(found.choice.removable));
        count(found.files);
        return {};
    }
    struct Done {
        std::int64_t rows{0};
        std::int64_t after_seq{0};
        bool is_over{false};
        bool is_revived{false};  // Its client has resumed the run of the temporary agent.
        Unnamed unnamed{};
    } done;
    TRY(store_.write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
        done = {};
        if (is_abandoned_ && !TRY(is_abandoned(tx, agent_, cut_.temporary_before))) {
            done.is_revived = true;
            return {};
        }
        const auto again = TRY(find(tx)).choice;
        done = {.after_seq = again.next_after, .is_over = again.is_over};
        if (stream != Stream::Messages) {
            for (const auto& [after, through] : ranges_of(again.removable))
                done.rows += TRY(tx.erase_rows(agent_, stream, after, through));
            if (stream == Stream::Tasks)
                for (const auto& row : again.removable) done.unnamed.commands.push_back(row.id);
            return {};
        }
        std::int64_t rows_left = kRowsPerStep;
        for (const auto& row : again.removable) {
            auto tried = tx.erase_message({row.id}, rows_left);
            if (!tried && tried.error().code == base::ErrorCode::Refused) continue;
            auto erased = TRY(std::move(tried));
            rows_left -= erased.rows;
            if (erased.is_gone) ++done.rows;
            std::ranges::move(erased.calls, std::back_inserter(done.unnamed.commands));
            std::ranges::move(erased.artifacts, std::back_inserter(done.unnamed.artifacts));
            if (rows_left > 0) continue;
            done.after_seq = erased.is_gone ? row.seq : row.seq - 1;
            done.is_over = false;
            break;
        }
        return {};
    }));
    if (done.is_revived) {
        is_abandoned_ = false;
        stream_ = std::size(kStreams);
        return {};
    }
    count(stream, done.rows);
    after_seq_ = done.after_seq;
    if (done.is_over) {
        ++stream_;
        after_seq_ = 0;
    }
    count(remove_files(home_of(agent_), done.unnamed, false));
    return {};
}

// The agent itself, when its rows are gone. False when it stays after all.
base::Result<bool> Pass::remove_agent() {
    is_abandoned_ = false;
    if (dry_run_) {
        ++removed_.agents;
        count(remove_folder(home_of(agent_), true));
        return true;
    }
    // Held until the folder is gone: no process may run the agent meanwhile.
    std::error_code failed;
    base::Fd lock;
    if (fs::exists(home_of(agent_), failed)) {
        auto taken = identity::lock_agent(home_of(agent_), agent_.value);
        if (!taken) return false;
        lock = std::move(*taken);
    }
    bool is_gone = false;
    TRY(store_.write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
        is_gone = TRY(is_abandoned(tx, agent_, cut_.temporary_before)) || !TRY(tx.agent(agent_));
        return is_gone ? tx.erase_agent(agent_) : base::Status{};
    }));
    if (!is_gone) return false;
    ++removed_.agents;
    count(remove_folder(home_of(agent_), false));
    return true;
}

base::Status Pass::sweep_folders() {
    if (!std::exchange(folders_are_listed_, true)) {
        std::error_code failed;
        for (fs::directory_iterator entry(agents_folder_, failed);
             !failed && entry != fs::directory_iterator(); entry.increment(failed))
            folders_.push_back(entry->path().filename().string());
    }
    for (int swept = 0; swept < kFoldersPerStep && !folders_.empty(); ++swept) {
        const domain::AgentId agent{folders_.back()};
        const auto home = home_of(agent);
        bool is_known = true;
        TRY(store_.read([&](store::Tx& tx) -> base::Status {
            const auto found = tx.agent(agent);
            is_known = !found || found->has_value();
            return {};
        }));
        if (is_known) {
            const auto files = sweep_files(store_, home, agent, cut_.before, dry_run_);
            if (files)
                count(*files);
            else if (files.error().code != base::ErrorCode::Corrupt)
                return std::unexpected(files.error());
        } else if (const auto written = written_at(home);
                   agent.value.starts_with(kTemporaryPrefix) && written &&
                   *written < cut_.temporary_before) {
            // A crash has left the folder of an agent that is gone.
            if (dry_run_ || identity::lock_agent(home, agent.value))
                count(remove_folder(home, dry_run_));
        }
        folders_.pop_back();
    }
    return {};
}

}  // namespace retention
