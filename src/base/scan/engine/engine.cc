#include "base/scan/engine/engine.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/hash.h"

namespace scan {

using base::ErrorCode;
using base::fail;

namespace {

// The stored form: the digest of the expressions in hex, a width for each, the database.
constexpr std::size_t kDigestBytes = 64;
using Width = std::uint32_t;

// What Vectorscan is given.
const std::string& searched(const Sought& one) {
    return one.ending ? *one.ending : one.expression;
}

std::string digest_of(const std::vector<Sought>& sought) {
    base::Sha256 hash;
    for (const auto& one : sought)
        for (const auto& text : {one.expression, searched(one)})
            hash.add({text.c_str(), text.size() + 1});
    return hash.finish_hex();
}

base::Result<std::size_t> width_of(const std::string& expression, const std::string& name) {
    hs_expr_info_t* info = nullptr;
    hs_compile_error_t* error = nullptr;
    if (hs_expression_info(expression.c_str(), 0, &info, &error) != HS_SUCCESS) {
        const std::string message = error ? error->message : "unknown";
        hs_free_compile_error(error);
        return fail(ErrorCode::InvalidInput, "the expression of {} cannot be used: {}", name,
                    message);
    }
    const std::size_t width = info->max_width;
    const bool is_empty = info->min_width == 0;
    std::free(info);
    if (width > kMatchBytesMax || is_empty)
        return fail(ErrorCode::InvalidInput,
                    "the expression of {} must match between 1 and {} bytes; bound its repeats",
                    name, kMatchBytesMax);
    return width;
}

}  // namespace

base::Result<Database> build_database(const std::vector<Sought>& sought, unsigned mode,
                                      Platform platform) {
    std::vector<const char*> texts;
    std::vector<unsigned> flags(sought.size(), 0), ids(sought.size());
    for (std::size_t i = 0; i < sought.size(); ++i) {
        texts.push_back(searched(sought[i]).c_str());
        ids[i] = static_cast<unsigned>(i);
    }
    const hs_platform_info_t any{};
    hs_database_t* made = nullptr;
    hs_compile_error_t* error = nullptr;
    if (hs_compile_multi(texts.data(), flags.data(), ids.data(),
                         static_cast<unsigned>(texts.size()), mode,
                         platform == Platform::Any ? &any : nullptr, &made, &error) == HS_SUCCESS)
        return Database(made);
    const bool is_named = error && error->expression >= 0;
    const std::string name =
        is_named ? sought[static_cast<std::size_t>(error->expression)].name : "the rules together";
    const std::string message = error ? error->message : "unknown";
    hs_free_compile_error(error);
    return fail(ErrorCode::InvalidInput, "Vectorscan refuses {}: {}", name, message);
}

base::Result<Engine> build_engine(const std::vector<Sought>& sought, Platform platform) {
    Engine engine;
    for (const auto& one : sought) engine.widths.push_back(TRY(width_of(one.expression, one.name)));
    engine.block = TRY(build_database(sought, HS_MODE_BLOCK, platform));
    return engine;
}

base::Result<std::string> store_engine(const Engine& engine, const std::vector<Sought>& sought) {
    char* bytes = nullptr;
    std::size_t size = 0;
    if (hs_serialize_database(engine.block.get(), &bytes, &size) != HS_SUCCESS)
        return fail(ErrorCode::Unavailable, "Vectorscan could not write down its database");
    std::string stored = digest_of(sought);
    for (const std::size_t width : engine.widths) {
        const auto number = static_cast<Width>(width);
        stored.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    stored.append(bytes, size);
    std::free(bytes);
    return stored;
}

std::optional<Engine> load_engine(std::string_view stored, const std::vector<Sought>& sought) {
    const std::size_t head = kDigestBytes + sought.size() * sizeof(Width);
    if (stored.size() <= head || stored.substr(0, kDigestBytes) != digest_of(sought))
        return std::nullopt;
    Engine engine;
    for (std::size_t at = kDigestBytes; at < head; at += sizeof(Width)) {
        Width width = 0;
        std::memcpy(&width, stored.data() + at, sizeof width);
        engine.widths.push_back(width);
    }
    hs_database_t* loaded = nullptr;
    if (hs_deserialize_database(stored.data() + head, stored.size() - head, &loaded) != HS_SUCCESS)
        return std::nullopt;
    engine.block.reset(loaded);
    return engine;
}

}  // namespace scan
