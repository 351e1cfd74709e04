// Overlays that are one long text: help, state, transcript, prompt, skills.
#include <algorithm>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/words.h"
#include "surfaces/tui/compose/commands.h"
#include "surfaces/tui/overlays/overlay.h"
#include "surfaces/tui/overlays/transcript_text.h"
#include "surfaces/tui/screen/cells.h"
#include "surfaces/tui/widgets/pager.h"

namespace tui {
namespace {

constexpr std::int64_t kTranscriptEntries = 500;
constexpr std::string_view kPagerHint = "↑↓ PgUp PgDn Home End · / searches · y copies";

using Lines = std::vector<show::Line>;

// A text that is laid out for the width it is shown at.
class TextOverlay : public Overlay {
public:
    TextOverlay(Desk& desk, std::string title) : Overlay(desk), title_(std::move(title)) {}

    std::string title() const override { return title_; }
    std::string hint() const override { return std::string(kPagerHint); }

    Lines view(std::size_t columns, std::size_t rows) override {
        if (columns != columns_ || is_changed_) {
            columns_ = columns;
            is_changed_ = false;
            pager_.set_lines(make_ ? make_(columns) : Lines{dim("loading")});
        }
        return pager_.view(columns, rows);
    }

    bool on_key(const Key& key, std::size_t rows) override {
        const bool is_used = pager_.on_key(key, rows);
        if (const auto copied = pager_.take_copied()) desk_.copy(*copied);
        return is_used;
    }

protected:
    using Make = std::function<Lines(std::size_t columns)>;
    void set(Make make) {
        make_ = std::move(make);
        is_changed_ = true;
    }
    void set_text(std::string text) {
        set([text = std::move(text)](std::size_t columns) { return text_lines(text, columns); });
    }
    Pager& pager() { return pager_; }

private:
    std::string title_;
    Make make_;
    Pager pager_;
    std::size_t columns_{0};
    bool is_changed_{true};
};

// A text that one call brings.
template <class Read, class Show>
class ReadOverlay final : public TextOverlay {
public:
    ReadOverlay(Desk& desk, std::string title, Read read, Show show)
        : TextOverlay(desk, std::move(title)), read_(std::move(read)), show_(std::move(show)) {}

    void load() override {
        call([read = read_] { return read(); },
             [this](auto result) {
                 if (!result) return set_text(result.error().message);
                 set([value = std::move(*result), show = show_](std::size_t columns) {
                     return show(value, columns);
                 });
             });
    }

private:
    Read read_;
    Show show_;
};

template <class Read, class Show>
std::shared_ptr<Overlay> read_overlay(Desk& desk, std::string title, Read read, Show show) {
    return std::make_shared<ReadOverlay<Read, Show>>(desk, std::move(title), std::move(read),
                                                     std::move(show));
}

Lines help_lines(std::size_t columns) {
    struct Entry {
        std::string_view keys;
        std::string_view what;
    };
    constexpr auto kKeys = std::to_array<Entry>(
        {{"Enter", "send; while the agent works, the message joins its turn"},
         {"Shift+Enter, Alt+Enter, Ctrl+J", "a new line"},
         {"Up, Down", "earlier messages; Ctrl+R searches them"},
         {"Tab", "complete a command or an @file"},
         {"Ctrl+G", "edit the draft in $EDITOR"},
         {"Esc", "close what is open; twice: clear the draft, or interrupt the turn"},
         {"Ctrl+C", "clear the draft; twice: leave the console"},
         {"Ctrl+D", "leave the console when the draft is empty"},
         {"PgUp", "the transcript"},
         {"Ctrl+L, Ctrl+Z", "draw again; suspend"}});
    Lines lines;
    const auto add = [&](std::string_view left, std::string_view right) {
        constexpr std::size_t kLeft = 32;
        if (columns < kLeft + 20) {
            lines.push_back(faced(std::string(left), show::Face::Accent));
            std::ranges::move(text_lines(right, columns, show::Face::Plain, 2),
                              std::back_inserter(lines));
            return;
        }
        auto parts = text_lines(right, columns - kLeft);
        const bool is_long = show::columns_of(left) >= kLeft;
        if (is_long) lines.push_back(faced(std::string(left), show::Face::Accent));
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const bool has_left = i == 0 && !is_long;
            show::Line line =
                faced(show::padded(std::string(has_left ? left : ""), kLeft), show::Face::Accent);
            append(line, parts[i]);
            lines.push_back(std::move(line));
        }
    };
    lines.push_back(faced("Keys", show::Face::Heading));
    for (const auto& [keys, what] : kKeys) add(keys, what);
    lines.emplace_back();
    lines.push_back(faced("Commands", show::Face::Heading));
    for (const auto& command : commands())
        add(fmt::format("{} {}", command.word, command.usage), command.help);
    lines.emplace_back();
    for (auto& line : text_lines("Leaving the console stops nothing: agents, tasks and timers are "
                                 "the daemon's. //x sends /x as a message.",
                                 columns, show::Face::Dim))
        lines.push_back(std::move(line));
    return lines;
}

class HelpOverlay final : public TextOverlay {
public:
    explicit HelpOverlay(Desk& desk) : TextOverlay(desk, "Help") { set(help_lines); }
};

class TranscriptOverlay final : public TextOverlay {
public:
    TranscriptOverlay(Desk& desk, std::string search)
        : TextOverlay(desk, "Transcript"), search_(std::move(search)) {
        pager().follow_end(true);
    }

