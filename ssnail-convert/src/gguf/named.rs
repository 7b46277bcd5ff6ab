//! Items in the order of the file that can be found by name.

pub(super) trait HasName {
    fn name(&self) -> &str;
}

/// The items in file order, with an index sorted by name: one word an item, which no choice of names can slow
/// down or blow up.
#[derive(Debug)]
pub(super) struct Named<T> {
    items: Vec<T>,
    by_name: Vec<usize>,
}

impl<T: HasName> Named<T> {
    /// Indexes the items. If a name occurs twice, gives the second item with it and the first one.
    pub(super) fn new(items: Vec<T>) -> Result<Self, (T, T)> {
        let mut by_name: Vec<usize> = (0..items.len()).collect();
        by_name.sort_unstable_by(|&a, &b| items[a].name().cmp(items[b].name()).then(a.cmp(&b)));
        let twice = by_name.windows(2).find(|w| items[w[0]].name() == items[w[1]].name());
        if let Some(&[first, again]) = twice {
            let mut items = items;
            let again = items.swap_remove(again); // `first` comes earlier, so it stays where it is
            return Err((again, items.swap_remove(first)));
        }
        Ok(Self { items, by_name })
    }

    pub(super) fn items(&self) -> &[T] {
        &self.items
    }

    /// The items, to change anything but their names.
    pub(super) fn items_mut(&mut self) -> &mut [T] {
        &mut self.items
    }

    pub(super) fn get(&self, name: &str) -> Option<&T> {
        let found = self.by_name.binary_search_by(|&i| self.items[i].name().cmp(name)).ok()?;
        self.items.get(self.by_name[found])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl HasName for (&str, u32) {
        fn name(&self) -> &str {
            self.0
        }
    }

    #[test]
    fn order_is_kept_and_names_are_found() {
        let named = Named::new(vec![("b", 0), ("a", 1), ("c", 2)]).unwrap();
        assert_eq!(named.items(), [("b", 0), ("a", 1), ("c", 2)]);
        assert_eq!(named.get("a"), Some(&("a", 1)));
        assert_eq!(named.get("c"), Some(&("c", 2)));
        assert_eq!(named.get("d"), None);
    }

    #[test]
    fn the_second_of_a_name_is_reported_with_the_first() {
        let twice = Named::new(vec![("b", 0), ("a", 1), ("c", 2), ("a", 3), ("a", 4)]).unwrap_err();
        assert_eq!(twice, (("a", 3), ("a", 1)));
        let twice = Named::new(vec![("a", 0), ("a", 1)]).unwrap_err();
        assert_eq!(twice, (("a", 1), ("a", 0)));
    }
}
