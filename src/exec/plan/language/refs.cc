#include "exec/plan/language/refs.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.h"
#include "base/typed.h"

namespace plan {
namespace {

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

// The word at `at`, which moves behind it; empty when there is none.
std::string take_word(std::string_view text, std::size_t& at) {
    const std::size_t start = at;
    while (at < text.size() && is_word(text[at])) ++at;
    return std::string(text.substr(start, at - start));
}

// ".name" and "[3]", as often as they come. A dot that no word follows is not part of it.
std::vector<std::string> take_path(std::string_view text, std::size_t& at) {
    std::vector<std::string> path;
    while (at < text.size()) {
        std::size_t next = at;
        if (text[at] == '.') {
            std::string word = take_word(text, ++next);
            if (word.empty()) break;
            path.push_back(std::move(word));
        } else if (text[at] == '[') {
            const std::size_t start = ++next;
            while (next < text.size() && std::isdigit(static_cast<unsigned char>(text[next])) != 0)
                ++next;
            if (next == start || next >= text.size() || text[next] != ']') break;
            path.emplace_back(text.substr(start, next - start));
            ++next;
        } else {
            break;
        }
        at = next;
    }
    return path;
}

// "$steps.a.b" or "$vars.a.b" at `at`.
std::optional<Ref> take_dollar(std::string_view text, std::size_t& at) {
    const std::string_view rest = text.substr(at);
    Ref ref;
    std::size_t end = at;
    if (rest.starts_with("$steps.")) {
        end += 7;
    } else if (rest.starts_with("$vars.")) {
        ref.source = RefSource::Var;
        end += 6;
    } else {
        return std::nullopt;
    }
    ref.name = take_word(text, end);
    if (ref.name.empty()) return std::nullopt;
    ref.path = take_path(text, end);
    ref.text = text.substr(at, end - at);
    at = end;
    return ref;
}

// "{item.a}", "{index}" or "{$steps.a}" at `at`.
std::optional<Ref> take_braces(std::string_view text, std::size_t& at, const LoopNames& names) {
    std::size_t end = at + 1;
    std::optional<Ref> ref;
    if (end < text.size() && text[end] == '$') {
        ref = take_dollar(text, end);
    } else {
        const std::string word = take_word(text, end);
        if (word.empty()) return std::nullopt;
        if (word == names.item) {
            ref = Ref{.source = RefSource::Item, .name = word};
            ref->path = take_path(text, end);
        } else if (word == names.index) {
            ref = Ref{.source = RefSource::Index, .name = word};
        }
    }
    if (!ref || end >= text.size() || text[end] != '}') return std::nullopt;
    ref->text = text.substr(at, end + 1 - at);
    at = end + 1;
    return ref;
}

const json::value* step_into(const json::value& value, const std::string& name) {
    if (const auto* object = value.if_object()) return object->if_contains(name);
    const auto* array = value.if_array();
    std::size_t index = 0;
    const char* end = name.data() + name.size();
    if (!array || std::from_chars(name.data(), end, index).ptr != end || index >= array->size())
        return nullptr;
    return &(*array)[index];
}

std::expected<json::value, std::string> look_up(const Ref& ref, const Scope& scope) {
    if (ref.source == RefSource::Index) return json::value(scope.index);
    const json::value* value = ref.source == RefSource::Step  ? scope.step(ref.name)
                               : ref.source == RefSource::Var ? scope.var(ref.name)
                                                              : scope.item;
    if (!value) return std::unexpected(fmt::format("{} has no value", ref.text));
    std::string walked = ref.name;
    for (const auto& name : ref.path) {
        const auto* next = step_into(*value, name);
        if (!next)
            return std::unexpected(
                fmt::format("{} has no value: there is no '{}' in {}", ref.text, name, walked));
        value = next;
        walked += "." + name;
    }
    return *value;
}

std::string as_text(const json::value& value) {
    return value.is_string() ? std::string(std::string_view(value.get_string()))
                             : base::json_text(value);
}

std::expected<json::value, Unresolved> resolve_text(std::string_view text, const Scope& scope,
                                                    const std::string& pointer) {
    const auto segments = parse_template(text, scope.names);
    if (segments.empty()) return json::value(json::string());
    std::string out;
    for (const auto& segment : segments) {
        if (!segment.ref) {
            out += segment.literal;
            continue;
        }
        auto value = look_up(*segment.ref, scope);
        if (!value) return std::unexpected(Unresolved{pointer, std::move(value).error()});
        if (segments.size() == 1) return std::move(*value);
        out += as_text(*value);
    }
    return json::value(json::string(out));
}

}  // namespace

std::vector<Segment> parse_template(std::string_view text, const LoopNames& names) {
    std::vector<Segment> segments;
    const auto add_literal = [&](std::string_view piece) {
        if (segments.empty() || segments.back().ref) segments.emplace_back();
        segments.back().literal += piece;
    };
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t sign = text.find_first_of("${", at);
        if (sign != at) add_literal(text.substr(at, std::min(sign, text.size()) - at));
        if (sign == std::string_view::npos) break;
        at = sign;
        const std::string_view rest = text.substr(at);
        if (rest.starts_with("$$steps.") || rest.starts_with("$$vars.")) {
            add_literal("$");
            at += 2;
        } else if (std::size_t inner = at + 1;
                   rest.starts_with("{{") && take_braces(text, inner, names)) {
            // "{{item}}" stands for "{item}".
            add_literal(text.substr(at + 1, inner - at - 1));
            at = inner + (inner < text.size() && text[inner] == '}' ? 1 : 0);
        } else if (auto ref =
                       text[at] == '$' ? take_dollar(text, at) : take_braces(text, at, names)) {
            segments.push_back({.ref = std::move(ref)});
        } else {
            add_literal(text.substr(at, 1));
            ++at;
        }
    }
    return segments;
}

