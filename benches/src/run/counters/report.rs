//! Parses the output of Nsight Compute: a table as CSV, among other lines.

use crate::counters::metrics::{METRICS, Metric};
use crate::counters::{Kernel, Value};

/// Returns the kernels in the output of `ncu --csv --page raw`: a line of titles, a line of units, and a line for each kernel.
/// Lines of the tool or of the profiled program that are not rows of that table are skipped.
///
/// # Errors
/// Returns an error if there is no such table, if it has no kernel, or if a row is wrong.
pub(super) fn kernels(text: &str) -> Result<Vec<Kernel>, String> {
    let mut lines = text.lines().filter_map(fields);
    let titles = lines
        .find(|fields| is_titles(fields))
        .ok_or("a table of kernels required, found none")?;
    let rows: Vec<Vec<String>> = lines
        .filter(|fields| fields.len() == titles.len() && !is_titles(fields))
        .collect();
    let column = |title: &str| {
        let at = titles.iter().position(|it| it == title);
        at.ok_or_else(|| format!("a column `{title}` required, found none"))
    };
    let [id, name, grid, block] = [
        column("ID")?,
        column("Kernel Name")?,
        column("Grid Size")?,
        column("Block Size")?,
    ];
    // The line of units has nothing in the columns that identify kernels.
    let (units, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row[id].is_empty());
    let units = units
        .first()
        .ok_or("a line of units required, found none")?;
    if rows.is_empty() {
        return Err("a kernel required, found none".to_owned());
    }
    let kernel = |row: &Vec<String>| {
        let value = |metric: &Metric| {
            let at = titles.iter().position(|title| title == metric.name)?;
            let value = Value {
                value: number(&row[at])?,
                unit: units[at].clone(),
            };
            Some((metric.name.to_owned(), value))
        };
        Ok(Kernel {
            name: row[name].clone(),
            grid: extents(&row[grid])?,
            block: extents(&row[block])?,
            metrics: METRICS.iter().filter_map(value).collect(),
        })
    };
    rows.iter().map(kernel).collect()
}

/// Returns the reason why there were no counters: the program's error and the tool's, or how the tool ended.
pub(super) fn complaint(output: &str, errors: &str, ended: &str) -> String {
    let all = || output.lines().chain(errors.lines()).map(str::trim);
    let marked = |mark: &'static str| all().filter_map(move |line| line.strip_prefix(mark));
    let mut said: Vec<&str> = marked("error:").chain(marked("==ERROR==")).collect();
    if said.is_empty() {
        said = marked("==WARNING==").collect();
    }
    if said.is_empty() {
        said = all().rfind(|line| !line.is_empty()).into_iter().collect();
    }
    let said: Vec<String> = said
        .into_iter()
        .map(|line| without_folders(line.trim()))
        .collect();
    if said.is_empty() {
        return format!("ncu said nothing, and ended with {ended}");
    }
    said.join("; ")
}

/// Returns the metrics that the tool's errors mention.
pub(super) fn named(output: &str, errors: &str) -> Vec<&'static str> {
    let lines = output.lines().chain(errors.lines());
    let words: Vec<&str> = lines
        .filter(|line| line.trim_start().starts_with("==ERROR=="))
        .flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && !"_.".contains(c)))
        .map(|word| word.trim_end_matches('.'))
        .collect();
    let is_named = |metric: &&Metric| {
        let base = metric.name.split('.').next();
        words.contains(&metric.name) || base.is_some_and(|base| words.contains(&base))
    };
    METRICS.iter().filter(is_named).map(|it| it.name).collect()
}

/// Replaces absolute paths in a text by their file names, because a record must not contain a machine's folders.
pub fn without_folders(text: &str) -> String {
    let name = |word: &str| {
        let begins = |at: usize| {
            word[..at]
                .chars()
                .last()
                .is_none_or(|it| "=([\"'`".contains(it))
        };
        let start = word
            .match_indices('/')
            .map(|(at, _)| at)
            .find(|&at| begins(at));
        let (before, path) = word.split_at(start.unwrap_or(word.len()));
        match path.trim_end_matches('/').rsplit_once('/') {
            Some((_, name)) => format!("{before}{name}"),
            None => word.to_owned(),
        }
    };
    text.split(' ').map(name).collect::<Vec<_>>().join(" ")
}

/// Returns the fields of a line of CSV, or `None` if it is not one.
fn fields(line: &str) -> Option<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(line.trim().as_bytes());
    let record = reader.records().next()?.ok()?;
    Some(record.iter().map(|field| field.trim().to_owned()).collect())
}

fn is_titles(fields: &[String]) -> bool {
    fields.first().is_some_and(|first| first == "ID") && fields.iter().any(|it| it == "Kernel Name")
}

/// Returns a number, which may have commas between thousands, or `None` if the tool has no number.
fn number(text: &str) -> Option<f64> {
    let value: f64 = text.replace(',', "").parse().ok()?;
    value.is_finite().then_some(value)
}

