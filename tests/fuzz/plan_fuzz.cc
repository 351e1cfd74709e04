// Untrusted plans: any text is a plan or a list of faults, JSON and YAML alike, and templates in it
// never crash.
#include "base/result.h"
#include "exec/plan/language/check.h"
#include "exec/plan/language/parse.h"
#include "exec/plan/language/refs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    static const tools::Registry registry;
    const auto checked = plan::check_text(text, registry);
    CHECK(checked.has_value() || !checked.error().empty(), "a refused plan has a fault");
    const auto document = plan::parse_document(text);
    if (document) {
        CHECK(plan::plan_hash(*document) == plan::plan_hash(*document), "a hash is stable");
        plan::find_refs(*document, {"item", "index"}, "");
    }
    // Literals and references together are the whole text, except for doubled signs.
    std::size_t length = 0;
    for (const auto& segment : plan::parse_template(text, {"item", "index"}))
        length += segment.ref ? segment.ref->text.size() : segment.literal.size();
    CHECK(length <= text.size(), "a template does not grow");
    return 0;
}
