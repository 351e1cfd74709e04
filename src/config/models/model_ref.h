// The name of a model: its provider and the model.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace config {

struct ModelRef {
    std::string provider;
    std::string model;
    std::string text() const { return provider + "/" + model; }
    friend bool operator==(const ModelRef&, const ModelRef&) = default;
};
// "provider/model", split at the first slash; the provider is lower-cased.
base::Result<ModelRef> parse_model_ref(std::string_view text);

}  // namespace config
