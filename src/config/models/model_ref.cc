#include "config/models/model_ref.h"

#include <algorithm>

#include "base/text.h"

namespace config {

base::Result<ModelRef> parse_model_ref(std::string_view text) {
    const std::size_t slash = text.find('/');
    ModelRef ref;
    if (slash != std::string_view::npos) {
        ref.provider = base::trim(text.substr(0, slash));
        ref.model = base::trim(text.substr(slash + 1));
        std::ranges::transform(ref.provider, ref.provider.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    }
    if (ref.provider.empty() || ref.model.empty())
        return base::fail(base::ErrorCode::InvalidInput,
                          "a model is named provider/model, got '{}'",
                          base::printable(text.substr(0, 80)));
    return ref;
}

}  // namespace config
