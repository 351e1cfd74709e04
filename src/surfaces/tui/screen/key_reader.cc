#include "surfaces/tui/screen/key_reader.h"

#include <array>
#include <optional>
#include <utility>

#include <termpaint_input.h>

#include "base/text.h"

namespace tui {
namespace {

// A report that no key makes: the parser takes it as the end of what it holds.
constexpr std::string_view kResync = "\x1b[0n";
// Escape as the kitty protocol sends it, with and without modifiers; the parser does not know it.
constexpr std::string_view kKittyEscape = "\x1b[27";
constexpr std::string_view kPasteEnd = "\x1b[201~";

std::optional<KeyName> name_of(std::string_view atom) {
    static const auto kNames = std::to_array<std::pair<std::string_view, KeyName>>(
        {{termpaint_input_enter(), KeyName::Enter},
         {termpaint_input_numpad_enter(), KeyName::Enter},
         {termpaint_input_tab(), KeyName::Tab},
         {termpaint_input_escape(), KeyName::Escape},
         {termpaint_input_backspace(), KeyName::Backspace},
         {termpaint_input_delete(), KeyName::Delete},
         {termpaint_input_arrow_left(), KeyName::Left},
         {termpaint_input_arrow_right(), KeyName::Right},
         {termpaint_input_arrow_up(), KeyName::Up},
         {termpaint_input_arrow_down(), KeyName::Down},
         {termpaint_input_home(), KeyName::Home},
         {termpaint_input_end(), KeyName::End},
         {termpaint_input_page_up(), KeyName::PageUp},
         {termpaint_input_page_down(), KeyName::PageDown},
         {termpaint_input_focus_in(), KeyName::FocusIn},
         {termpaint_input_focus_out(), KeyName::FocusOut}});
    for (const auto& [name, key] : kNames)
        if (name == atom) return key;
    return std::nullopt;
}

Key with_modifiers(Key key, int modifier) {
    key.ctrl = (modifier & TERMPAINT_MOD_CTRL) != 0;
    key.alt = (modifier & TERMPAINT_MOD_ALT) != 0;
    key.shift = (modifier & TERMPAINT_MOD_SHIFT) != 0;
    return key;
}

}  // namespace

std::string cleaned_paste(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const char c = bytes[i];
        if (c == '\r') {
            text += '\n';
            if (i + 1 < bytes.size() && bytes[i + 1] == '\n') ++i;
        } else if (c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20) {
            if (c != '\x7f') text += c;
        }
    }
    return base::to_utf8(text);
}

struct KeyReader::Sink {
    std::vector<Key> keys;
    std::string paste;
    bool is_pasting{false};

    void add(const termpaint_event& event) {
        switch (event.type) {
            case TERMPAINT_EV_CHAR:
                return add_character({event.c.string, event.c.length}, event.c.modifier);
            case TERMPAINT_EV_KEY:
                return add_key({event.key.atom, event.key.length}, event.key.modifier);
            case TERMPAINT_EV_MISC:
                if (std::string_view(event.misc.atom, event.misc.length) ==
                    termpaint_input_paste_begin())
                    is_pasting = true;
                return add_key({event.misc.atom, event.misc.length}, 0);
            default:
                return;  // Answers of the terminal, the mouse: not asked for.
        }
    }

    void add_character(std::string_view text, int modifier) {
        Key key = with_modifiers({.text = std::string(text)}, modifier);
        keys.push_back(std::move(key));
    }

    void add_key(std::string_view atom, int modifier) {
        if (atom == termpaint_input_space())
            return keys.push_back(with_modifiers({.text = " "}, modifier));
        const auto name = name_of(atom);
        if (!name) return;
        // Ctrl+H is how some terminals send Backspace.
        const bool is_plain = *name == KeyName::Backspace && modifier == TERMPAINT_MOD_CTRL;
        keys.push_back(with_modifiers({.name = *name}, is_plain ? 0 : modifier));
    }

    // Takes bytes of a paste up to its end, which may come in pieces; returns how many.
    std::size_t take_pasted(std::string_view bytes) {
        // What came before may hold the beginning of the end.
        const std::size_t from = paste.size() - std::min(paste.size(), kPasteEnd.size() - 1);
        paste += bytes;
        const std::size_t end = paste.find(kPasteEnd, from);
        if (end == std::string::npos) {
            if (paste.size() > kPasteBytesMax + kPasteEnd.size())
                paste.erase(kPasteBytesMax, paste.size() - kPasteBytesMax - kPasteEnd.size());
            return bytes.size();
        }
        const std::size_t left = paste.size() - end - kPasteEnd.size();
        paste.resize(std::min(end, kPasteBytesMax));
        keys.push_back({.name = KeyName::Paste, .text = cleaned_paste(paste)});
        paste = std::string();
        is_pasting = false;
        return bytes.size() - left;
    }

    bool take_raw(std::string_view bytes) {
        if (!bytes.starts_with(kKittyEscape) || !bytes.ends_with('u')) return false;
        const auto rest = bytes.substr(kKittyEscape.size());
        if (rest != "u" && !rest.starts_with(';')) return false;
        keys.push_back({.name = KeyName::Escape});
        return true;
    }
};

KeyReader::KeyReader() : sink_(std::make_unique<Sink>()), input_(termpaint_input_new()) {
    termpaint_input_set_event_cb(
        input_, [](void* sink, termpaint_event* event) { static_cast<Sink*>(sink)->add(*event); },
        sink_.get());
    termpaint_input_set_raw_filter_cb(
        input_,
        [](void* sink, const char* data, unsigned length, bool overflow) {
            return !overflow && static_cast<Sink*>(sink)->take_raw({data, length});
        },
        sink_.get());
    // What is pasted goes past the parser, which takes microseconds for each byte.
    termpaint_input_handle_paste(input_, false);
}

KeyReader::~KeyReader() {
    termpaint_input_free(input_);
}

std::vector<Key> KeyReader::feed(std::string_view bytes) {
    while (!bytes.empty()) {
        std::size_t taken =
            1;  // Byte by byte, so that nothing behind the begin of a paste is parsed.
        if (sink_->is_pasting)
            taken = sink_->take_pasted(bytes);
        else
            termpaint_input_add_data(input_, bytes.data(), 1);
        bytes.remove_prefix(taken);
    }
    return std::exchange(sink_->keys, {});
}

bool KeyReader::is_waiting() const {
    return termpaint_input_peek_buffer_length(input_) > 0;
}

std::vector<Key> KeyReader::expire() {
    return is_waiting() ? feed(kResync) : std::vector<Key>{};
}

}  // namespace tui
