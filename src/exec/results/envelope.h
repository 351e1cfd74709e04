// The canonical record of one tool result: five outer fields, whatever the tool and the outcome.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "domain/tool.h"

namespace results {

// Short by contract: large output never hides in it.
inline constexpr std::size_t kSummaryCharsMax = 400;
// Error details beyond this many characters of JSON become a preview and a digest.
inline constexpr std::size_t kDetailsCharsMax = 1000;

// Either a result or an error, never both and never neither.
class Envelope {
public:
    static Envelope success(std::string tool_name, const std::string& summary_text,
                            json::object result);
    // Oversized details are replaced by a preview, their digest and their `field`; everything else
    // of the error stays as it is.
    static Envelope failure(std::string tool_name, domain::ToolError error);

    // Refuses anything but all five fields in one of the two valid combinations.
    static base::Result<Envelope> from_json(const json::value& value);
    json::object to_json() const;

    const std::string& tool_name() const { return tool_name_; }
    const std::string& summary_text() const { return summary_text_; }
    bool ok() const { return result_.has_value(); }
    const json::object& result() const { return *result_; }
    const domain::ToolError& error() const { return *error_; }

    friend bool operator==(const Envelope&, const Envelope&) = default;

private:
    Envelope() = default;
    std::string tool_name_;
    std::string summary_text_;
    std::optional<json::object> result_;
    std::optional<domain::ToolError> error_;
};

}  // namespace results
