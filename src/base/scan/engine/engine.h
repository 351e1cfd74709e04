// The engine that finds where matches end: built from expressions, or kept as bytes and loaded.
#pragma once

#include <hs/hs.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/scan/engine/matcher.h"

namespace scan {

struct FreeDatabase {
    void operator()(hs_database_t* database) const { hs_free_database(database); }
};
using Database = std::unique_ptr<hs_database_t, FreeDatabase>;

enum class Platform {
    Native,
    Any,  // The least that Vectorscan runs on; with these rules it is no slower.
};

struct Engine {
    std::vector<std::size_t> widths;  // The most bytes that each expression matches.
    Database block;
};

// The error has the name of the expression that cannot be used. `mode` is one of HS_MODE_*.
base::Result<Database> build_database(const std::vector<Sought>& sought, unsigned mode,
                                      Platform platform);
base::Result<Engine> build_engine(const std::vector<Sought>& sought, Platform platform);

base::Result<std::string> store_engine(const Engine& engine, const std::vector<Sought>& sought);
// Nothing unless `stored` was made of just these expressions and by this version of Vectorscan.
// It must come from our own build: an engine is run, it is not data to be checked.
std::optional<Engine> load_engine(std::string_view stored, const std::vector<Sought>& sought);

}  // namespace scan
