//! A growing ring buffer. Its entries keep their numbers until they are removed, unless an entry is inserted before
//! them or removed from the middle.

use crate::memory;

/// A FIFO queue; entry `n` is the `n`th entry that was ever pushed.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Box<[T]>,
    head: u64,
    tail: u64,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring {
            slots: Box::default(),
            head: 0,
            tail: 0,
        }
    }
}

impl<T: Default> Ring<T> {
    #[inline]
    fn slot(&self, number: u64) -> usize {
        number as usize & self.slots.len().wrapping_sub(1)
    }

    /// Returns the number of the oldest entry.
    #[inline(always)]
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Returns the number of the next entry to be pushed.
    #[inline(always)]
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// Returns the number of entries.
    #[inline(always)]
    pub fn len(&self) -> u64 {
        self.tail - self.head
    }

    /// Returns whether there are no entries.
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

    /// Returns the oldest entry.
    #[inline(always)]
    pub fn first(&self) -> Option<&T> {
        (self.head != self.tail).then(|| &self.slots[self.slot(self.head)])
    }

    /// Returns the second oldest entry.
    #[inline(always)]
    pub fn second(&self) -> Option<&T> {
        (self.len() > 1).then(|| &self.slots[self.slot(self.head + 1)])
    }

    /// Returns the latest entry.
    #[inline(always)]
    pub fn last(&self) -> Option<&T> {
        (self.head != self.tail).then(|| &self.slots[self.slot(self.tail - 1)])
    }

    /// Removes and returns the oldest entry, and leaves the default value in its place. Used for entries that cannot be
    /// copied.
    #[inline(always)]
    pub fn take(&mut self) -> Option<T> {
        if self.head == self.tail {
            return None;
        }
        let slot = self.slot(self.head);
        self.head += 1;
        Some(std::mem::take(&mut self.slots[slot]))
    }

    /// Removes and returns the latest entry, and leaves the default value in its place.
    pub fn take_last(&mut self) -> Option<T> {
        if self.head == self.tail {
            return None;
        }
        self.tail -= 1;
        let slot = self.slot(self.tail);
        Some(std::mem::take(&mut self.slots[slot]))
    }

    /// Removes and returns entry `number`, if it exists. The numbers of all later entries decrease by one.
    pub fn remove(&mut self, number: u64) -> Option<T> {
        if !(self.head..self.tail).contains(&number) {
            return None;
        }
        for later in number + 1..self.tail {
            let (to, from) = (self.slot(later - 1), self.slot(later));
            self.slots.swap(to, from);
        }
        self.take_last()
    }

    /// Returns entry `number`, which must exist.
    #[inline]
    pub fn get(&self, number: u64) -> &T {
        debug_assert!(self.head <= number && number < self.tail);
        &self.slots[self.slot(number)]
    }

    /// Returns a mutable reference to entry `number`, which must exist.
    #[inline]
    pub fn get_mut(&mut self, number: u64) -> &mut T {
        debug_assert!(self.head <= number && number < self.tail);
        let slot = self.slot(number);
        &mut self.slots[slot]
    }

    /// Returns entry `number`, if it exists.
    #[inline]
    pub fn find(&self, number: u64) -> Option<&T> {
        (self.head <= number && number < self.tail).then(|| &self.slots[self.slot(number)])
    }

    /// Returns the number of the first entry for which `precedes` does not hold; `precedes` must hold for all entries
    /// before that entry.
    pub fn partition_point(&self, precedes: impl Fn(&T) -> bool) -> u64 {
        self.partition_point_in(self.head, self.tail, precedes)
    }

