//! What is done to a call.

/// One call's bad luck: it strikes once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The end of its path.
    method: String,
    /// Calls that still go well before it.
    spared: usize,
    /// Bytes of clients that still pass in such calls.
    passes: u64,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Status(u8, String),
    Cut,
    Hang,
    Stop,
}

impl Fault {
    /// Answers with this status code of gRPC instead of the daemon.
    pub fn status(method: &str, code: u8, message: &str) -> Self {
        Self::new(method, Kind::Status(code, message.to_owned()))
    }

    /// Breaks the connection.
    pub fn cut(method: &str) -> Self {
        Self::new(method, Kind::Cut)
    }

    /// Never answers, and takes nothing more; the connection breaks when the proxy is healed.
    pub fn hang(method: &str) -> Self {
        Self::new(method, Kind::Hang)
    }

    /// Takes nothing more until the proxy is healed, then goes on as if nothing had been.
    pub fn stop(method: &str) -> Self {
        Self::new(method, Kind::Stop)
    }

    /// Strikes the n-th call from now on, instead of the first.
    #[must_use]
    pub fn nth(self, n: usize) -> Self {
        let spared = n.saturating_sub(1);
        Self { spared, ..self }
    }

    /// Strikes when clients have sent this many bytes in such calls, instead of at once.
    #[must_use]
    pub fn after(self, bytes: u64) -> Self {
        let passes = bytes;
        Self { passes, ..self }
    }

    fn new(method: &str, kind: Kind) -> Self {
        Self {
            method: method.to_owned(),
            spared: 0,
            passes: 0,
            kind,
        }
    }

    fn is_for(&self, path: &str) -> bool {
        path.ends_with(&self.method)
    }

    /// Whether it strikes a call that begins.
    fn at_begin(&mut self, path: &str) -> bool {
        if !self.is_for(path) {
            return false;
        }
        if self.spared > 0 {
            self.spared -= 1;
            return false;
        }
        self.passes == 0
    }

    /// Whether it strikes a call of which so many bytes more have passed.
    fn at_bytes(&mut self, path: &str, bytes: u64) -> bool {
        if !self.is_for(path) || self.spared > 0 || self.passes == 0 {
            return false;
        }
        self.passes = self.passes.saturating_sub(bytes);
        self.passes == 0
    }
}

/// Faults that are still to strike.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub(super) fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The fault that strikes a call as it begins.
    pub(super) fn at_begin(&mut self, path: &str) -> Option<Kind> {
        self.take(|fault| fault.at_begin(path))
    }

    /// The fault that strikes a call as these bytes of it have passed.
    pub(super) fn at_bytes(&mut self, path: &str, bytes: u64) -> Option<Kind> {
        self.take(|fault| fault.at_bytes(path, bytes))
    }

    fn take(&mut self, strikes: impl FnMut(&mut Fault) -> bool) -> Option<Kind> {
        let position = self.0.iter_mut().position(strikes)?;
        Some(self.0.remove(position).kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: &str = "/containerd.services.content.v1.Content/Write";

    #[test]
    fn the_second_call_of_its_method_is_struck_and_no_other() {
        let mut faults = Faults::default();
        faults.add(Fault::cut("Content/Write").nth(2));
        let paths = [WRITE, "/c.Content/Abort", WRITE, WRITE];
        let struck = paths.map(|path| faults.at_begin(path).is_some());
        assert_eq!(struck, [false, false, true, false]);
    }

    #[test]
    fn bytes_are_counted_over_calls() {
        let mut faults = Faults::default();
        faults.add(Fault::hang("Content/Write").after(100));
        assert_eq!(faults.at_begin(WRITE), None);
        let struck = [60, 39, 1, 1000].map(|bytes| faults.at_bytes(WRITE, bytes).is_some());
        assert_eq!(struck, [false, false, true, false]);
    }
}