/// Returns three extents: `(256, 1, 1)`.
fn extents(text: &str) -> Result<[u32; 3], String> {
    let numbers = text.split(|c: char| !c.is_ascii_digit());
    let numbers: Result<Vec<u32>, _> = numbers
        .filter(|it| !it.is_empty())
        .map(str::parse)
        .collect();
    let extents = numbers.ok().and_then(|it| it.try_into().ok());
    extents.ok_or_else(|| format!("three extents required, given `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::metrics::{DRAM_READ, DRAM_WRITE, TIME};

    /// Two kernels of one operation, in the tool's format.
    const TEXT: &str = r#"==PROF== Connected to process 4242 (/opt/x/warpwright-bench)
==WARNING== Note: Running with unmodified GPU clocks. If not controlled otherwise, profiling results may be inconsistent.
==PROF== Profiling "random_table": 0%....50%....100% - 12 passes
reduce: sum f32, 2^28: right, and done once more for a profiler
==PROF== Disconnected from process 4242
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__bytes_read.sum","dram__bytes_write.sum","gpu__time_duration.sum","unasked__for.sum","launch__registers_per_thread"
"","","","","","","","","","","","byte","byte","ns","sector","register/thread"
"0","4242","warpwright-bench","127.0.0.1","first_best__u8","1","13","(256, 1, 1)","(1056, 2, 1)","0","9.0","1,073,741,824","n/a","348,288","7","40"
"a line of the program, in quotes"
"1","4242","warpwright-bench","127.0.0.1","odd<""name"", 2>(x, y)","1","13","(32, 1, 1)","(1, 1, 1)","0","9.0","64","0.5","2,016.25","7","16"
==WARNING== something else
"#;

    #[test]
    fn every_kernel_of_an_operation_is_a_row() {
        let found = kernels(TEXT).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].name, "first_best__u8");
        assert_eq!(found[0].grid, [1056, 2, 1]);
        assert_eq!(found[0].block, [256, 1, 1]);
        let value = |kernel: usize, name: &str| {
            let value = found[kernel].metrics.get(name)?;
            Some((value.value, value.unit.as_str()))
        };
        assert_eq!(value(0, TIME), Some((348_288.0, "ns")));
        assert_eq!(value(0, DRAM_READ), Some((1_073_741_824.0, "byte")));
        // Metrics without a number and unrequested ones are left out.
        assert_eq!(value(0, DRAM_WRITE), None);
        assert_eq!(found[0].metrics.len(), 3);
        assert_eq!(found[1].name, "odd<\"name\", 2>(x, y)");
        assert_eq!(value(1, TIME), Some((2016.25, "ns")));
        assert_eq!(value(1, DRAM_WRITE), Some((0.5, "byte")));
        assert_eq!(
            value(1, "launch__registers_per_thread"),
            Some((16.0, "register/thread"))
        );
    }

    #[test]
    fn what_is_no_table_of_kernels_is_an_error() {
        let error = |text: &str| kernels(text).unwrap_err();
        assert!(error("").contains("a table of kernels"));
        assert!(error("==PROF== nothing\n").contains("a table of kernels"));
        let head: Vec<&str> = TEXT.lines().take(7).collect();
        assert!(error(&head.join("\n")).contains("a kernel required"));
        assert!(error(&head[..6].join("\n")).contains("a line of units"));
        let wrong = TEXT.replace("(256, 1, 1)", "256");
        assert!(error(&wrong).contains("given `256`"));
        let wrong = TEXT.replace("Grid Size", "Grid");
        assert!(error(&wrong).contains("`Grid Size` required"));
    }

    #[test]
    fn a_complaint_is_what_was_said() {
        let output = "==PROF== Connected\n==WARNING== unmodified clocks\n==ERROR== The application returned an error code (1).\n";
        assert_eq!(
            complaint(output, "error: reduce: wrong: at 0\n", "exit status: 1"),
            "reduce: wrong: at 0; The application returned an error code (1)."
        );
        assert_eq!(
            complaint(
                "==WARNING== No kernels were profiled.\n",
                "",
                "exit status: 0"
            ),
            "No kernels were profiled."
        );
        assert_eq!(
            complaint(
                "",
                "cannot open /opt/x/lib.so (denied)\n\n",
                "exit status: 9"
            ),
            "cannot open lib.so (denied)"
        );
        assert_eq!(
            complaint("", "", "exit status: 9"),
            "ncu said nothing, and ended with exit status: 9"
        );
    }

    #[test]
    fn metrics_are_found_in_errors() {
        let said = |text: &str| named("==PROF== dram__bytes_read.sum\n", text);
        assert!(said("==ERROR== no permission\n").is_empty());
        assert_eq!(
            said("==ERROR== Failed to find metric dram__bytes_write.sum.\n"),
            [DRAM_WRITE]
        );
        assert_eq!(
            said("==ERROR== unknown: dram__bytes_read, 'gpu__time_duration.sum'\n"),
            [TIME, DRAM_READ]
        );
    }

    #[test]
    fn folders_are_left_out() {
        assert_eq!(
            without_folders("counters --from /a/b/c.json --record . --case 1/2"),
            "counters --from c.json --record . --case 1/2"
        );
        assert_eq!(
            without_folders("/a/b/ / --from=/a/b (/c/d)"),
            "b / --from=b (d)"
        );
    }
}
