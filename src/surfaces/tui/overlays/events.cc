// The raw events of the agent, newest first: what display modes leave out is here.
#include <map>

#include "base/text.h"
#include "service/views/presentation.h"
#include "surfaces/show/times.h"
#include "surfaces/tui/overlays/list.h"
#include "surfaces/tui/overlays/transcript_text.h"
#include "surfaces/tui/screen/cells.h"

namespace tui {
namespace {

constexpr std::int64_t kEventsShown = 200;

class EventsOverlay final : public ListOverlay {
public:
    explicit EventsOverlay(Desk& desk) : ListOverlay(desk, "Events") {}

    std::string hint() const override { return "↑↓ choose · o older · n newest · y copies"; }

    void load() override { read(std::nullopt); }
    void on_change() override {
        if (!is_older_) load();
    }

protected:
    std::vector<show::Line> detail(const std::string& id, std::size_t columns) override {
        const auto event = events_.find(id);
        if (event == events_.end()) return {};
        return text_lines(text_of(event->second), columns);
    }
    bool on_row_key(const Key& key, const std::string& id) override {
        if (is_letter(key, "o") && !events_.empty()) {
            std::int64_t oldest = 0;
            for (const auto& [name, event] : events_)
                oldest = oldest == 0 ? event.event_seq : std::min(oldest, event.event_seq);
            read(oldest);
            return true;
        }
        if (is_letter(key, "n")) {
            load();
            return true;
        }
        if (is_letter(key, "y")) {
            desk_.copy(text_of(events_[id]));
            return true;
        }
        return false;
    }

private:
    static std::string text_of(const domain::Event& event) {
        return fmt::format("{} {}\n{}\n{}", event.event_seq, event.kind,
                           show::local_time(event.created_at), base::pretty_json(event.data));
    }

    void read(std::optional<std::int64_t> before) {
        call(
            [this, agent = desk_.agent, before] {
                return desk_.service.event_page(agent,
                                                {.before_seq = before, .limit = kEventsShown});
            },
            [this, before](const base::Result<std::vector<domain::Event>>& page) {
                const auto* events = good(page);
                if (!events) return;
                if (before && events->empty()) return desk_.note("There are no older events");
                is_older_ = before.has_value();
                show(*events);
            });
    }

    void show(const std::vector<domain::Event>& events) {
        events_.clear();
        std::vector<Row> rows;
        for (const auto& event : events) {
            const std::string id = event.id.value;
            show::Line line = dim(show::local_clock(event.created_at).substr(0, 8) + " ");
            append(line, faced(base::printable(event.kind) + " ", show::Face::Accent));
            append(line, plain(views::present(event).summary));
            rows.push_back({.id = id, .line = line});
            events_.emplace(id, event);
        }
        set_rows(std::move(rows));
    }

    std::map<std::string, domain::Event> events_;
    bool is_older_{false};
};

}  // namespace

std::shared_ptr<Overlay> events_overlay(Desk& desk) {
    return std::make_shared<EventsOverlay>(desk);
}

}  // namespace tui