    void load() override {
        call(
            [this, agent = desk_.agent] {
                return desk_.service.transcript(agent, {.limit = kTranscriptEntries});
            },
            [this](base::Result<service::Listed<domain::TranscriptEntry>> part) {
                const auto* loaded = good(part);
                if (!loaded) return;
                set([entries = loaded->items](std::size_t columns) {
                    Lines lines;
                    for (const auto& entry : entries)
                        std::ranges::move(transcript_lines(entry, columns),
                                          std::back_inserter(lines));
                    if (lines.empty()) lines.push_back(dim("There is no conversation yet."));
                    return lines;
                });
                is_searched_ = false;
            });
    }

    Lines view(std::size_t columns, std::size_t rows) override {
        auto lines = TextOverlay::view(columns, rows);
        if (is_searched_ || search_.empty()) return lines;
        is_searched_ = true;
        TextOverlay::on_key({.text = "/"}, rows);
        TextOverlay::on_key({.name = KeyName::Paste, .text = search_}, rows);
        TextOverlay::on_key({.name = KeyName::Enter}, rows);
        return TextOverlay::view(columns, rows);
    }

    // A turn under way adds to it.
    void on_change() override { load(); }

private:
    std::string search_;
    bool is_searched_{true};
};

Lines json_lines(const json::object& value, std::size_t columns) {
    return text_lines(base::pretty_json(value), columns);
}

Lines skills_lines(const std::vector<json::object>& skills, std::size_t columns) {
    Lines lines;
    for (const auto& skill : skills) {
        lines.push_back(faced(show::pointer_text(skill, "/name"), show::Face::Accent));
        if (const std::string text = show::pointer_text(skill, "/description"); text != "-")
            std::ranges::move(text_lines(text, columns, show::Face::Plain, 2),
                              std::back_inserter(lines));
    }
    if (lines.empty())
        lines.push_back(dim("The agent has no skills of its own; /skill-install <name> adds one."));
    return lines;
}

}  // namespace

std::shared_ptr<Overlay> help_overlay(Desk& desk) {
    return std::make_shared<HelpOverlay>(desk);
}

std::shared_ptr<Overlay> transcript_overlay(Desk& desk, const std::string& search) {
    return std::make_shared<TranscriptOverlay>(desk, search);
}

std::shared_ptr<Overlay> state_overlay(Desk& desk) {
    return read_overlay(
        desk, "State", [&desk, agent = desk.agent] { return desk.service.state(agent); },
        json_lines);
}

std::shared_ptr<Overlay> prompt_overlay(Desk& desk, const std::string& text) {
    return read_overlay(
        desk, "Prompt",
        [&desk, agent = desk.agent, text] {
            return desk.service.debug_prompt(agent, text, domain::TrustLevel::TrustedOperator);
        },
        [](const std::string& prompt, std::size_t columns) { return text_lines(prompt, columns); });
}

std::shared_ptr<Overlay> skills_overlay(Desk& desk) {
    return read_overlay(
        desk, "Skills", [&desk, agent = desk.agent] { return desk.service.skills(agent); },
        skills_lines);
}

}  // namespace tui
