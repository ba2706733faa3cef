//! The crate as which the programs in `tests/misuse` are checked. It is one of its own because `trybuild` checks all
//! dependencies of a crate once more: the tests of the workspace have many.
