//! A growing ring buffer whose entries keep their number for life.

/// First in, first out; entry `n` is the `n`th ever pushed.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Vec<T>,
    head: u64,
    tail: u64,
}

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Self {
        Ring {
            slots: vec![T::default(); 4],
            head: 0,
            tail: 0,
        }
    }
}

impl<T: Copy + Default> Ring<T> {
    #[inline]
    fn slot(&self, number: u64) -> usize {
        number as usize & (self.slots.len() - 1)
    }

    /// Number of the oldest entry.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Number of the next entry to be pushed.
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Appends an entry.
    #[inline]
    pub fn push(&mut self, entry: T) {
        if (self.tail - self.head) as usize == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.tail);
        self.slots[slot] = entry;
        self.tail += 1;
    }

    /// The oldest entry.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        (self.head != self.tail).then(|| &self.slots[self.slot(self.head)])
    }

    /// Takes the oldest entry out.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let entry = *self.first()?;
        self.head += 1;
        Some(entry)
    }

    /// Entry `number`, which must be held.
    #[inline]
    pub fn get(&self, number: u64) -> &T {
        debug_assert!(self.head <= number && number < self.tail);
        &self.slots[self.slot(number)]
    }

    /// Entry `number`, which must be held, to change.
    #[inline]
    pub fn get_mut(&mut self, number: u64) -> &mut T {
        debug_assert!(self.head <= number && number < self.tail);
        let slot = self.slot(number);
        &mut self.slots[slot]
    }

    /// The entries held, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (self.head..self.tail).map(|number| self.get(number))
    }

    /// Drops all entries before `number`.
    pub fn drop_before(&mut self, number: u64) {
        debug_assert!(number <= self.tail);
        self.head = self.head.max(number);
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots = vec![T::default(); self.slots.len() * 2];
        for number in self.head..self.tail {
            slots[number as usize & (self.slots.len() * 2 - 1)] = *self.get(number);
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_growth_and_wrapping() {
        let mut ring = Ring::default();
        for n in 0..1000u64 {
            ring.push(n);
            if n % 3 == 2 {
                assert_eq!(ring.pop(), Some(n / 3));
            }
        }
        assert!((ring.head()..ring.tail()).all(|n| *ring.get(n) == n));
        ring.drop_before(999);
        assert_eq!((ring.pop(), ring.pop()), (Some(999), None));
    }
}
