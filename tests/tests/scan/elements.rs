//! The inputs of the tests, and what each is asked for.

use std::fmt;

use warpwright::{Variant, ops::scan::Operator};
use warpwright_tests::{
    cases::{self, Problem},
    data::Data,
    devices::Executor,
};

/// A variant that is asked for something.
#[derive(Clone, Copy)]
pub struct Rung {
    pub variant: &'static Variant,
    pub operator: Operator,
    pub exclusive: bool,
    pub in_place: bool,
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.exclusive {
            "exclusive"
        } else {
            "inclusive"
        };
        let place = if self.in_place { " in place" } else { "" };
        let (operator, variant) = (self.operator.name(), self.variant.name);
        write!(f, "{kind} {operator}{place} by {variant}")
    }
}

/// Elements of some kind, behind `offset` others.
#[derive(Debug)]
pub struct Elements {
    pub executor: Executor,
    pub data: Data,
    pub len: usize,
    pub offset: usize,
}

impl Problem for Elements {
    fn executor(&self) -> Executor {
        self.executor
    }
}

impl Elements {
    /// Whether this kind of data shows mistakes of an operator.
    pub fn suits(&self, operator: Operator) -> bool {
        match self.data {
            Data::Factors => operator == Operator::Product,
            // Parts of a product may overflow or vanish where another order does not.
            Data::Awkward(_) => operator != Operator::Product,
            _ => operator != Operator::Product,
        }
    }

    /// Every variant with every operator; exclusive and in place in turn.
    pub fn rungs(&self) -> Vec<Rung> {
        let mut rungs = Vec::new();
        for (i, variant) in cases::variants("scan").iter().enumerate() {
            for (j, operator) in Operator::ALL.into_iter().enumerate() {
                let turn = i + j + self.len + self.offset;
                if self.suits(operator) {
                    rungs.push(Rung {
                        variant,
                        operator,
                        exclusive: turn.is_multiple_of(2),
                        in_place: turn.is_multiple_of(3),
                    });
                }
            }
        }
        rungs
    }
}
