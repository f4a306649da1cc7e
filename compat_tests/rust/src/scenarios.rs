//! What the library is put through.

use std::time::Instant;

use serde_json::{json, Value};

use crate::client::{Client, Failure, Member, PATIENCE};
use crate::records::{base_timestamp, differences, numbered, samples, Received};

const MANY: i64 = 10_000;

pub type Scenario = fn(&Client, &str, &str) -> Result<Value, Failure>;

pub fn named(name: &str) -> Option<Scenario> {
    match name {
        "round-trip" => Some(round_trip),
        "group" => Some(group_of_two),
        "resume" => Some(resume),
        "seek" => Some(seek),
        "delete" => Some(delete),
        _ => None,
    }
}

fn round_trip(client: &Client, topic: &str, codec: &str) -> Result<Value, Failure> {
    let listed = create(client, topic, 1)?;
    let sent = samples(MANY);
    client.produce(topic, 0, codec, &sent)?;
    let got = client.read(topic, None, sent.len())?;
    Ok(json!({
        "listed_at_once": listed,
        "received": got.len(),
        "differences": differences(&sent, &got),
    }))
}

fn group_of_two(client: &Client, topic: &str, _codec: &str) -> Result<Value, Failure> {
    create(client, topic, 4)?;
    fill(client, topic, 4, 0, 50)?;
    let first = client.join(topic, topic)?;
    poll_until(&[&first], |got| Ok(got.len() >= 200))?;
    let alone = first.assignment()?;
    for partition in 0..4 {
        first.commit(partition, 50)?;
    }
    let second = client.join(topic, topic)?;
    poll_until(&[&first, &second], |_| {
        Ok(first.assignment()?.len() == 2 && second.assignment()?.len() == 2)
    })?;
    let shared = [first.assignment()?, second.assignment()?];
    fill(client, topic, 4, 50, 10)?;
    let got = poll_until(&[&first, &second], |got| Ok(got.len() >= 40))?;
    drop(second); // leaves.
    poll_until(&[&first], |_| Ok(first.assignment()?.len() == 4))?;
    let mut places: Vec<_> = got.iter().map(|each| (each.partition, each.offset)).collect();
    places.sort_unstable();
    Ok(json!({ "alone": alone, "shared": shared, "received": places }))
}

fn resume(client: &Client, topic: &str, _codec: &str) -> Result<Value, Failure> {
    create(client, topic, 1)?;
    fill(client, topic, 1, 0, 30)?;
    let mut received = Vec::new();
    for count in [30, 10, 10] {
        let member = client.join(topic, topic)?;
        let got = poll_until(&[&member], |got| Ok(got.len() >= count))?;
        if received.is_empty() {
            member.commit(0, 20)?;
        }
        received.push(offsets(&got));
    }
    Ok(json!({ "received": received }))
}

fn seek(client: &Client, topic: &str, _codec: &str) -> Result<Value, Failure> {
    create(client, topic, 1)?;
    fill(client, topic, 1, 0, 40)?;
    let mut found = Vec::new();
    for after in [-1, 10_000, 10_001, 39_001] {
        found.push(client.offset_for_time(topic, base_timestamp() + after)?.unwrap_or(-1));
    }
    let got = client.read(topic, Some(base_timestamp() + 9_500), 30)?;
    Ok(json!({ "found": found, "received": offsets(&got) }))
}

fn delete(client: &Client, topic: &str, _codec: &str) -> Result<Value, Failure> {
    create(client, topic, 1)?;
    fill(client, topic, 1, 0, 20)?;
    client.delete_topic(topic)?;
    let gone = await_listed(client, topic, false)?;
    create(client, topic, 1)?;
    fill(client, topic, 1, 20, 5)?;
    let got = client.read(topic, None, 5)?;
    Ok(json!({ "gone_at_once": gone, "received": offsets(&got) }))
}

/// Makes a topic, and waits until the broker lists it; the real Kafka answers a little before. Was it
/// there at the first look?
fn create(client: &Client, topic: &str, partitions: i32) -> Result<bool, Failure> {
    client.create_topic(topic, partitions)?;
    await_listed(client, topic, true)
}

/// Waits until the broker lists a topic, or lists it no more. Was it so at the first look?
fn await_listed(client: &Client, topic: &str, wanted: bool) -> Result<bool, Failure> {
    let deadline = Instant::now() + PATIENCE;
    let mut at_once = true;
    while Instant::now() < deadline {
        if client.topics()?.iter().any(|name| name == topic) == wanted {
            return Ok(at_once);
        }
        at_once = false;
    }
    Err(format!("{topic}: listed={wanted} never came true").into())
}

/// Sends the records `first`, `first` + 1 and so on to each partition.
fn fill(
    client: &Client,
    topic: &str,
    partitions: i32,
    first: i64,
    count: i64,
) -> Result<(), Failure> {
    for partition in 0..partitions {
        client.produce(topic, partition, "none", &numbered(first, count))?;
    }
    Ok(())
}

/// Lets the members poll in turn until the condition holds of all that they got.
fn poll_until(
    members: &[&Member],
    holds: impl Fn(&[Received]) -> Result<bool, Failure>,
) -> Result<Vec<Received>, Failure> {
    let mut got = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    while !holds(&got)? {
        if Instant::now() > deadline {
            let assigned: Result<Vec<_>, _> =
                members.iter().map(|each| each.assignment()).collect();
            return Err(format!(
                "{} records after {PATIENCE:?}, assigned: {:?}",
                got.len(),
                assigned?
            )
            .into());
        }
        for member in members {
            got.extend(member.poll()?);
        }
    }
    Ok(got)
}

fn offsets(got: &[Received]) -> Vec<i64> {
    got.iter().map(|each| each.offset).collect()
}
