#include "base/scan/secrets.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <functional>
#include <mutex>
#include <optional>
#include <set>

#include "base/result.h"
#include "base/scan/finder.h"
#include "base/scan/hidden.h"

namespace scan {
namespace {

constexpr std::size_t kWordCharsMax = 11;
constexpr std::size_t kHeldBytesMax = 4096;

struct State {
    std::mutex mutex;
    std::set<std::string> credentials;
    std::shared_ptr<const Finder> known;       // Built at first use; null when stale.
    std::mutex suspects_mutex;                 // Of the next alone: it is held for long once.
    std::shared_ptr<const Redactor> suspects;  // Built at first use.
    std::atomic<bool> has_credentials{false};
    std::atomic<bool> wants_suspects{false};
    std::atomic<std::uint64_t> version{1};
};

// Never destroyed, so that a thread that outlives main can still log.
State& state() {
    static auto* const the_state = new State;
    return *the_state;
}

std::shared_ptr<const Finder> known() {
    State& now = state();
    if (!now.has_credentials) return nullptr;
    const std::scoped_lock lock(now.mutex);
    if (now.known || now.credentials.empty()) return now.known;
    std::vector<Spelling> all;
    for (const auto& credential : now.credentials)
        std::ranges::move(spellings(credential), std::back_inserter(all));
    return now.known = std::make_shared<const Finder>(std::move(all));
}

std::shared_ptr<const Redactor> suspects() {
    State& now = state();
    if (!now.wants_suspects) return nullptr;
    const std::scoped_lock lock(now.suspects_mutex);
    if (!now.suspects) {
        auto made = Redactor::make({}, Suspects::Redact);
        CHECK(made.has_value(), "the engines refuse the rules for secrets");
        now.suspects = std::make_shared<const Redactor>(std::move(*made));
    }
    return now.suspects;
}

bool is_letter(unsigned char c) {
    return std::isalpha(c) != 0;
}

bool protects_nothing(std::string_view credential) {
    const bool is_word =
        credential.size() <= kWordCharsMax && std::ranges::all_of(credential, is_letter);
    return is_word || credential.size() < kKnownBytesMin;
}

// How many bytes at the cut belong to a credential that continues on its other side.
std::size_t part_at(std::string_view text, Cut cut, const std::vector<Spelling>& spellings) {
    std::size_t longest = 0;
    for (const auto& [spelled, any_case] : spellings) {
        const std::string_view whole = spelled;
        for (std::size_t size = std::min(whole.size() - 1, text.size());
             size >= kPartBytesMin && size > longest; --size) {
            const bool found =
                cut == Cut::AtEnd
                    ? begins_with(text.substr(text.size() - size), whole.substr(0, size), any_case)
                    : begins_with(text, whole.substr(whole.size() - size), any_case);
            if (found) longest = size;
        }
    }
    return longest;
}

// `change` gives the text to put in the place of another, or nothing when that stays.
using Change = std::function<std::optional<std::string>(std::string_view)>;

// Names are text of the same sender. Rebuilt only if one has to be changed; then two of them may
// become one.
void change_names(json::object& object, const Change& change) {
    const auto is_changed = [&](const auto& member) { return change(member.key()).has_value(); };
    if (std::ranges::none_of(object, is_changed)) return;
    json::object changed(object.storage());
    for (auto& member : object)
        changed.insert_or_assign(change(member.key()).value_or(member.key()),
                                 std::move(member.value()));
    object = std::move(changed);
}

void change_texts(json::value& value, const Change& change) {
    if (auto* object = value.if_object()) {
        for (auto& member : *object) change_texts(member.value(), change);
        change_names(*object, change);
    } else if (auto* array = value.if_array()) {
        for (auto& item : *array) change_texts(item, change);
    } else if (auto* text = value.if_string()) {
        if (const auto changed = change(*text)) *text = *changed;
    }
}

// No credential continues after it.
bool ends_word(unsigned char c) {
    return std::isspace(c) != 0 || c >= 0x80;
}

}  // namespace

void know(const std::vector<std::string>& credentials) {
    State& now = state();
    const std::scoped_lock lock(now.mutex);
    for (const auto& credential : credentials)
        if (!protects_nothing(credential) && now.credentials.insert(credential).second) {
            now.known = nullptr;
            ++now.version;
        }
    now.has_credentials = !now.credentials.empty();
}

void set_suspects(Suspects suspects) {
    const bool wanted = suspects == Suspects::Redact;
    if (state().wants_suspects.exchange(wanted) != wanted) ++state().version;
}

void know_nothing() {
    State& now = state();
    const std::scoped_lock lock(now.mutex);
    now.credentials.clear();
    now.known = nullptr;
    now.has_credentials = false;
    now.wants_suspects = false;
    ++now.version;
}

bool is_guarding() {
    return state().has_credentials || state().wants_suspects;
}

std::uint64_t version() {
    return state().version;
}

std::string without_credentials(std::string text) {
    const auto known = scan::known();
    if (!known) return text;
    return without_hidden(known->replaced(std::move(text), kCredentialMark), *known,
                          kCredentialMark);
}

std::string without_secrets(std::string text) {
    text = without_credentials(std::move(text));
    const auto suspects = scan::suspects();
    return suspects ? suspects->redact(text) : text;
}

std::string without_secrets(std::string text, Cut cut) {
    if (const auto known = scan::known()) {
        const std::size_t part = part_at(text, cut, known->spellings());
        if (part > 0 && cut == Cut::AtEnd)
            text.replace(text.size() - part, part, kCredentialMark);
        else if (part > 0)
            text.replace(0, part, kCredentialMark);
    }
    return without_secrets(std::move(text));
}

void remove_secrets(json::value& value) {
    if (!is_guarding()) return;
    change_texts(value, [](std::string_view text) -> std::optional<std::string> {
        auto clean = without_secrets(std::string(text));
        if (clean == text) return std::nullopt;
        return clean;
    });
}

void remove_credentials(json::value& value) {
    if (!state().has_credentials) return;
    change_texts(value, [](std::string_view text) -> std::optional<std::string> {
        auto clean = without_credentials(std::string(text));
        if (clean == text) return std::nullopt;
        return clean;
    });
}

void remove_spelled_credentials(json::value& value) {
    const auto known = scan::known();
    if (!known) return;
    change_texts(value, [&](std::string_view text) -> std::optional<std::string> {
        if (!known->finds(text)) return std::nullopt;
        return known->replaced(std::string(text), kCredentialMark);
    });
}

std::string LiveText::feed(std::string_view piece) {
    held_ += piece;
    if (!state().has_credentials) return std::exchange(held_, {});
    const auto end = std::ranges::find_if(held_.rbegin(), held_.rend(), ends_word);
    std::size_t safe = static_cast<std::size_t>(held_.rend() - end);
    if (held_.size() - safe > kHeldBytesMax) safe = held_.size();
    std::string ready = held_.substr(0, safe);
    held_.erase(0, safe);
    return without_credentials(std::move(ready));
}

std::string LiveText::finish() {
    return without_credentials(std::exchange(held_, {}));
}

}  // namespace scan
