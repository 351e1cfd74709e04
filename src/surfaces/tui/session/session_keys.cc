// What the operator does at the keyboard.
#include "base/text.h"
#include "surfaces/tui/session/session.h"

namespace tui {
namespace {

constexpr std::size_t kScrollRows = 10;
constexpr std::size_t kClipboardMax = 512 * 1024;  // Terminals refuse more.
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string base64(std::string_view bytes) {
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
        for (std::size_t k = 0; k < 3; ++k)
            group = (group << 8U) | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k)
            out += k <= count ? kBase64[(group >> (18 - 6 * k)) & 0x3FU] : '=';
    }
    return out;
}

bool is_control(const Key& key, char letter) {
    return key.name == KeyName::Character && key.ctrl && key.text.size() == 1 &&
           key.text.front() == letter;
}

}  // namespace

std::string clipboard_bytes(std::string_view text) {
    return fmt::format("\x1b]52;c;{}\x1b\\", base64(text.substr(0, kClipboardMax)));
}

void Session::resize(Size size) {
    size_ = size;
}

void Session::on_key(const Key& key) {
    if (key.name == KeyName::FocusIn || key.name == KeyName::FocusOut) {
        is_focused_ = key.name == KeyName::FocusIn;
        return;
    }
    if (is_control(key, 'c')) return on_interrupt_key();
    if (is_control(key, 'z')) {
        request_ = Request::Suspend;
        return;
    }
    if (is_control(key, 'l')) {
        request_ = Request::Redraw;
        return;
    }
    if (overlay_) {
        const auto overlay = overlay_;  // It may close itself.
        if (!overlay->on_key(key, size_.rows - 4) && key.name == KeyName::Escape) close_overlay();
        return;
    }
    if (is_control(key, 'd') && composer_.is_empty()) {
        request_ = Request::Quit;
        return;
    }
    const Composed composed = composer_.on_key(key);
    if (composed.what != Composed::What::Unused) {
        on_composed(composed);
        return place_expanded();
    }
    if (key.name == KeyName::Escape) return on_escape();
    if (key.name == KeyName::PageUp && !parts_.fullscreen)
        return open(transcript_overlay(desk_, ""));
    if (key.name == KeyName::PageUp) scrolled_ += kScrollRows;
    if (key.name == KeyName::PageDown) scrolled_ -= std::min(scrolled_, kScrollRows);
}

void Session::on_composed(const Composed& composed) {
    switch (composed.what) {
        case Composed::What::Nothing:
        case Composed::What::Unused:
            sends_when_loaded_ = false;  // It is being edited.
            return;
        case Composed::What::Editor:
            request_ = Request::Editor;
            return;
        case Composed::What::Send:
            if (parts_.clock.now() - expanded_at_ < kReadFirst)
                return note("Read the text of the MCP server first; then press Enter again");
            return send(composed.text);
        case Composed::What::Command:
            return run_command(composed.text);
    }
}

void Session::on_escape() {
    const base::Time now = parts_.clock.now();
    if (!conversation_.is_in_turn()) return;
    if (now - escaped_at_ < kTwiceWithin) {
        escaped_at_ = {};
        return interrupt();
    }
    escaped_at_ = now;
    note("Press Esc again to interrupt the turn");
}

void Session::on_interrupt_key() {
    const base::Time now = parts_.clock.now();
    if (!composer_.is_empty() && !overlay_) {
        composer_.set_draft("");
        interrupted_at_ = {};
        return place_expanded();
    }
    if (now - interrupted_at_ < kTwiceWithin) {
        request_ = Request::Quit;
        return;
    }
    interrupted_at_ = now;
    note("Press Ctrl-C again to leave the console; agents continue");
}

// Aborting leaves the agent stopped; the operator only wants this turn to end.
void Session::interrupt() {
    note("Interrupting the turn");
    writes_.run(
        shared_from_this(),
        [this, agent = view_.agent_id]() -> base::Status {
            TRY(parts_.service.abort_run(agent, std::nullopt, desk_.caller));
            return parts_.service.set_lifecycle(agent, service::LifecycleAction::Start,
                                                desk_.caller);
        },
        [this](const base::Status& done) {
            note(done ? "The turn was interrupted; the agent is ready" : done.error().message);
        });
}

void Session::send(const std::string& text) {
    if (!connection_.is_loaded) {
        sends_when_loaded_ = true;
        note(connection_.reason.empty()
                 ? "Sends it when the agent is loaded"
                 : "Sends it when the runtime is back: " + connection_.reason);
        return;
    }
    const std::int64_t id = ++sent_;
    conversation_.sending(id, text);
    composer_.taken();
    scrolled_ = 0;
    const std::int64_t generation = generation_;
    writes_.run(
        shared_from_this(),
        [this, agent = view_.agent_id, text] {
            return parts_.service.prompt(agent, text, desk_.caller);
        },
        [this, id, generation, text](const base::Result<std::string>& sent) {
            if (sent) {
                if (generation == generation_) conversation_.sent(id, *sent);
                return;
            }
            note("Not sent: " + sent.error().message);
            if (generation != generation_) return;
            conversation_.failed(id);
            if (composer_.is_empty()) composer_.set_draft(text);
        });
}

void Session::note(std::string text) {
    note_ = std::move(text);
    note_at_ = parts_.clock.now();
}

void Session::open(std::shared_ptr<Overlay> overlay) {
    overlay_ = std::move(overlay);
    overlay_ticked_at_ = parts_.clock.now();
    note_.clear();
    overlay_->load();
}

void Session::close_overlay() {
    overlay_.reset();
}

void Session::switch_agent(const std::string& agent) {
    close_overlay();
    if (connection_.is_loaded) {
        if (agent == view_.agent_id) return;
        kept_.drafts[view_.agent_id] = composer_.text();
        composer_.set_draft("");
    }
    add_blocks({{.kind = BlockKind::Note,
                 .at = parts_.clock.now(),
                 .text = "agent " + base::printable(agent)}});
    follower_.reset();
    load(agent);
}

}  // namespace tui
