//! The sanitizer sees every planted defect, by the right check and at the right line, and says nothing of
//! the kernels without them, whatever the order of blocks and lanes.

use std::collections::BTreeSet;

use cuda_std::cpu::{Checks, Fault, LaunchError, Options, Order};
use defects::harness::{ORDERS, expected, find, input, launch_on_cpu, markers, orders};
use defects::{DEFECTS, Defect};

fn fault(defect: &Defect, options: Options) -> Result<Fault, String> {
    match launch_on_cpu(defect, true, options) {
        Err(LaunchError::Fault(fault)) => Ok(*fault),
        Err(error) => Err(error.to_string()),
        Ok(_) => Err("nothing was found".to_owned()),
    }
}

/// Runs `check` on every defect in every order in which it shows, and fails with all that went wrong.
fn for_each(check: impl Fn(&Defect, Order) -> Result<(), String>) {
    for_each_in(|defect, _| orders(defect), check);
}

/// Runs `check` on every defect in some of the orders.
fn for_each_in(
    chosen: impl Fn(&Defect, Vec<Order>) -> Vec<Order>,
    check: impl Fn(&Defect, Order) -> Result<(), String>,
) {
    let mut wrong = Vec::new();
    for defect in DEFECTS {
        for order in chosen(defect, Order::several(ORDERS).collect()) {
            if let Err(why) = check(defect, order) {
                wrong.push(format!("{} in the order {order}: {why}", defect.name));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_defect_is_seen_by_the_right_check_and_at_the_right_line() {
    for_each(|defect, order| {
        let checks = Checks::ALL;
        expected(
            defect,
            &fault(
                defect,
                Options {
                    order,
                    checks,
                    ..Options::default()
                },
            )?,
        )
    });
}

#[test]
fn each_check_sees_its_defects_alone() {
    for_each(|defect, order| {
        let first = markers(defect)[0].checks[0];
        // Which blocks have started where one waits for another is the same each time in a launch that is followed.
        let followed = match first {
            Checks::SYNC if defect.file == "scan" => Checks::MEM,
            _ => Checks::NONE,
        };
        let options = Options {
            order,
            checks: first | followed,
            ..Options::default()
        };
        let fault = fault(defect, options)?;
        match fault.kind.check() == Some(first) {
            true => expected(defect, &fault),
            false => Err(format!("expected {first}: {fault}")),
        }
    });
}

fn is_clean(defect: &Defect, planted: bool, order: Order) -> Result<(), String> {
    let options = Options {
        order,
        checks: Checks::ALL,
        ..Options::default()
    };
    let run = launch_on_cpu(defect, planted, options);
    run.map(drop).map_err(|error| error.to_string())
}

#[test]
fn the_kernels_without_the_defects_are_clean() {
    for_each_in(|_, all| all, |defect, order| is_clean(defect, false, order));
}

#[test]
fn the_orders_in_which_a_defect_shows_are_all_that_there_are() {
    let others = |defect: &Defect, mut all: Vec<Order>| {
        let shows = orders(defect);
        all.retain(|order| !shows.contains(order));
        all
    };
    for_each_in(others, |defect, order| is_clean(defect, true, order));
    // Defects that show in some orders only are of blocks that wait for each other.
    let some = DEFECTS
        .iter()
        .filter(|defect| orders(defect).len() < ORDERS as usize);
    assert_eq!(some.filter(|defect| defect.file != "scan").count(), 0);
}

/// What the unchanged kernel of a defect gives, with checks and without.
fn outputs(name: &str) -> impl Iterator<Item = Vec<u32>> {
    let defect = find(name).unwrap();
    Order::several(ORDERS).flat_map(move |order| {
        [Checks::ALL, Checks::NONE].map(|checks| {
            let run = launch_on_cpu(
                defect,
                false,
                Options {
                    order,
                    checks,
                    ..Options::default()
                },
            );
            run.unwrap_or_else(|error| panic!("{error}"))
        })
    })
}

#[test]
fn what_the_defects_are_cut_from_does_its_work() {
    let of = |name| input(&find(name).unwrap().shape);
    let sum = of("reduce_best_no_release").into_iter();
    let sum = sum.fold(0, u32::wrapping_add);
    for output in outputs("reduce_best_no_release") {
        assert_eq!(output[0], sum);
    }
    for name in ["gemm_async_one_buffer", "gemm_tiled_edge_unwritten"] {
        let n = find(name).unwrap().shape.n;
        let values = of(name);
        let (a, b) = values.split_at(n * n);
        let element = |i: usize| {
            let products = (0..n).map(|k| a[i / n * n + k].wrapping_mul(b[k * n + i % n]));
            products.fold(0, u32::wrapping_add)
        };
        let product: Vec<u32> = (0..n * n).map(element).collect();
        for output in outputs(name) {
            assert_eq!(output, product, "{name}");
        }
    }
    for name in ["scan_states_of_an_earlier_launch", "scan_torn_state"] {
        let sums = of(name).into_iter().scan(0_u32, |sum, value| {
            *sum = sum.wrapping_add(value);
            Some(*sum)
        });
        let sums: Vec<u32> = sums.collect();
        for output in outputs(name) {
            assert_eq!(output, sums, "{name}");
        }
    }
    let name = "cluster_exchange_returned";
    let mut tripled = of(name);
    for value in &mut tripled {
        *value = value.wrapping_mul(3);
    }
    for output in outputs(name) {
        assert_eq!(output, tripled);
    }
    let name = "map_async_result_one_step_on";
    let mapped: Vec<u32> = of(name)
        .iter()
        .map(|x| x.wrapping_mul(0x9e37_79b9))
        .collect();
    for output in outputs(name) {
        assert_eq!(output, mapped);
    }
}

/// What a report says about how to run the same again.
fn again(report: &str) -> Result<Options, String> {
    let parsed = || {
        let (_, rest) = report.split_once("; again with WARPWRIGHT_CHECK=")?;
        let (checks, order) = rest.split_once(" WARPWRIGHT_ORDER_SEED=")?;
        Some(Options {
            checks: checks.parse().ok()?,
            order: order.parse().ok()?,
            ..Options::default()
        })
    };
    parsed().ok_or_else(|| format!("it does not say how to run it again: {report}"))
}

#[test]
fn every_report_says_how_to_run_it_again_and_is_the_same_then() {
    for_each(|defect, order| {
        let options = Options {
            order,
            checks: Checks::ALL,
            ..Options::default()
        };
        let places = |fault: &Fault| format!("{:?} {:?}", fault.block, fault.kind.places());
        let first = fault(defect, options)?;
        let second = fault(defect, again(&first.to_string())?)?;
        match places(&first) == places(&second) {
            true => Ok(()),
            false => Err(format!("{first}, then {second}")),
        }
    });
}

#[test]
fn the_corpus_covers_every_family_and_every_check() {
    let names: BTreeSet<&str> = DEFECTS.iter().map(|defect| defect.name).collect();
    assert_eq!(names.len(), DEFECTS.len(), "a name is there twice");
    assert!(DEFECTS.len() >= 40, "{}", DEFECTS.len());
    for family in warpwright::families() {
        let prefix = format!("{}_", family.name);
        assert!(
            names.iter().any(|name| name.starts_with(&prefix)),
            "no defect is planted in `{}`",
            family.name
        );
    }
    let kernels: BTreeSet<&str> = DEFECTS
        .iter()
        .map(|defect| defect.kernels[1].name)
        .collect();
    assert_eq!(kernels.len(), DEFECTS.len(), "two defects are one kernel");
    for defect in DEFECTS {
        let unchanged = defect.kernels[0].name;
        assert!(!kernels.contains(unchanged), "{unchanged} is not unchanged");
        // Every marked line is one of some defect.
        for (line, text) in (1..).zip(defect.source.lines()) {
            let is_of = |other: &Defect| {
                other.file == defect.file && markers(other).iter().any(|at| at.line == line)
            };
            assert!(
                !text.contains("// HERE: ") || DEFECTS.iter().any(is_of),
                "nobody looks for {}.rs:{line}",
                defect.file
            );
        }
    }
    // Of each class that the sanitizer tells apart there is at least one.
    let kinds: BTreeSet<String> = DEFECTS
        .iter()
        .filter_map(|defect| {
            let options = Options {
                order: orders(defect)[0],
                checks: markers(defect)[0].checks[0],
                ..Options::default()
            };
            let kind = format!("{:?}", fault(defect, options).ok()?.kind);
            let end = kind.find(|c: char| !c.is_alphanumeric());
            Some(kind[..end.unwrap_or(kind.len())].to_owned())
        })
        .collect();
    for kind in [
        "OutOfBounds",
        "Misaligned",
        "SharedMemory",
        "Unallocated",
        "Unwritten",
        "Race",
        "Diverged",
        "Stuck",
        "Mask",
        "NotAwaited",
        "Idle",
        "SharedAgain",
        "Source",
        "DivergedCalls",
    ] {
        assert!(kinds.contains(kind), "no defect for {kind}: {kinds:?}");
    }
    for check in [Checks::MEM, Checks::INIT, Checks::RACE, Checks::SYNC] {
        let seen = DEFECTS.iter().filter(|defect| {
            markers(defect)
                .iter()
                .any(|marker| marker.checks.contains(&check))
        });
        assert!(seen.count() >= 5, "few defects for `{check}`");
    }
    println!("{} defects, {ORDERS} orders each", DEFECTS.len());
}

#[test]
fn a_report_names_both_lanes_and_lines_and_how_to_run_it_again() {
    let defect = find("histogram_plain_merge").unwrap();
    let options = Options {
        order: Order::Seeded(7),
        checks: Checks::RACE,
        ..Options::default()
    };
    let text = fault(defect, options).unwrap().to_string();
    for part in [
        "kernel histogram_privatized__PLAIN_MERGE, block (",
        "lane (",
        "race: this lane reads bytes ",
        " of `output` at ",
        "histogram.rs:",
        " writes them at ",
        "WARPWRIGHT_CHECK=race WARPWRIGHT_ORDER_SEED=7",
    ] {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
    assert!(!text.contains('\n'), "{text}");
}

#[test]
fn the_document_has_reports_as_they_are() {
    let document = include_str!("../../docs/SANITIZER.md");
    for (name, checks, order) in [
        ("histogram_plain_merge", Checks::RACE, Order::Seeded(7)),
        ("gemm_async_one_group_less", Checks::ALL, Order::Forward),
    ] {
        let options = Options {
            order,
            checks,
            ..Options::default()
        };
        let text = fault(find(name).unwrap(), options).unwrap().to_string();
        let text = text.replace('\\', "/");
        assert!(document.contains(&text), "docs/SANITIZER.md lacks: {text}");
    }
}
