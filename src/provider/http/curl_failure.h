// What went wrong in a transfer, in the words of the seam. Pure.
#pragma once

#include <string>

#include "provider/provider.h"

namespace provider {

// How far a transfer had come.
struct TransferProgress {
    std::string url;                     // Already safe to show.
    std::optional<std::int64_t> status;  // Set once the response headers are complete.
    bool streaming{false};
};

// `code` is a CURLcode other than CURLE_OK; `detail` is libcurl's own text, which holds host names
// and numbers only.
Failure curl_failure(int code, const std::string& detail, const TransferProgress& progress);

// A deadline of ours that passed: "no response headers", "no data", "no complete response".
Failure timeout_failure(std::string_view missing, std::chrono::milliseconds timeout,
                        const TransferProgress& progress);

Failure too_large_failure(std::string_view part, std::size_t bytes_max,
                          const TransferProgress& progress);

Failure cancelled_failure(const TransferProgress& progress);

}  // namespace provider
