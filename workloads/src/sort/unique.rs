//! The different keys in order.

use warpwright::ops::select::Selectable;
use warpwright::{Device, Result};

use super::{Input, Key, Sort, Sorted};
use crate::{Prepared, Problem, Verdict, prepared, with_variant};

/// The different keys of a sort of keys alone, by all bits.
#[derive(Clone)]
pub struct SortedUnique<K>(pub Sort<K>);

impl<K: Key + Selectable + PartialEq> Problem for SortedUnique<K> {
    type Input = Input<K>;
    type Answer = Sorted<K>;
    type Truth = Sorted<K>;

    fn family(&self) -> &'static str {
        "sort"
    }

    fn name(&self) -> String {
        format!("{}, the different ones", self.0.name())
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn input(&self, device: &Device, set: usize) -> Result<Input<K>> {
        self.0.input(device, set)
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Input<K>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Sorted<K>>> {
        let keys = input.keys.slice(self.0.part.range(self.0.len))?;
        let mut request = with_variant!(device.sorted_unique_request(keys), variant);
        if self.0.is_descending {
            request = request.descending();
        }
        Ok(prepared!(request.prepare()?, |it| {
            // Nothing has written the memory behind them.
            let keys = it.output()?.slice(..it.count()?)?.to_vec()?;
            let values = Vec::new();
            Ok(Sorted { keys, values })
        }))
    }

    fn truth(&self, set: usize) -> Sorted<K> {
        let mut sorted = self.0.truth(set);
        sorted.keys.dedup();
        sorted
    }

    fn check(&self, truth: &Sorted<K>, answer: &Sorted<K>) -> Verdict {
        truth.check(answer)
    }
}
