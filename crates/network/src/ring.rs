//! A growing ring buffer whose entries keep their number for life, unless one is put before them.

/// First in, first out; entry `n` is the `n`th ever pushed.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Box<[T]>,
    head: u64,
    tail: u64,
}

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Self {
        Ring {
            slots: Box::default(),
            head: 0,
            tail: 0,
        }
    }
}

impl<T: Copy + Default> Ring<T> {
    #[inline]
    fn slot(&self, number: u64) -> usize {
        number as usize & self.slots.len().wrapping_sub(1)
    }

    /// Number of the oldest entry.
    #[inline(always)]
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Number of the next entry to be pushed.
    #[inline(always)]
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// How many are held.
    #[inline(always)]
    pub fn len(&self) -> u64 {
        self.tail - self.head
    }

    /// Whether nothing is held.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Appends an entry.
    #[inline(always)]
    pub fn push(&mut self, entry: T) {
        if (self.tail - self.head) as usize == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.tail);
        self.slots[slot] = entry;
        self.tail += 1;
    }

    /// Puts an entry before number `number` and all after it, whose numbers grow by one.
    pub fn insert(&mut self, number: u64, entry: T) {
        self.push(entry);
        for later in (number + 1..self.tail).rev() {
            *self.get_mut(later) = *self.get(later - 1);
        }
        *self.get_mut(number) = entry;
    }

    /// The oldest entry.
    #[inline(always)]
    pub fn first(&self) -> Option<&T> {
        (self.head != self.tail).then(|| &self.slots[self.slot(self.head)])
    }

    /// Takes the oldest entry out.
    #[inline(always)]
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

    /// Drops all entries.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.head = self.tail;
    }

    /// Counts an entry that is nowhere held, between those before and those after; all before it are dropped.
    #[inline(always)]
    pub fn skip(&mut self) -> u64 {
        self.tail += 1;
        self.head = self.tail;
        self.tail - 1
    }

    /// Drops all entries before `number`.
    pub fn drop_before(&mut self, number: u64) {
        debug_assert!(number <= self.tail);
        self.head = self.head.max(number);
    }

    #[cold]
    fn grow(&mut self) {
        let length = (2 * self.slots.len()).max(4);
        let mut slots = vec![T::default(); length];
        for number in self.head..self.tail {
            slots[number as usize & (length - 1)] = *self.get(number);
        }
        self.slots = slots.into_boxed_slice();
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
