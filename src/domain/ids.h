#pragma once

#include "base/ids.h"

namespace domain {

using base::Time;

using AgentId = base::Id<struct AgentTag>;
using MessageId = base::Id<struct MessageTag>;
using RunId = base::Id<struct RunTag>;  // One attempt at a turn, or one run of a plan.
using ToolCallId = base::Id<struct ToolCallTag>;
using TaskId = base::Id<struct TaskTag>;
using TimerId = base::Id<struct TimerTag>;
using WaitId = base::Id<struct WaitTag>;
using BriefId = base::Id<struct BriefTag>;
using WorkItemId = base::Id<struct WorkItemTag>;
using EventId = base::Id<struct EventTag>;
using ExternalTriggerId = base::Id<struct ExternalTriggerTag>;
using WebhookId = base::Id<struct WebhookTag>;

}  // namespace domain
