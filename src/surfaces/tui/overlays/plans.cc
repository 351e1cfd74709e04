// Plan runs: what they do, and approving, running, cancelling and reverting them in place.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "surfaces/show/times.h"
#include "surfaces/tui/overlays/list.h"
#include "surfaces/tui/overlays/plan_lines.h"
#include "surfaces/tui/overlays/transcript_text.h"
#include "surfaces/tui/screen/cells.h"
#include "surfaces/tui/widgets/pager.h"

namespace tui {
namespace {

constexpr std::int64_t kRunsShown = 100;
constexpr std::chrono::hours kApprovedFor{24};
constexpr std::chrono::seconds kLookEvery{2};

using domain::PlanRunStatus;

bool is_waiting(const domain::PlanRun& run, base::Time now) {
    return run.status == PlanRunStatus::AwaitingApproval &&
           !(run.approval && run.approval->expires_at > now);
}

class PlansOverlay final : public ListOverlay {
public:
    explicit PlansOverlay(Desk& desk) : ListOverlay(desk, "Plans") {}

    std::string hint() const override {
        return "↑↓ choose · y approves · n rejects · g runs · x cancels · u reverts";
    }

    void load() override {
        call([this] { return desk_.plans.runs({.limit = kRunsShown}); },
             [this](const base::Result<service::Listed<domain::PlanRun>>& list) {
                 if (const auto* runs = good(list)) show(runs->items);
             });
    }
    void on_change() override { load(); }
    std::chrono::milliseconds interval() const override { return kLookEvery; }
    void on_tick() override { load(); }

protected:
    void on_select(const std::string& id) override {
        if (texts_.contains(id)) return;
        const auto run = runs_.find(id);
        if (run == runs_.end()) return;
        call([this, id] { return desk_.plans.show(id); },
             [this, id](const base::Result<json::object>& shown) {
                 if (const auto* document = good(shown)) {
                     const json::value whole = *document;
                     if (const auto* plan = base::find(whole, "plan")) texts_[id] = *plan;
                     refresh_detail();
                     if (is_waiting(runs_[id], desk_.clock.now())) load_preview(id);
                 }
             });
    }

    std::vector<show::Line> detail(const std::string& id, std::size_t columns) override {
        const auto found = runs_.find(id);
        if (found == runs_.end()) return {};
        const auto& run = found->second;
        auto lines =
            text_lines(fmt::format("{} · {} · {}", id,
                                   run.owner ? "agent " + run.owner->agent_id.value : "yours",
                                   show::local_time(run.created_at)),
                       columns, show::Face::Dim);
        const auto add = [&](std::vector<show::Line> more) {
            std::ranges::move(more, std::back_inserter(lines));
        };
        add(text_lines(run.goal, columns));
        add(run_lines(run, columns));
        if (const auto preview = previews_.find(id); preview != previews_.end())
            add(preview_lines(preview->second, columns));
        else if (const auto plan = texts_.find(id); plan != texts_.end())
            add(plan_lines(plan->second, columns));
        return lines;
    }

    bool on_row_key(const Key& key, const std::string& id) override {
        if (is_letter(key, "y")) {
            const bool is_agents = runs_[id].owner.has_value();
            act(
                [this, id, is_agents]() -> base::Result<domain::PlanRun> {
                    auto run = TRY(desk_.plans.approve(id, desk_.user, kApprovedFor));
                    return is_agents ? std::move(run) : desk_.plans.begin(id);
                },
                "Approved; it runs");
        } else if (is_letter(key, "n")) {
            act([this,
                 id] { return desk_.plans.reject(id, desk_.user, "rejected in the console"); },
                "Rejected");
        } else if (is_letter(key, "g")) {
            act([this, id] { return desk_.plans.begin(id); }, "It runs");
        } else if (is_letter(key, "x")) {
            act([this, id] { return desk_.plans.cancel(id, "cancelled in the console"); },
                "Cancelled");
        } else if (is_letter(key, "u")) {
            act(
                [this, id]() -> base::Result<domain::PlanRun> {
                    const auto reverted = TRY(desk_.plans.make_revert(id, desk_.user));
                    if (!reverted.run)
                        return base::fail(base::ErrorCode::Conflict,
                                          "run {} left nothing that can be undone", id);
                    return desk_.plans.begin(reverted.run->run_id.value);
                },
                "A run that undoes it has begun");
        } else {
            return false;
        }
        return true;
    }

private:
    void load_preview(const std::string& id) {
        const auto& run = runs_[id];
        service::PlanRequest request{.text = base::json_text(texts_[id]),
                                     .params = run.params,
                                     .vault = run.vault,
                                     .context = run.context};
        call([this, request = std::move(request)] { return desk_.plans.preview(request); },
             [this, id](const base::Result<json::object>& preview) {
                 // Without one the steps themselves are shown.
                 if (!preview) return;
                 previews_[id] = *preview;
                 refresh_detail();
             });
    }

