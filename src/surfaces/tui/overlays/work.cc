// The agent's work items, and what the operator may do to them.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "surfaces/show/words.h"
#include "surfaces/tui/overlays/list.h"
#include "surfaces/tui/overlays/transcript_text.h"
#include "surfaces/tui/screen/cells.h"

namespace tui {
namespace {

std::string readiness_of(const json::object& item) {
    const std::string readiness = base::string_at(json::value(item), "readiness");
    return readiness == "waiting_for_operator" ? "needs you" : base::printable(readiness);
}

class WorkOverlay final : public ListOverlay {
public:
    explicit WorkOverlay(Desk& desk) : ListOverlay(desk, "Work items") {}

    std::string hint() const override { return "↑↓ choose · p picks · u unblocks · d is done"; }

    void load() override {
        call([this, agent = desk_.agent] { return desk_.service.work_items(agent, {}); },
             [this](const base::Result<service::WorkItemsPage>& page) {
                 if (const auto* loaded = good(page)) show(loaded->work_items);
             });
    }
    void on_change() override { load(); }

protected:
    std::vector<show::Line> detail(const std::string& id, std::size_t columns) override {
        const auto found = items_.find(id);
        if (found == items_.end()) return {};
        const json::value item = found->second;
        std::string text = show::pointer_text(item, "/objective") + "\n\n";
        const auto line = [&](std::string_view label, std::string_view pointer) {
            if (const std::string value = show::pointer_text(item, pointer); value != "-")
                text += fmt::format("{}: {}\n", label, value);
        };
        line("id", "/id");
        line("plan", "/plan_artifact/path");
        line("blocked by", "/blocked_by");
        line("reminder", "/recheck_at");
        line("report", "/completion_report/text");
        if (const auto* todos = base::find(item, "todo_list"); todos && todos->is_array())
            for (const auto& todo : todos->get_array())
                text += fmt::format("[{}] {}\n", base::string_at(todo, "state"),
                                    base::string_at(todo, "text"));
        return text_lines(text, columns);
    }
    bool on_row_key(const Key& key, const std::string& id) override {
        if (is_letter(key, "p")) return change(id, service::WorkAction::Pick, "is the focus now");
        if (is_letter(key, "u")) return change(id, service::WorkAction::Unblock, "can continue");
        if (is_letter(key, "d")) return change(id, service::WorkAction::Done, "is completed");
        return false;
    }

private:
    void show(const std::vector<json::object>& items) {
        items_.clear();
        std::map<std::string, std::vector<Row>> groups;
        for (const auto& item : items) {
            const std::string id = base::string_at(json::value(item), "id");
            show::Line line = faced(base::bool_at(json::value(item), "is_current") ? "* " : "  ",
                                    show::Face::Accent);
            append(line, plain(base::printable(base::collapse_whitespace(
                             base::string_at(json::value(item), "objective")))));
            const std::string group = readiness_of(item);
            groups[group].push_back({.id = id, .line = line, .group = group});
            items_[id] = item;
        }
        std::vector<Row> rows;
        for (auto& [name, members] : groups) std::ranges::move(members, std::back_inserter(rows));
        set_rows(std::move(rows));
    }

    bool change(const std::string& id, service::WorkAction action, std::string_view done) {
        call(
            [this, agent = desk_.agent, id, action] {
                return desk_.service.change_work_item(agent, id, {.action = action}, desk_.caller);
            },
            [this,
             done = fmt::format("The work item {}", done)](const base::Result<json::object>& item) {
                if (good(item)) desk_.note(done);
                load();
            });
        return true;
    }

    std::map<std::string, json::object> items_;
};

}  // namespace

std::shared_ptr<Overlay> work_overlay(Desk& desk) {
    return std::make_shared<WorkOverlay>(desk);
}

}  // namespace tui
