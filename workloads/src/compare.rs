use std::fmt::Debug;

use crate::parallel;

/// The result of a check: `Ok`, or what is wrong with an answer.
pub type Verdict = Result<(), String>;

/// Checks that two lists of results are equal, element by element.
///
/// # Errors
/// Returns the first difference.
pub fn equal<T: PartialEq + Debug + Sync>(found: &[T], expected: &[T]) -> Verdict {
    each(found, expected.len(), |at, found| {
        let expected = &expected[at];
        (found != expected).then(|| format!("expected {expected:?}, found {found:?}"))
    })
}

/// Checks that there are as many results as expected, and that `wrong` finds no fault in any of them.
pub(crate) fn each<T: Sync>(
    found: &[T],
    expected: usize,
    wrong: impl Fn(usize, &T) -> Option<String> + Sync,
) -> Verdict {
    if found.len() != expected {
        let found = found.len();
        return Err(format!("expected {expected} elements, found {found}"));
    }
    let first = parallel::find(expected, 1 << 14, |mut part| {
        part.find_map(|at| Some((at, wrong(at, &found[at])?)))
    });
    first.map_or(Ok(()), |(at, text)| Err(format!("at {at}: {text}")))
}

/// Checks that a number is within a bound of the expected one. NaN never is.
///
/// # Errors
/// Returns the three numbers.
pub fn within(found: f64, expected: f64, bound: f64) -> Verdict {
    if (found - expected).abs() <= bound {
        return Ok(());
    }
    Err(format!(
        "expected {expected:e} within {bound:e}, found {found:e}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_results_are_noticed() {
        assert!(equal(&[1, 2], &[1, 2]).is_ok());
        assert!(equal(&[1, 2], &[1, 3]).unwrap_err().contains("at 1"));
        assert!(equal(&[1, 2], &[1]).is_err());
        assert!(equal(&[f32::NAN], &[f32::NAN]).is_err());
        assert!(within(1.0, 1.5, 0.5).is_ok());
        assert!(within(1.0, 1.5, 0.4).is_err());
        assert!(within(f64::NAN, 1.5, 0.5).is_err());
        assert!(within(1.0, f64::NAN, 0.5).is_err());
    }
}
