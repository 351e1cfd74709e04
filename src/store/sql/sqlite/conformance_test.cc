#include "store/conformance.h"

#include "store/sql/sqlite/sqlite_store.h"
#include "store/sql/sqlite/temp_database.h"

namespace store {
namespace {

Backend sqlite_backend(const std::string& name, sqlite::Mode mode) {
    return {name, [mode]() -> Opener {
                auto database = std::make_shared<sqlite::TempDatabase>();
                return [=]() -> std::unique_ptr<Store> {
                    auto opened = sqlite::open({.file = database->file(), .mode = mode});
                    EXPECT_TRUE(opened) << opened.error().message;
                    return opened ? std::move(*opened) : nullptr;
                };
            }};
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreConformance,
                         testing::Values(sqlite_backend("Threaded", sqlite::Mode::Threaded),
                                         sqlite_backend("Inline", sqlite::Mode::Inline)),
                         backend_name);

}  // namespace store
