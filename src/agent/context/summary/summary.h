// The last stage of a compaction, only where it is configured: a summary that the model itself
// writes of the conversation before its oldest part is covered. Pure.
//
// The summary has a fixed form, is checked against the records, and is shown as evidence. It stands
// next to the operator's words, the changed files, the failures and the decisions of the digest,
// and in place of the digest's other lines. One that does not pass is left out: the digest remains.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agent/context/compaction.h"

namespace context {

// What one summary and one entry of it may hold.
inline constexpr std::size_t kSummaryBytesMax = 16 * 1024;
inline constexpr std::size_t kSummaryEntriesMax = 40;
inline constexpr std::size_t kSummaryEntryChars = 300;

// The one message that is added to the previous request.
std::string summary_request();

// The summary in `answer`, or why it is not used: it is no JSON of the form that was asked for, it
// leaves out a file that the record says was changed, or it names a file that no call changed.
// `compaction` is the one that it would become a part of.
std::expected<Summary, std::string> check_summary(std::string_view answer,
                                                  const Compaction& compaction);

// Makes the summary a part of the compaction; the lines that it replaces go.
void add_summary(Compaction& compaction, Summary summary);

std::string summary_text(const Summary& summary);

}  // namespace context
