//! What is sorted: the places of keys and values.

use crate::ops::plan::Place;

/// The keys of a sort, as bits.
#[derive(Clone, Copy)]
pub(super) struct Keys<U> {
    pub input: Place<U>,
    /// `None` if only the order of the keys is wanted.
    pub output: Option<Place<U>>,
    /// Whether the output is the input.
    pub in_place: bool,
}

impl<U> Keys<U> {
    /// Keys of which only the order is wanted.
    pub fn unwritten(input: Place<U>) -> Self {
        Self {
            input,
            output: None,
            in_place: false,
        }
    }

    pub fn in_place<K>(keys: Place<K>) -> Self {
        Self {
            input: keys.cast(),
            output: Some(keys.cast()),
            in_place: true,
        }
    }
}

/// What goes with the keys.
#[derive(Clone, Copy)]
pub(super) enum Data {
    None,
    Given(Given),
    /// The place of the positions, and the bytes of one.
    Positions(Place<u8>, usize),
}

/// Values, and the bytes of one. They are sorted where they are if the keys are.
#[derive(Clone, Copy)]
pub(super) struct Given {
    pub input: Place<u8>,
    pub output: Place<u8>,
    pub bytes: usize,
}

impl Given {
    /// No values.
    pub fn none() -> Self {
        Self {
            input: Place::none(),
            output: Place::none(),
            bytes: 0,
        }
    }
}
