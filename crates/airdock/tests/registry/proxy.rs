//! A proxy before a registry: it looks at each request and says what becomes of it.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A request, as far as it matters here.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// With its query.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: HashMap<String, String>,
    /// What was sent with it.
    pub(crate) body: String,
    /// Which of the requests for this path it is, from 0.
    pub(crate) nth: usize,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// What becomes of a request.
pub(crate) enum Action {
    Forward,
    /// So many bytes of the body, and the connection ends.
    Cut(u64),
    /// So many bytes of the body, and nothing more until the client goes away.
    Stall(u64),
    /// As if no range had been asked for.
    Whole,
    Answer(Answer),
}

/// An answer of the proxy's own.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Lines without their ends.
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn status(status: u16) -> Action {
        Self::with(status, &[], "")
    }

    pub(crate) fn with(status: u16, headers: &[&str], body: &str) -> Action {
        Action::Answer(Self {
            status,
            headers: headers.iter().map(|&header| header.to_owned()).collect(),
            body: body.to_owned(),
        })
    }
}

/// A request that was made, and the bytes of its answer's body.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) request: Request,
    pub(crate) bytes: u64,
}

type Decide = dyn Fn(&Request) -> Action + Send + Sync;

struct Shared {
    upstream: String,
    decide: Box<Decide>,
    calls: Mutex<Vec<Call>>,
    over: AtomicBool,
}

/// A running proxy; it takes no more connections when dropped.
pub(crate) struct Proxy {
    pub(crate) authority: String,
    shared: Arc<Shared>,
}

impl Proxy {
    pub(crate) fn before(
        upstream: &str,
        decide: impl Fn(&Request) -> Action + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let authority = listener.local_addr()?.to_string();
        let shared = Arc::new(Shared {
            upstream: upstream.to_owned(),
            decide: Box::new(decide),
            calls: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if serving.over.load(Ordering::Relaxed) {
                    return;
                }
                let serving = Arc::clone(&serving);
                // A client that goes away is no failure of the proxy's.
                thread::spawn(move || serving.serve(client));
            }
        });
        Ok(Self { authority, shared })
    }

    /// The whole name of what stands in the registry under `path`.
    pub(crate) fn name(&self, path: &str) -> String {
        format!("{}/{path}", self.authority)
    }

    /// Every request until now whose path holds `part`.
    pub(crate) fn calls(&self, part: &str) -> Vec<Call> {
        let calls = self.shared.calls.lock();
        let calls = calls.unwrap_or_else(PoisonError::into_inner);
        let mut calls: Vec<Call> = calls.clone();
        calls.retain(|call| call.request.path.contains(part));
        calls
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // The listener waits for one more connection.
        let _ = TcpStream::connect(&self.authority);
    }
}

impl Shared {
    fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(client.try_clone()?);
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_owned()),
            }
        }
        let mut body = vec![0; length(&head)];
        reader.read_exact(&mut body)?;
        let (at, request) = self.note(&head, body);
        match (self.decide)(&request) {
            Action::Forward => self.forward(&head, &mut client, at, u64::MAX),
            Action::Cut(after) => self.forward(&head, &mut client, at, after),
            Action::Stall(after) => {
                self.forward(&head, &mut client, at, after)?;
                reader.read(&mut [0]).map(drop)
            }
            Action::Whole => {
                head.retain(|line| !line.to_lowercase().starts_with("range:"));
                self.forward(&head, &mut client, at, u64::MAX)
            }
            Action::Answer(answer) => respond(&mut client, &answer),
        }
    }

    /// Lists the request; its place in the list.
    fn note(&self, head: &[String], body: Vec<u8>) -> (usize, Request) {
        let path = head.first().and_then(|line| line.split(' ').nth(1));
        let path = path.unwrap_or_default().to_owned();
        let headers = head.iter().skip(1).filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let request = Request {
            nth: calls
                .iter()
                .filter(|call| call.request.path == path)
                .count(),
            headers: headers.collect(),
            body: String::from_utf8_lossy(&body).into_owned(),
            path,
        };
        calls.push(Call {
            request: request.clone(),
            bytes: 0,
        });
        (calls.len() - 1, request)
    }

    fn forward(
        &self,
        head: &[String],
        client: &mut TcpStream,
        at: usize,
        limit: u64,
    ) -> io::Result<()> {
        let mut upstream = TcpStream::connect(&self.upstream)?;
        let stays = |line: &&String| !line.to_lowercase().starts_with("connection:");
        for line in head.iter().filter(stays) {
            write!(upstream, "{line}\r\n")?;
        }
        write!(upstream, "Connection: close\r\n\r\n")?;
        let mut answer = BufReader::new(upstream);
        loop {
            let mut line = String::new();
            answer.read_line(&mut line)?;
            client.write_all(line.as_bytes())?;
            if line.trim_end().is_empty() {
                break;
            }
        }
        self.body(&mut answer.take(limit), client, at)
    }

    fn body(&self, from: &mut impl io::Read, to: &mut TcpStream, at: usize) -> io::Result<()> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = from.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            to.write_all(&buffer[..count])?;
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls[at].bytes += count as u64;
        }
    }
}

fn length(head: &[String]) -> usize {
    let length = |line: &String| {
        let line = line.to_lowercase();
        line.strip_prefix("content-length: ")?.parse().ok()
    };
    head.iter().find_map(length).unwrap_or_default()
}

fn respond(client: &mut TcpStream, answer: &Answer) -> io::Result<()> {
    let Answer {
        status,
        headers,
        body,
    } = answer;
    let length = body.len();
    write!(client, "HTTP/1.1 {status} X\r\nConnection: close\r\n")?;
    for header in headers {
        write!(client, "{header}\r\n")?;
    }
    write!(client, "Content-Length: {length}\r\n\r\n{body}")
}
