// References and templates in a step's args.
//
//     "$steps.read.items"         what step `read` gave, or a part of it
//     "$vars.notes[0].title"      a captured output, or run, context, params
//     "{item.title}", "{index}"   the item of the step's own loop, under its own names
//     "{$steps.read.name}.md"     the same in braces, where text follows at once
//     "$$steps", "{{item}}"       the signs themselves
//
// A value that is one reference and nothing else keeps its type; in longer text it becomes text.
// Braces around anything else are just braces. Resolving has no side effects.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"

namespace plan {

enum class RefSource { Step, Var, Item, Index };

struct Ref {
    RefSource source{RefSource::Step};
    std::string name{};               // Of the step or variable.
    std::vector<std::string> path{};  // Members and places below it.
    std::string text{};               // As it was written.
    friend bool operator==(const Ref&, const Ref&) = default;
};

// The names that a loop gives its item and index; empty outside a loop.
struct LoopNames {
    std::string item{};
    std::string index{};
};

struct Segment {
    std::string literal{};
    std::optional<Ref> ref{};  // When there is one, `literal` is empty.
    friend bool operator==(const Segment&, const Segment&) = default;
};

// The pieces of a text. Neighbouring literals are one piece.
std::vector<Segment> parse_template(std::string_view text, const LoopNames& names);

// The reference that `text` is, when it is nothing but one.
std::optional<Ref> exact_ref(std::string_view text, const LoopNames& names);

struct FoundRef {
    std::string pointer;
    Ref ref;
};
std::vector<FoundRef> find_refs(const json::value& value, const LoopNames& names,
                                const std::string& pointer);

// Where references find their values. A null answer says that there is none.
struct Scope {
    std::function<const json::value*(const std::string&)> step;
    std::function<const json::value*(const std::string&)> var;
    LoopNames names{};
    const json::value* item{nullptr};
    std::int64_t index{0};
};

// What could not be resolved, in a sentence.
struct Unresolved {
    std::string pointer;
    std::string message;
    std::string kind{"unresolved_reference"};  // Of the error it becomes.
};

std::expected<json::value, Unresolved> resolve(const json::value& value, const Scope& scope,
                                               const std::string& pointer = "");

}  // namespace plan
