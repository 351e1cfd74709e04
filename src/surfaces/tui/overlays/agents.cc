// The agents, by what the operator has to know of them; children below their parents.
#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "base/text.h"
#include "surfaces/show/words.h"
#include "surfaces/tui/overlays/agent_rows.h"
#include "surfaces/tui/overlays/list.h"
#include "surfaces/tui/overlays/transcript_text.h"
#include "surfaces/tui/screen/cells.h"

namespace tui {
namespace {

constexpr auto kGroups =
    std::to_array<std::string_view>({"needs you", "working", "waiting", "sleeping", "failed"});

std::string entry_text(const json::object& entry, std::string_view pointer) {
    std::string text = show::pointer_text(entry, pointer);
    return text == "-" ? "" : text;
}

show::Line row_line(const json::object& entry) {
    show::Line line = faced(entry_text(entry, "/identity/agent_id"), show::Face::Accent);
    append(line, dim("  " + show::status_text(entry_text(entry, "/status"))));
    if (const std::int64_t pending = base::int_at(entry, "pending"); pending > 0)
        append(line, dim(fmt::format(" · {} queued", pending)));
    if (const std::string said = entry_text(entry, "/last_brief"); !said.empty())
        append(line, dim(" · " + said));
    return line;
}

class AgentsOverlay final : public ListOverlay {
public:
    AgentsOverlay(Desk& desk, std::vector<json::object> children)
        : ListOverlay(desk, "Agents"), children_(std::move(children)) {
        picker().allow_filter(true);
    }
    AgentsOverlay(Desk& desk, const std::vector<json::object>& entries, std::string default_agent)
        : ListOverlay(desk, "Which agent?"), default_agent_(std::move(default_agent)) {
        picker().allow_filter(true);
        show(entries);
    }

    std::string hint() const override {
        return "↑↓ choose · type to filter · Enter shows the agent";
    }
    std::string escape_hint() const override {
        return default_agent_.empty() ? Overlay::escape_hint()
                                      : "Esc takes " + base::printable(default_agent_);
    }

    void load() override {
        if (!entries_.empty()) return;  // The list was given.
        on_change();
    }
    void on_change() override {
        call([&service = desk_.service] { return service.agent_list({}); },
             [this](const base::Result<std::vector<json::object>>& list) {
                 if (const auto* entries = good(list)) show(*entries);
             });
    }

    bool on_key(const Key& key, std::size_t rows) override {
        if (ListOverlay::on_key(key, rows)) return true;
        if (key.name != KeyName::Escape || default_agent_.empty()) return false;
        desk_.switch_agent(default_agent_);
        return true;
    }

protected:
    std::vector<show::Line> detail(const std::string& id, std::size_t columns) override {
        const auto entry = entries_.find(id);
        if (entry == entries_.end())
            return text_lines("a child of " + desk_.agent + "; its parent reports its result",
                              columns, show::Face::Dim);
        const auto& agent = entry->second;
        std::vector<show::Line> lines;
        if (const std::string said = entry_text(agent, "/last_brief"); !said.empty()) {
            lines = text_lines(said, columns);
            lines.emplace_back();
        }
        const std::string text =
            fmt::format("{}\n{}\nmodel {}\nworks in {} ({}, {})", id,
                        entry_text(agent, "/scheduling_posture/reason"),
                        entry_text(agent, "/model/effective_model"),
                        entry_text(agent, "/active_workspace_entry/execution_root"),
                        entry_text(agent, "/active_workspace_entry/projection_kind"),
                        entry_text(agent, "/active_workspace_entry/access_mode"));
        std::ranges::move(text_lines(text, columns, show::Face::Dim), std::back_inserter(lines));
        return lines;
    }
    bool on_row_key(const Key& key, const std::string& id) override {
        if (key.name != KeyName::Enter) return false;
        desk_.switch_agent(id);
        return true;
    }

private:
    void show(const std::vector<json::object>& entries) {
        entries_.clear();
        for (const auto& entry : entries) entries_[entry_text(entry, "/identity/agent_id")] = entry;
        set_rows(agent_rows(entries, children_));
    }

    std::vector<json::object> children_;
    std::map<std::string, json::object> entries_;
    const std::string default_agent_;
};

}  // namespace

std::string_view agent_group(const json::object& entry) {
    const std::string status = entry_text(entry, "/status");
    const std::string posture = entry_text(entry, "/scheduling_posture/posture");
    if (!entry_text(entry, "/lifecycle/fault/reason").empty()) return "failed";
    // An agent that has never been spoken to waits for its first prompt, and needs nobody.
    const bool has_reported = !entry_text(entry, "/last_brief_at").empty();
    if (has_reported && (posture == "waiting_for_operator" ||
                         entry_text(entry, "/waiting_reason") == "awaiting_operator_input"))
        return "needs you";
    if (status == "awake_running" || status == "booting" || posture == "active_turn" ||
        posture == "has_queued_input" || posture == "has_runnable_work")
        return "working";
    if (status == "awaiting_task" || posture == "blocked" ||
        (posture.starts_with("waiting_") && posture != "waiting_for_operator"))
        return "waiting";
    return "sleeping";
}

std::vector<Row> agent_rows(const std::vector<json::object>& entries,
                            const std::vector<json::object>& children) {
    std::map<std::string, std::vector<const json::object*>, std::less<>> below;
    std::map<std::string, const json::object*, std::less<>> known;
    for (const auto& entry : entries) known[entry_text(entry, "/identity/agent_id")] = &entry;
    const auto parent_of = [&](const json::object& entry) {
        std::string parent = entry_text(entry, "/identity/parent_agent_id");
        return known.contains(parent) ? parent : std::string();
    };
    for (const auto* list : {&entries, &children})
        for (const auto& entry : *list)
            if (const std::string parent = parent_of(entry); !parent.empty())
                below[parent].push_back(&entry);
    std::vector<Row> rows;
    const auto add = [&](const auto& self, const json::object& entry, std::string_view group,
                         int depth) -> void {
        const std::string id = entry_text(entry, "/identity/agent_id");
        // A child is listed once, and no chain of parents goes round.
        if (std::ranges::find(rows, id, &Row::id) != rows.end()) return;
        rows.push_back(
            {.id = id, .line = row_line(entry), .group = std::string(group), .depth = depth});
        if (const auto found = below.find(id); found != below.end())
            for (const auto* child : found->second) self(self, *child, group, depth + 1);
    };
    // RFC 3339 times sort as text; those that never said anything come last, in their order.
    std::vector<std::pair<std::string, std::size_t>> recent;
    for (std::size_t i = 0; i < entries.size(); ++i)
        recent.emplace_back(entry_text(entries[i], "/last_brief_at"), entries.size() - i);
    std::ranges::sort(recent, std::greater{});
    for (const auto group : kGroups)
        for (const auto& [at, behind] : recent)
            if (const auto& entry = entries[entries.size() - behind];
                parent_of(entry).empty() && agent_group(entry) == group)
                add(add, entry, group, 0);
    return rows;
}

std::shared_ptr<Overlay> agents_overlay(Desk& desk, std::vector<json::object> children) {
    return std::make_shared<AgentsOverlay>(desk, std::move(children));
}

std::shared_ptr<Overlay> agent_picker_overlay(Desk& desk, const std::vector<json::object>& entries,
                                              std::string default_agent) {
    return std::make_shared<AgentsOverlay>(desk, entries, std::move(default_agent));
}

}  // namespace tui
