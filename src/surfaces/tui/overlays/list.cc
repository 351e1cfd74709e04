#include "surfaces/tui/overlays/list.h"

#include "surfaces/tui/screen/cells.h"

namespace tui {

void ListOverlay::set_rows(std::vector<Row> rows) {
    is_loaded_ = true;
    if (rows.empty()) {
        picker_.set_detail({});
        shown_.clear();
    }
    picker_.set_rows(std::move(rows));
    is_detail_old_ = true;
}

std::vector<show::Line> ListOverlay::view(std::size_t columns, std::size_t rows) {
    const auto id = picker_.selected();
    if (id && (*id != shown_ || columns != columns_ || is_detail_old_)) {
        const bool is_another = *id != shown_;
        shown_ = *id;
        columns_ = columns;
        is_detail_old_ = false;
        if (is_another) on_select(shown_);
        picker_.set_detail(detail(shown_, Picker::detail_columns(columns)));
    }
    auto lines = picker_.view(columns, rows);
    if (!id && !lines.empty())
        lines.front() = show::fitted(dim(is_loaded_ ? empty_text_ : "loading"), columns);
    return lines;
}

bool ListOverlay::on_key(const Key& key, std::size_t rows) {
    if (picker_.on_key(key, rows)) return true;
    const auto id = picker_.selected();
    return id && on_row_key(key, *id);
}

bool ListOverlay::is_letter(const Key& key, std::string_view letter) {
    return key.name == KeyName::Character && !key.ctrl && !key.alt && key.text == letter;
}

}  // namespace tui
