//! A table of a report, written as text, as Markdown or as HTML.

/// What stands in a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    text: String,
    /// The figure with more digits, which a terminal shows.
    exact: Option<String>,
    /// Whether it is a figure that missed its aim, and stands out.
    missed: bool,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Cell {
    /// A figure; one that missed its aim stands out.
    pub fn aimed(text: impl Into<String>, met: Option<bool>) -> Self {
        Self {
            text: text.into(),
            missed: met == Some(false),
            exact: None,
        }
    }

    /// A ratio, with one digit more on a terminal; one that missed its aim stands out.
    pub fn ratio(ratio: f64, met: Option<bool>) -> Self {
        Self {
            exact: Some(format!("{ratio:.3}")),
            ..Self::aimed(format!("{ratio:.2}"), met)
        }
    }

    /// Returns the cell as text.
    fn text(&self) -> String {
        let text = self.exact.as_ref().unwrap_or(&self.text);
        format!("{text}{}", if self.missed { "!" } else { "" })
    }
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    titles: Vec<String>,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// How a column is set.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Column {
    /// Whether it holds numbers, and ends at the right.
    number: bool,
    /// Its least width as text.
    width: usize,
}

impl Sheet {
    /// Makes a table without rows from its titles and how its columns are set: `l` with words and `r` with numbers, with the
    /// least width as text behind the letter. The last one stands for all columns behind it.
    pub fn new<T: Into<String>>(columns: &str, titles: impl IntoIterator<Item = T>) -> Self {
        let titles: Vec<String> = titles.into_iter().map(Into::into).collect();
        let (mut words, mut column) = (columns.split(' '), Column::default());
        let columns = titles.iter().map(|_| {
            if let Some(word) = words.next() {
                let width = word.trim_start_matches(['l', 'r']).parse();
                column = Column {
                    number: word.starts_with('r'),
                    width: width.unwrap_or_default(),
                };
            }
            column
        });
        Self {
            columns: columns.collect(),
            titles,
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Returns the table as text, with columns as wide as their widest cell. A figure that missed its aim has a `!`.
    pub fn text(&self) -> String {
        self.lines(0, &self.widths(&self.rows))
    }

    /// Returns the titles as text, for rows that are written as they come.
    pub fn head(&self) -> String {
        self.line(self.titles.iter().cloned(), &self.widths(&[]))
    }

    /// Returns the rows as text below [`head`](Self::head). A cell that is wider than its column moves those behind it.
    pub fn body(&self) -> String {
        self.lines(1, &self.widths(&[]))
    }

    /// Returns the lines of the table from `first` on, of which the first is that of the titles.
    fn lines(&self, first: usize, widths: &[usize]) -> String {
        let head = std::iter::once(self.line(self.titles.iter().cloned(), widths));
        let rows = self
            .rows
            .iter()
            .map(|row| self.line(row.iter().map(Cell::text), widths));
        head.chain(rows).skip(first).collect()
    }

    fn line(&self, cells: impl Iterator<Item = String>, widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, column), &width) in cells.zip(&self.columns).zip(widths) {
            line += &match column.number {
                true => format!("  {cell:>width$}"),
                false => format!("  {cell:<width$}"),
            };
        }
        line.trim_end().to_owned() + "\n"
    }

    /// Returns the width of each column with these rows.
    fn widths(&self, rows: &[Vec<Cell>]) -> Vec<usize> {
        let columns = self.columns.iter().zip(&self.titles).enumerate();
        let widths = columns.map(|(at, (column, title))| {
            let cells = rows
                .iter()
                .filter_map(|row| Some(row.get(at)?.text().chars().count()));
            cells.fold(column.width.max(title.chars().count()), usize::max)
        });
        widths.collect()
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = String>| {
            let cells: Vec<String> = cells.collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let plain = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        let mut text = line(&mut self.titles.iter().map(|title| plain(title)));
        let set = |number: bool| if number { "---:" } else { "---" }.to_owned();
        text += &line(&mut self.columns.iter().map(|it| set(it.number)));
        for row in &self.rows {
            text += &line(&mut row.iter().map(|cell| match cell.missed {
                true => format!("**{}**", plain(&cell.text)),
                false => plain(&cell.text),
            }));
        }
        text
    }

    /// As HTML, in an element of its own that can be wider than the page.
    pub fn html(&self) -> String {
        let mut text = String::from("<div class=\"wide\"><table><tr>");
        for title in &self.titles {
            text += &format!("<th>{}</th>", escape(title));
        }
        text += "</tr>\n";
        for row in &self.rows {
            text += "<tr>";
            for (cell, column) in row.iter().zip(&self.columns) {
                let start = if column.number {
                    "<td class=\"n\">"
                } else {
                    "<td>"
                };
                let cell = match cell.missed {
                    true => format!("<span class=\"missed\">{}</span>", escape(&cell.text)),
                    false => escape(&cell.text),
                };
                text += &format!("{start}{cell}</td>");
            }
            text += "</tr>\n";
        }
        text + "</table></div>\n"
    }
}

/// Text as it stands in a page of HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_text_and_markdown_and_html() {
        let mut sheet = Sheet::new("l r3", ["a", "b", "c"]);
        sheet.row([
            Cell::from("x | <y>"),
            Cell::aimed("1", Some(false)),
            Cell::ratio(2.0, Some(true)),
        ]);
        let text = "  a          b      c\n  x | <y>   1!  2.000\n";
        assert_eq!(sheet.text(), text);
        assert_eq!(sheet.head(), "  a    b    c\n");
        assert_eq!(sheet.body(), "  x | <y>   1!  2.000\n");
        let markdown = "| a | b | c |\n| --- | ---: | ---: |\n| x \\| <y> | **1** | 2.00 |\n";
        assert_eq!(sheet.markdown(), markdown);
        let html = sheet.html();
        assert!(
            html.contains(
                "<tr><td>x | &lt;y&gt;</td><td class=\"n\"><span class=\"missed\">1</span></td>"
            ),
            "{html}"
        );
        assert!(html.contains("<tr><th>a</th><th>b</th><th>c</th></tr>\n"));
        assert!(html.contains("<td class=\"n\">2.00</td></tr>\n"));
    }
}
