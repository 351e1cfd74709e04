// The table of event kinds: what each is called, who should see it, and what its payload looks
// like.
//
// Every kind that this build writes is here, with a few that it only reads. A stored event may be
// of a kind that is not: another version wrote it, and readers show it by its name and members.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/typed.h"

namespace domain::events {

// From what an operator has to act on to what only diagnosis needs; levels 1 to 5.
enum class Visibility { ActionRequired, WorkDone, TurnResult, Progress, Trace };
BOOST_DESCRIBE_ENUM(Visibility, ActionRequired, WorkDone, TurnResult, Progress, Trace)

enum class Category {
    OperatorNotification,
    Brief,
    Message,
    WorkItem,
    Task,
    Waiting,
    Workspace,
    Runtime,
    AssistantProgress,
    Tool,
    StateSync,
    Trace,
};
BOOST_DESCRIBE_ENUM(Category, OperatorNotification, Brief, Message, WorkItem, Task, Waiting,
                    Workspace, Runtime, AssistantProgress, Tool, StateSync, Trace)

// What the main conversation shows: results; activity, too; or execution in detail. The raw record
// is no mode: it is what the events themselves are for.
enum class DisplayMode { Info, Verbose, Debug };
BOOST_DESCRIBE_ENUM(DisplayMode, Info, Verbose, Debug)

struct Kind {
    std::string_view name;  // As stored and served.
    Category category{Category::Trace};
    // The first mode that has a row for it whatever its visibility; empty: visibility alone
    // decides.
    std::optional<DisplayMode> shown_from{};
    // Of an event whose payload does not say otherwise.
    Visibility visibility{Visibility::Trace};
    // The JSON Schema of the payload as this build writes it.
    json::object (*schema)(){nullptr};
    // The payload as this build writes it after it has read `data`. Fails when a member is missing
    // or of another type, and names each.
    base::Result<json::object> (*rewrite)(const json::value& data){nullptr};
};

// All kinds, sorted by name. The table lives as long as the program; any thread may read it.
std::span<const Kind> kinds();

// The kind of that name, or null when this build does not know it.
const Kind* find_kind(std::string_view name);

// The category of a kind. One that is not in the table belongs with its family when its name says
// so (`workspace_`, `worktree_`, `turn_local_`), otherwise to Trace.
Category category_of(std::string_view kind);

}  // namespace domain::events
