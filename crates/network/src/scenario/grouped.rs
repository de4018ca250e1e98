//! Groups of members, stored in one list, which is built in linear time for any number of groups.

/// Members by group, in the order in which they were given.
#[derive(Clone, Debug)]
pub(super) struct Grouped {
    /// Members of group 0, then of group 1, and so on.
    members: Vec<usize>,
    /// Start index of each group, and the end of the last group.
    begins: Vec<usize>,
}

impl Grouped {
    /// Sorts (group, member) pairs into `groups` groups by counting sort.
    pub(super) fn new(groups: usize, pairs: impl Iterator<Item = (usize, usize)> + Clone) -> Grouped {
        let mut begins = vec![0; groups + 1];
        for (group, _) in pairs.clone() {
            begins[group + 1] += 1;
        }
        for group in 0..groups {
            begins[group + 1] += begins[group];
        }
        let (mut next, mut members) = (begins.clone(), vec![0; begins[groups]]);
        for (group, member) in pairs {
            members[next[group]] = member;
            next[group] += 1;
        }
        Grouped { members, begins }
    }

    /// Returns the members of a group.
    pub(super) fn of(&self, group: usize) -> &[usize] {
        &self.members[self.begins[group]..self.begins[group + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_within_each_group() {
        let pairs = [(2, 7), (0, 5), (2, 3), (2, 7)];
        let grouped = Grouped::new(4, pairs.into_iter());
        let found: Vec<&[usize]> = (0..4).map(|group| grouped.of(group)).collect();
        assert_eq!(found, [&[5][..], &[], &[7, 3, 7], &[]]);
    }
}