std::optional<Ref> exact_ref(std::string_view text, const LoopNames& names) {
    auto segments = parse_template(text, names);
    if (segments.size() != 1) return std::nullopt;
    return std::move(segments[0].ref);
}

std::vector<FoundRef> find_refs(const json::value& value, const LoopNames& names,
                                const std::string& pointer) {
    std::vector<FoundRef> found;
    const auto add = [&](std::vector<FoundRef> more) {
        std::ranges::move(more, std::back_inserter(found));
    };
    if (value.is_string()) {
        for (auto& segment : parse_template(value.get_string(), names))
            if (segment.ref) found.push_back({pointer, std::move(*segment.ref)});
    } else if (const auto* array = value.if_array()) {
        for (std::size_t i = 0; i < array->size(); ++i)
            add(find_refs((*array)[i], names, pointer + "/" + std::to_string(i)));
    } else if (const auto* object = value.if_object()) {
        for (const auto& member : *object)
            add(find_refs(member.value(), names,
                          base::typed::child_pointer(pointer, member.key())));
    }
    return found;
}

std::expected<json::value, Unresolved> resolve(const json::value& value, const Scope& scope,
                                               const std::string& pointer) {
    if (value.is_string()) return resolve_text(value.get_string(), scope, pointer);
    if (const auto* array = value.if_array()) {
        json::array out;
        out.reserve(array->size());
        for (std::size_t i = 0; i < array->size(); ++i)
            out.push_back(TRY(resolve((*array)[i], scope, pointer + "/" + std::to_string(i))));
        return out;
    }
    if (const auto* object = value.if_object()) {
        json::object out;
        out.reserve(object->size());
        for (const auto& member : *object)
            out.emplace(member.key(),
                        TRY(resolve(member.value(), scope,
                                    base::typed::child_pointer(pointer, member.key()))));
        return out;
    }
    return value;
}

}  // namespace plan
