//! A table of a report, written as Markdown or as HTML.

/// What stands in a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    text: String,
    /// Whether it is a figure that missed its aim, and stands out.
    missed: bool,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text,
            missed: false,
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
        }
    }
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    titles: Vec<String>,
    /// Which columns hold numbers, and end at the right.
    numbers: Vec<bool>,
    rows: Vec<Vec<Cell>>,
}

impl Sheet {
    /// One without rows: the titles, and how its columns are set, `l` with words and `r` with numbers; the last letter
    /// stands for all columns behind it.
    pub fn new<T: Into<String>>(letters: &str, titles: impl IntoIterator<Item = T>) -> Self {
        let titles: Vec<String> = titles.into_iter().map(Into::into).collect();
        let letters = letters.chars().map(Some).chain(std::iter::repeat(None));
        let mut number = false;
        let set = |letter: Option<char>| {
            number = letter.map_or(number, |letter| letter == 'r');
            number
        };
        Self {
            numbers: letters.map(set).take(titles.len()).collect(),
            titles,
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = String>| {
            let cells: Vec<String> = cells.collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let plain = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        let mut text = line(&mut self.titles.iter().map(|title| plain(title)));
        let set = |number: &bool| if *number { "---:" } else { "---" }.to_owned();
        text += &line(&mut self.numbers.iter().map(set));
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
            for (cell, number) in row.iter().zip(&self.numbers) {
                let start = if *number { "<td class=\"n\">" } else { "<td>" };
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
    fn a_table_is_markdown_and_html() {
        let mut sheet = Sheet::new("lr", ["a", "b", "c"]);
        sheet.row([
            Cell::from("x | <y>"),
            Cell::aimed("1", Some(false)),
            Cell::aimed("2", Some(true)),
        ]);
        let markdown = "| a | b | c |\n| --- | ---: | ---: |\n| x \\| <y> | **1** | 2 |\n";
        assert_eq!(sheet.markdown(), markdown);
        let html = sheet.html();
        assert!(
            html.contains(
                "<tr><td>x | &lt;y&gt;</td><td class=\"n\"><span class=\"missed\">1</span></td>"
            ),
            "{html}"
        );
        assert!(html.contains("<tr><th>a</th><th>b</th><th>c</th></tr>\n"));
        assert!(html.contains("<td class=\"n\">2</td></tr>\n"));
    }
}
