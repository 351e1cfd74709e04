// An overlay that is a list to choose from.
#pragma once

#include <string>

#include "surfaces/tui/overlays/overlay.h"
#include "surfaces/tui/widgets/picker.h"

namespace tui {

class ListOverlay : public Overlay {
public:
    std::string title() const override { return title_; }
    std::vector<show::Line> view(std::size_t columns, std::size_t rows) override;
    bool on_key(const Key& key, std::size_t rows) override;

protected:
    ListOverlay(Desk& desk, std::string title) : Overlay(desk), title_(std::move(title)) {}

    // The text below or beside the list, for the row that is selected.
    virtual std::vector<show::Line> detail(const std::string& id, std::size_t columns) = 0;
    // A key that the list has no use for, with the row that is selected. False: nor has this.
    virtual bool on_row_key(const Key& key, const std::string& id) = 0;
    // Called when another row is selected.
    virtual void on_select(const std::string& /*id*/) {}

    void set_rows(std::vector<Row> rows);
    // Shown instead of an empty list.
    void set_empty_text(std::string text) { empty_text_ = std::move(text); }
    Picker& picker() { return picker_; }
    std::optional<std::string> selected() const { return picker_.selected(); }
    void refresh_detail() { is_detail_old_ = true; }
    static bool is_letter(const Key& key, std::string_view letter);

private:
    std::string title_;
    Picker picker_;
    std::string empty_text_{"There is nothing here."};
    std::string shown_;  // The row that the detail is of.
    std::size_t columns_{0};
    bool is_loaded_{false};
    bool is_detail_old_{true};
};

}  // namespace tui
