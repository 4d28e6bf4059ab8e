//! A name from whoever imports the bundle, for an image that the bundle gives none.

use crate::bundle::Bundle;
use crate::name::Name;
use crate::verdict::Verdict;

impl Bundle {
    /// Gives the one unnamed image of the bundle a name. False, and nothing changes, where no
    /// image or several are unnamed: which one is meant could only be guessed.
    pub fn give_name(&mut self, name: Name) -> bool {
        let images = self.images.iter_mut();
        let mut unnamed = images.filter(|image| image.verdict() == Verdict::Unnamed);
        let (Some(image), None) = (unnamed.next(), unnamed.next()) else {
            return false;
        };
        image.names.push(name);
        true
    }
}