    void show(const std::vector<domain::PlanRun>& list) {
        runs_.clear();
        std::vector<Row> rows;
        const auto now = desk_.clock.now();
        const auto group_of = [&](const domain::PlanRun& run) -> std::string {
            if (is_waiting(run, now)) return "need your approval";
            return run.is_open() ? "open" : "ended";
        };
        for (const auto* group : {"need your approval", "open", "ended"})
            for (const auto& run : list) {
                if (group_of(run) != group) continue;
                show::Line line = plain(base::printable(base::collapse_whitespace(run.goal)));
                append(line, dim(fmt::format("  {}", base::enum_name(run.status))));
                rows.push_back({.id = run.run_id.value, .line = std::move(line), .group = group});
                runs_.emplace(run.run_id.value, run);
            }
        set_rows(std::move(rows));
    }

    template <class Job>
    void act(Job job, std::string done) {
        call(std::move(job),
             [this, done = std::move(done)](const base::Result<domain::PlanRun>& run) {
                 if (good(run)) desk_.note(done);
                 load();
             });
    }

    std::map<std::string, domain::PlanRun> runs_;
    std::map<std::string, json::value> texts_;     // Plans, by run.
    std::map<std::string, json::value> previews_;  // Of runs that wait.
};

// What a plan of a file or a saved action would do; Enter runs it.
class PlanPreviewOverlay final : public Overlay {
public:
    PlanPreviewOverlay(Desk& desk, service::PlanRequest request)
        : Overlay(desk), request_(std::move(request)) {}

    std::string title() const override { return "Plan"; }
    std::string hint() const override {
        return is_good_ ? "Enter approves and runs it · Esc leaves it" : "Esc closes";
    }

    void load() override {
        call([this] { return desk_.plans.preview(request_); },
             [this](const base::Result<json::object>& preview) {
                 error_ = preview ? "" : preview.error().message;
                 preview_ = preview ? json::value(*preview) : json::value(json::object{});
                 const auto* faults = base::find(preview_, "faults");
                 is_good_ =
                     preview && !(faults && faults->is_array() && !faults->get_array().empty());
                 is_loaded_ = true;
                 columns_ = 0;
             });
    }

    std::vector<show::Line> view(std::size_t columns, std::size_t rows) override {
        if (columns != columns_) {
            columns_ = columns;
            pager_.set_lines(!is_loaded_       ? std::vector<show::Line>{dim("loading")}
                             : !error_.empty() ? text_lines(error_, columns, show::Face::Bad)
                                               : preview_lines(preview_, columns));
        }
        return pager_.view(columns, rows);
    }

    bool on_key(const Key& key, std::size_t rows) override {
        if (key.name == KeyName::Enter && is_good_) {
            is_good_ = false;  // Once.
            run();
            return true;
        }
        const bool is_used = pager_.on_key(key, rows);
        if (const auto copied = pager_.take_copied()) desk_.copy(*copied);
        return is_used;
    }

private:
    void run() {
        call(
            [this]() -> base::Result<domain::PlanRun> {
                const auto created = TRY(desk_.plans.create(request_));
                if (!created.run)
                    return base::fail(base::ErrorCode::InvalidInput, "the plan has faults: {}",
                                      created.faults.empty() ? "" : created.faults.front().message);
                const std::string id = created.run->run_id.value;
                if (created.needs_approval) TRY(desk_.plans.approve(id, desk_.user, kApprovedFor));
                return desk_.plans.begin(id);
            },
            [this](const base::Result<domain::PlanRun>& run) {
                const auto* begun = good(run);
                if (!begun) return;
                desk_.close();
                desk_.note(fmt::format("Plan run {} has begun; /plan shows it", begun->run_id));
            });
    }

    service::PlanRequest request_;
    json::value preview_;
    std::string error_;
    bool is_good_{false};
    bool is_loaded_{false};
    Pager pager_;
    std::size_t columns_{0};
};

}  // namespace

std::shared_ptr<Overlay> plans_overlay(Desk& desk) {
    return std::make_shared<PlansOverlay>(desk);
}

std::shared_ptr<Overlay> plan_preview_overlay(Desk& desk, service::PlanRequest request) {
    return std::make_shared<PlanPreviewOverlay>(desk, std::move(request));
}

}  // namespace tui
