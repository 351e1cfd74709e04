// What waits for the operator: approvals of all agents, with the exact command or change, and
// questions of MCP servers.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "surfaces/show/times.h"
#include "surfaces/tui/overlays/list.h"
#include "surfaces/tui/overlays/plan_lines.h"
#include "surfaces/tui/overlays/question_lines.h"
#include "surfaces/tui/overlays/transcript_text.h"
#include "surfaces/tui/screen/cells.h"

namespace tui {
namespace {

constexpr std::int64_t kRunsSearched = 1000;
constexpr std::size_t kShownMax = 50;
constexpr std::chrono::hours kApprovedFor{24};
constexpr std::chrono::seconds kLookEvery{2};
// A key that was meant for a row which has just gone decides nothing about the next one.
constexpr std::chrono::milliseconds kSettled{1000};

struct Asked {
    domain::PlanRun run;
    json::object plan;  // {run, plan, calls, results, events}
};
struct Waiting {
    std::vector<service::McpQuestion> questions;
    std::vector<Asked> asked;
    std::optional<base::Error> fault;  // Why some approvals are missing.
};

class ApprovalsOverlay final : public ListOverlay {
public:
    explicit ApprovalsOverlay(Desk& desk) : ListOverlay(desk, "Approvals") {}

    std::string hint() const override {
        return selected_question() ? "↑↓ choose · y answers · n declines · c cancels"
                                   : "↑↓ choose · y allows · n rejects";
    }

    void load() override {
        call([&plans = desk_.plans, mcp = desk_.mcp,
              now = desk_.clock.now()] { return read(plans, mcp, now); },
             [this](const Waiting& waiting) {
                 if (waiting.fault) desk_.note(waiting.fault->message);
                 show(waiting);
             });
    }
    void on_change() override { load(); }
    // Other agents, and plans without an agent, ask without an event of the agent that is shown.
    std::chrono::milliseconds interval() const override { return kLookEvery; }
    void on_tick() override { load(); }

protected:
    std::vector<show::Line> detail(const std::string& id, std::size_t columns) override {
        if (const auto* question = question_of(id)) return question_lines(*question, columns);
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
        if (key.name == KeyName::Character && desk_.clock.now() - moved_at_ < kSettled) {
            desk_.note("The list has just changed; check what is selected, then press again");
            return true;
        }
        if (const auto* question = question_of(id)) return on_question_key(key, *question);
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
    static Waiting read(service::Plans& plans, service::McpLive* mcp, base::Time now) {
        Waiting waiting{.questions = waiting_questions(mcp), .asked = {}, .fault = {}};
        auto asked = read_asked(plans, now);
        if (asked)
            waiting.asked = std::move(*asked);
        else
            waiting.fault = asked.error();
        return waiting;
    }
    static base::Result<std::vector<Asked>> read_asked(service::Plans& plans, base::Time now) {
        std::vector<Asked> asked;
        for (auto& run : TRY(waiting_runs(plans, now, kShownMax)))
            asked.push_back({run, TRY(plans.show(run.run_id.value))});
        return asked;
    }

    void show(const Waiting& waiting) {
        const auto before = selected();
        asked_.clear();
        questions_ = waiting.questions;
        std::vector<Row> rows;
        for (const auto& question : questions_)
            rows.push_back(
                {.id = question.id,
                 .line = plain(base::printable(base::collapse_whitespace(question.message))),
                 .group = "MCP server " + base::printable(question.server)});
        for (const auto& one : waiting.asked) {
            const std::string id = one.run.run_id.value;
            rows.push_back(
                {.id = id,
                 .line = plain(base::printable(base::collapse_whitespace(one.run.goal))),
                 .group = one.run.owner ? "agent " + one.run.owner->agent_id.value : "yours"});
            asked_.emplace(id, one);
        }
        set_rows(std::move(rows));
        if (before && selected() != before) moved_at_ = desk_.clock.now();
    }

    const service::McpQuestion* question_of(const std::string& id) const {
        const auto found = std::ranges::find(questions_, id, &service::McpQuestion::id);
        return found == questions_.end() ? nullptr : &*found;
    }
    const service::McpQuestion* selected_question() const {
        const auto id = selected();
        return id ? question_of(*id) : nullptr;
    }

    bool on_question_key(const Key& key, const service::McpQuestion& question) {
        if (is_letter(key, "y") || key.name == KeyName::Enter) {
            desk_.open_question(question);
            return true;
        }
        const bool declines = is_letter(key, "n");
        if (!declines && !is_letter(key, "c")) return false;
        call(
            [mcp = desk_.mcp, id = question.id, action = declines ? "decline" : "cancel"] {
                return mcp->answer(id, {.action = action});
            },
            [this, declines](const base::Status& done) {
                desk_.note(done ? (declines ? "Declined" : "Cancelled") : done.error().message);
                load();
            });
        return true;
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
    std::vector<service::McpQuestion> questions_;
    base::Time moved_at_{};  // When the selected row went away by itself.
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
