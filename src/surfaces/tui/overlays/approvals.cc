// What waits for the operator's yes, of all agents, with the exact command or change.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "surfaces/show/times.h"
#include "surfaces/tui/overlays/list.h"
#include "surfaces/tui/overlays/plan_lines.h"
#include "surfaces/tui/overlays/transcript_text.h"
#include "surfaces/tui/screen/cells.h"

namespace tui {
namespace {

constexpr std::int64_t kRunsSearched = 1000;
constexpr std::size_t kShownMax = 50;
constexpr std::chrono::hours kApprovedFor{24};
constexpr std::chrono::seconds kLookEvery{2};

struct Asked {
    domain::PlanRun run;
    json::object plan;  // {run, plan, calls, results, events}
};

class ApprovalsOverlay final : public ListOverlay {
public:
    explicit ApprovalsOverlay(Desk& desk) : ListOverlay(desk, "Approvals") {}

    std::string hint() const override { return "↑↓ choose · y allows · n rejects"; }

    void load() override {
        call([this] { return read(); },
             [this](const base::Result<std::vector<Asked>>& list) {
                 if (const auto* asked = good(list)) show(*asked);
             });
    }
    void on_change() override { load(); }
    // Other agents, and plans without an agent, ask without an event of the agent that is shown.
    std::chrono::milliseconds interval() const override { return kLookEvery; }
    void on_tick() override { load(); }

protected:
    std::vector<show::Line> detail(const std::string& id, std::size_t columns) override {
        const auto found = asked_.find(id);
        if (found == asked_.end()) return {};
        const auto& [run, shown] = found->second;
        auto lines =
            text_lines(fmt::format("{} · {} asks · {}", id,
                                   run.owner ? "agent " + run.owner->agent_id.value : "you",
                                   show::local_time(run.created_at)),
                       columns, show::Face::Dim);
        std::ranges::move(text_lines(run.goal, columns), std::back_inserter(lines));
        const json::value document = shown;
        const auto* plan = base::find(document, "plan");
        if (plan) std::ranges::move(plan_lines(*plan, columns), std::back_inserter(lines));
        return lines;
    }
    bool on_row_key(const Key& key, const std::string& id) override {
        if (is_letter(key, "y")) {
            decide([this, id] { return desk_.plans.approve(id, desk_.user, kApprovedFor); },
                   "Allowed");
            return true;
        }
        if (is_letter(key, "n")) {
            decide([this,
                    id] { return desk_.plans.reject(id, desk_.user, "rejected in the console"); },
                   "Rejected");
            return true;
        }
        return false;
    }

private:
    base::Result<std::vector<Asked>> read() const {
        std::vector<Asked> asked;
        for (auto& run : TRY(waiting_runs(desk_.plans, desk_.clock.now(), kShownMax)))
            asked.push_back({run, TRY(desk_.plans.show(run.run_id.value))});
        return asked;
    }

    void show(const std::vector<Asked>& list) {
        asked_.clear();
        std::vector<Row> rows;
        for (const auto& one : list) {
            const std::string id = one.run.run_id.value;
            rows.push_back(
                {.id = id,
                 .line = plain(base::printable(base::collapse_whitespace(one.run.goal))),
                 .group = one.run.owner ? "agent " + one.run.owner->agent_id.value : "yours"});
            asked_.emplace(id, one);
        }
        set_rows(std::move(rows));
    }

    template <class Decide>
    void decide(Decide how, std::string done) {
        call(std::move(how),
             [this, done = std::move(done)](const base::Result<domain::PlanRun>& run) {
                 if (good(run)) desk_.note(done);
                 load();
             });
    }

    std::map<std::string, Asked> asked_;
};

}  // namespace

base::Result<std::vector<domain::PlanRun>> waiting_runs(service::Plans& plans, base::Time now,
                                                        std::size_t max) {
    std::vector<domain::PlanRun> waiting;
    for (auto& run : TRY(plans.runs({.limit = kRunsSearched})).items) {
        const bool is_approved = run.approval && run.approval->expires_at > now;
        if (run.status != domain::PlanRunStatus::AwaitingApproval || is_approved) continue;
        waiting.push_back(std::move(run));
        if (waiting.size() == max) break;
    }
    return waiting;
}

std::shared_ptr<Overlay> approvals_overlay(Desk& desk) {
    return std::make_shared<ApprovalsOverlay>(desk);
}

}  // namespace tui