    #[inline]
    fn partition_point_in(&self, mut from: u64, mut to: u64, precedes: impl Fn(&T) -> bool) -> u64 {
        while from < to {
            let middle = from + (to - from) / 2;
            if precedes(self.get(middle)) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// Iterates over mutable references to the entries from number `number` on, oldest first; each comes with its
    /// number.
    #[inline]
    pub fn iter_mut_from(&mut self, number: u64) -> impl Iterator<Item = (u64, &mut T)> {
        let (first, entries) = (self.slot(number), (self.tail - number) as usize);
        let (later, earlier) = self.slots.split_at_mut(first.min(self.slots.len()));
        let wrapped = entries.saturating_sub(earlier.len());
        let entries = earlier[..entries - wrapped].iter_mut().chain(&mut later[..wrapped]);
        (number..).zip(entries)
    }

    /// Iterates over the entries, oldest first.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let entries = self.len() as usize;
        let (later, earlier) = self.slots.split_at(self.slot(self.head).min(self.slots.len()));
        let wrapped = entries.saturating_sub(earlier.len());
        earlier[..entries - wrapped].iter().chain(&later[..wrapped])
    }

    #[cold]
    fn grow(&mut self) {
        let length = (2 * self.slots.len()).max(4);
        let mut slots = memory::space(length);
        slots.resize_with(length, T::default);
        for number in self.head..self.tail {
            slots[number as usize & (length - 1)] = std::mem::take(self.get_mut(number));
        }
        memory::give_back(memory::bytes::<T>(self.slots.len()));
        self.slots = slots.into_boxed_slice();
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Inserts an entry before entry `number`. The numbers of this and all later entries increase by one.
    pub fn insert(&mut self, number: u64, entry: T) {
        self.push(entry);
        let (from, to) = (self.slot(number), self.slot(self.tail - 1));
        if from <= to {
            // Usually a few entries move, for which a call that moves memory would take longer.
            let moved = &mut self.slots[from..=to];
            for slot in (1..moved.len()).rev() {
                moved[slot] = moved[slot - 1];
            }
            moved[0] = entry;
            return;
        }
        for later in (number + 1..self.tail).rev() {
            *self.get_mut(later) = *self.get(later - 1);
        }
        self.slots[from] = entry;
    }

    /// Inserts an entry before the last entries for which `to_precede` holds, but not before entry number `furthest`;
    /// returns its number. The search is linear: a binary search needs fewer steps, but the processor may mispredict
    /// the branch in each step.
    #[inline(always)]
    pub fn push_before(&mut self, entry: T, furthest: u64, to_precede: impl Fn(&T) -> bool) -> u64 {
        self.push(entry);
        let (near, end) = ((self.tail - 1 - furthest) as usize, self.slot(self.tail - 1));
        if let Some((last, searched)) = end
            .checked_sub(near)
            .and_then(|start| self.slots.get_mut(start..=end))
            .and_then(|slots| slots.split_last_mut())
        {
            // The searched entries are contiguous, so no slot has to be computed. Each one that follows moves by one slot.
            let (mut free, mut later) = (last, 0);
            for slot in searched.iter_mut().rev() {
                if !to_precede(slot) {
                    break;
                }
                *free = *slot;
                free = slot;
                later += 1;
            }
            *free = entry;
            return self.tail - 1 - later;
        }
        let mut place = self.tail - 1;
        while place > furthest && to_precede(self.get(place - 1)) {
            *self.get_mut(place) = *self.get(place - 1);
            place -= 1;
        }
        *self.get_mut(place) = entry;
        place
    }

    /// Moves the entry that was pushed last to its position in the order that `precedes` defines. Entry numbers change.
    pub fn sort_last(&mut self, precedes: impl Fn(&T, &T) -> bool) {
        self.tail -= 1;
        let entry = self.slots[self.slot(self.tail)];
        self.insert_sorted(entry, |other| precedes(other, &entry));
    }

    /// Inserts an entry after all entries for which `precedes` holds. Entry numbers change.
    fn insert_sorted(&mut self, entry: T, precedes: impl Fn(&T) -> bool) {
        // The position is usually near the end.
        let near = self.tail.saturating_sub(8).max(self.head);
        let mut place = (near..self.tail)
            .rev()
            .find(|&number| precedes(self.get(number)))
            .map_or(near, |number| number + 1);
        if place == near {
            place = self.partition_point_in(self.head, near, precedes);
        }
        if self.head == 0 || self.tail - place <= place - self.head {
            return self.insert(place, entry);
        }
        if self.len() as usize == self.slots.len() {
            self.grow();
        }
        self.head -= 1;
        for earlier in self.head..place - 1 {
            *self.get_mut(earlier) = *self.get(earlier + 1);
        }
        *self.get_mut(place - 1) = entry;
    }

    /// Removes and returns the oldest entry.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        let entry = *self.first()?;
        self.head += 1;
        Some(entry)
    }

    /// Removes the oldest entries for which `leaves` holds, up to the first for which it does not hold. Returns the last
    /// entry removed.
    #[inline(always)]
    pub fn pop_while(&mut self, mut leaves: impl FnMut(&T) -> bool) -> Option<T> {
        let mut head = self.head;
        while head != self.tail && leaves(&self.slots[self.slot(head)]) {
            head += 1;
        }
        let last = (head != self.head).then(|| self.slots[self.slot(head - 1)]);
        self.head = head;
        last
    }

    /// Removes the latest entry.
    pub fn pop_last(&mut self) {
        self.tail -= u64::from(self.tail > self.head);
    }

    /// Removes all entries.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.head = self.tail;
    }

    /// Uses up one entry number without storing an entry, and removes all entries with smaller numbers. Returns the
    /// number used up.
    #[inline(always)]
    pub fn skip(&mut self) -> u64 {
        self.tail += 1;
        self.head = self.tail;
        self.tail - 1
    }

    /// Removes all entries before `number`.
    pub fn drop_before(&mut self, number: u64) {
        debug_assert!(number <= self.tail);
        self.head = self.head.max(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sort_last_keeps_entries_sorted() {
        let (mut ring, mut list) = (Ring::default(), Vec::new());
        for n in 0..2000u64 {
            let entry = n * 7919 % 1009;
            ring.push(entry);
            ring.sort_last(|other, entry| other <= entry);
            list.insert(list.partition_point(|other| *other <= entry), entry);
            if n % 3 == 2 {
                assert_eq!(ring.pop(), Some(list.remove(0)));
            }
            assert!(ring.iter().eq(&list));
        }
    }

    #[test]
    fn uncopyable_entries_are_taken_and_removed_in_place() {
        let (mut ring, mut list) = (Ring::default(), Vec::new());
        for n in 0..500u64 {
            ring.push(Some(Box::new(n)));
            list.push(n);
            if n % 5 == 4 {
                let place = n % list.len() as u64;
                let removed = ring.remove(ring.head() + place).flatten();
                assert_eq!(removed, Some(Box::new(list.remove(place as usize))));
                assert_eq!(ring.take().flatten(), Some(Box::new(list.remove(0))));
                assert_eq!(ring.take_last().flatten().map(|last| *last), list.pop());
            }
            assert!(ring.iter().flatten().map(|entry| **entry).eq(list.iter().copied()));
            let from = ring.head() + n % (list.len() as u64 + 1);
            let numbered = ring
                .iter_mut_from(from)
                .flat_map(|(number, entry)| Some((number, **entry.as_ref()?)));
            let expected = (from..).zip(list.iter().copied().skip((n % (list.len() as u64 + 1)) as usize));
            assert!(numbered.eq(expected));
            assert_eq!(ring.find(from).is_some(), from < ring.tail());
        }
        assert_eq!(ring.remove(ring.tail()), None);
    }

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
