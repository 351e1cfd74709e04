// The six tools by which an agent keeps its work items, and the one by which it reaches its
// operator.
//
// They decide on a snapshot of the store and return the change as a mutation, which is committed
// with the result. Only CreateWorkItem touches a file: it writes the plan it was given, under an id
// that follows from the call, so that a call that a crash cut off can be made again.
#pragma once

#include <memory>

#include "base/os/loop.h"
#include "base/time.h"
#include "exec/tools/registry.h"
#include "exec/tools/tool.h"
#include "store/store.h"

namespace work_tools {

// Both outlive the tools.
struct Parts {
    store::Store& store;
    base::Loop& loop;
    base::Clock& clock;
};

// Adds CreateWorkItem, PickWorkItem, GetWorkItem, ListWorkItems, UpdateWorkItem and
// CompleteWorkItem, in this order.
void add_all(tools::Registry& registry, Parts parts);

// NotifyOperator: the operator receives a message now, by every channel that is set.
inline constexpr std::size_t kNotificationCharsMax = 8'000;
inline constexpr std::int64_t kNotificationsPerHourMax = 30;
std::unique_ptr<tools::Tool> notify_operator(Parts parts);

std::unique_ptr<tools::Tool> create_work_item(Parts parts);
std::unique_ptr<tools::Tool> pick_work_item(Parts parts);
std::unique_ptr<tools::Tool> get_work_item(Parts parts);
std::unique_ptr<tools::Tool> list_work_items(Parts parts);
std::unique_ptr<tools::Tool> update_work_item(Parts parts);
std::unique_ptr<tools::Tool> complete_work_item(Parts parts);

}  // namespace work_tools
