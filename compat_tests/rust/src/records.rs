//! The records that are sent, and how they are compared.

use std::sync::OnceLock;

static BASE_TIMESTAMP: OnceLock<i64> = OnceLock::new();

/// That of sample.py, in ms.
pub fn base_timestamp() -> i64 {
    *BASE_TIMESTAMP.get().expect("main has set it")
}

/// From the environment; `None` where it has none.
pub fn set_base_timestamp() -> Option<()> {
    let given = std::env::var("BASE_TIMESTAMP").ok()?.parse().ok()?;
    BASE_TIMESTAMP.set(given).ok()
}

/// A key or value that is `None` is null, which is not the same as empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    pub timestamp_ms: i64,
}

#[derive(Debug)]
pub struct Received {
    pub partition: i32,
    pub offset: i64,
    pub record: Record,
}

/// The records of sample.py, which says why they are so.
pub fn samples(count: i64) -> Vec<Record> {
    (0..count).map(sample).collect()
}

fn sample(i: i64) -> Record {
    let mut key = Some(format!("key-{}", i % 101).into_bytes());
    let mut text = format!("value {i} ").into_bytes();
    text.resize(text.len() + (i * 7 % 211) as usize, i as u8);
    let mut value = Some(text);
    if i % 11 == 0 {
        key = None;
    } else if i % 13 == 0 {
        value = None;
    } else if i % 17 == 0 {
        key = Some(vec![]);
    } else if i % 19 == 0 {
        value = Some(vec![]);
    } else if i % 997 == 0 {
        value = Some(b"large".repeat(400));
    }
    let mut headers = vec![
        ("trace".to_owned(), Some(i.to_string().into_bytes())),
        ("trace".to_owned(), Some(vec![])),
        ("bin".to_owned(), Some((0..(i % 32) as u8).collect())),
    ];
    headers.truncate((i % 4) as usize);
    let timestamp_ms = base_timestamp() + i * 37 % 1000 - 500 + i;
    Record { key, value, headers, timestamp_ms }
}

/// Records whose values are `first`, `first` + 1 and so on, a second apart.
pub fn numbered(first: i64, count: i64) -> Vec<Record> {
    (first..first + count)
        .map(|number| Record {
            key: None,
            value: Some(number.to_string().into_bytes()),
            headers: vec![],
            timestamp_ms: base_timestamp() + 1_000 * number,
        })
        .collect()
}

/// The first few records that did not come back as they were sent.
pub fn differences(sent: &[Record], got: &[Received]) -> Vec<String> {
    sent.iter()
        .zip(got)
        .enumerate()
        .filter(|(i, (want, have))| have.offset != *i as i64 || have.record != **want)
        .map(|(i, (want, have))| format!("{i}: sent {want:?}, received {have:?}"))
        .take(5)
        .collect()
}
