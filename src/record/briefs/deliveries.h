// What is to reach the operator by a channel outside of the program, in the transaction that
// decides it. flow/notify sends it.
#pragma once

#include <string>
#include <string_view>

#include "domain/operators/notifications.h"
#include "domain/record.h"
#include "record/events/events.h"

namespace briefs {

// The settings that name the channels of the configuration.
inline constexpr std::string_view kCommandSetting = "notify.command";
inline constexpr std::string_view kWebhookSetting = "notify.webhook";
// A longer text is cut in what is delivered; the brief itself is kept whole.
inline constexpr std::size_t kDeliveredTextChars = 16'000;

// Stores a delivery that is due at once, and appends operator_delivery_submitted. The id is the
// caller's; `body` is what is sent, byte for byte, in every attempt.
base::Status submit(events::Log& log, domain::OperatorDelivery delivery, const std::string& body);

// The brief as its receiver reads it: the members of the record and `delivery_id`; also
// `text_truncated`, true, when the text was cut.
std::string delivered_brief(const domain::Brief& brief, const std::string& delivery_id);

}  // namespace briefs
