//! rdkafka, as the scenarios use it: fresh connections for each call.

use std::env;
use std::time::{Duration, Instant};

use futures_executor::block_on;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::{ClientContext, DefaultClientContext};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, DeliveryResult, Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};
use rdkafka::{Offset, TopicPartitionList};

use crate::records::{Received, Record};

pub type Failure = Box<dyn std::error::Error>;
pub const PATIENCE: Duration = Duration::from_secs(60);
const MOMENT: Duration = Duration::from_millis(100);

pub struct Client {
    bootstrap: String,
}

impl Client {
    pub fn new(bootstrap: String) -> Client {
        Client { bootstrap }
    }

    fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.bootstrap);
        if let Ok(mechanism) = env::var("SASL_MECHANISM") {
            config.set("security.protocol", "SASL_PLAINTEXT").set("sasl.mechanism", mechanism);
            config.set("sasl.username", env::var("SASL_USERNAME").unwrap_or_default());
            config.set("sasl.password", env::var("SASL_PASSWORD").unwrap_or_default());
        }
        config
    }

    pub fn create_topic(&self, topic: &str, partitions: i32) -> Result<(), Failure> {
        let admin: AdminClient<DefaultClientContext> = self.config().create()?;
        let wanted = NewTopic::new(topic, partitions, TopicReplication::Fixed(1));
        for answer in block_on(admin.create_topics([&wanted], &AdminOptions::new()))? {
            answer.map_err(|(name, code)| format!("{name}: {code}"))?;
        }
        Ok(())
    }

    pub fn delete_topic(&self, topic: &str) -> Result<(), Failure> {
        let admin: AdminClient<DefaultClientContext> = self.config().create()?;
        for answer in block_on(admin.delete_topics(&[topic], &AdminOptions::new()))? {
            answer.map_err(|(name, code)| format!("{name}: {code}"))?;
        }
        Ok(())
    }

    pub fn topics(&self) -> Result<Vec<String>, Failure> {
        let admin: AdminClient<DefaultClientContext> = self.config().create()?;
        let metadata = admin.inner().fetch_metadata(None, PATIENCE)?;
        Ok(metadata.topics().iter().map(|topic| topic.name().to_owned()).collect())
    }

    /// Sends all to one partition, in order; returns when all are acknowledged.
    pub fn produce(
        &self,
        topic: &str,
        partition: i32,
        codec: &str,
        records: &[Record],
    ) -> Result<(), Failure> {
        let mut config = self.config();
        config.set("compression.type", codec).set("acks", "all").set("linger.ms", "5");
        let producer: BaseProducer<Reports> = config.create_with_context(Reports)?;
        for each in records {
            let mut record = BaseRecord::<[u8], [u8]>::to(topic)
                .partition(partition)
                .timestamp(each.timestamp_ms);
            record.key = each.key.as_deref();
            record.payload = each.value.as_deref();
            if !each.headers.is_empty() {
                let headers = each.headers.iter().fold(OwnedHeaders::new(), |all, (key, value)| {
                    all.insert(Header { key, value: value.as_deref() })
                });
                record = record.headers(headers);
            }
            producer.send(record).map_err(|(error, _)| error)?;
            producer.poll(Duration::ZERO);
        }
        Ok(producer.flush(PATIENCE)?)
    }

    /// So many records of partition 0: from the beginning, or from the first that is not older than
    /// a time in ms.
    pub fn read(
        &self,
        topic: &str,
        from_ms: Option<i64>,
        count: usize,
    ) -> Result<Vec<Received>, Failure> {
        let consumer = self.consumer("unused")?;
        // An offset by number: asked for the beginning, librdkafka may wait for long.
        let start = match from_ms {
            None => consumer.fetch_watermarks(topic, 0, PATIENCE)?.0,
            Some(time_ms) => {
                offset_at(&consumer, topic, time_ms)?.ok_or("no record from that time on")?
            }
        };
        let mut places = TopicPartitionList::new();
        places.add_partition_offset(topic, 0, Offset::Offset(start))?;
        consumer.assign(&places)?;
        let mut got = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        while got.len() < count && Instant::now() < deadline {
            if let Some(message) = consumer.poll(MOMENT) {
                got.push(received(&message?));
            }
        }
        Ok(got)
    }

    /// Of the first record in partition 0 that is not older.
    pub fn offset_for_time(&self, topic: &str, time_ms: i64) -> Result<Option<i64>, Failure> {
        offset_at(&self.consumer("unused")?, topic, time_ms)
    }

    pub fn join(&self, group: &str, topic: &str) -> Result<Member, Failure> {
        let consumer = self.consumer(group)?;
        consumer.subscribe(&[topic])?;
        Ok(Member { consumer, topic: topic.to_owned() })
    }

    fn consumer(&self, group: &str) -> Result<BaseConsumer, KafkaError> {
        self.config()
            .set("group.id", group)
            .set("auto.offset.reset", "earliest")
            .set("enable.auto.commit", "false")
            .set("session.timeout.ms", "6000") // the shortest that a broker takes.
            .set("heartbeat.interval.ms", "500")
            .set("topic.metadata.refresh.interval.ms", "500")
            .create()
    }
}

/// Ends the program when a record could not be delivered.
struct Reports;

impl ClientContext for Reports {}

impl ProducerContext for Reports {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, _: ()) {
        if let Err((error, message)) = result {
            panic!("{:?} was not delivered: {error}", message.key());
        }
    }
}

/// A consumer in a group. It begins where the group has committed, else at the earliest offset, and
/// commits only when it is told to. Dropped, it leaves.
pub struct Member {
    consumer: BaseConsumer,
    topic: String,
}

impl Member {
    /// What has come, waiting a moment for it.
    pub fn poll(&self) -> Result<Vec<Received>, Failure> {
        let mut got = Vec::new();
        let mut wait = MOMENT;
        while let Some(message) = self.consumer.poll(wait) {
            got.push(received(&message?));
            wait = Duration::ZERO;
        }
        Ok(got)
    }

    /// The partitions it has now, sorted.
    pub fn assignment(&self) -> Result<Vec<i32>, Failure> {
        let assigned = self.consumer.assignment()?;
        let mut partitions: Vec<i32> =
            assigned.elements().iter().map(|each| each.partition()).collect();
        partitions.sort_unstable();
        Ok(partitions)
    }

    /// Keeps the offset for the group; returns when that is acknowledged.
    pub fn commit(&self, partition: i32, offset: i64) -> Result<(), Failure> {
        let mut places = TopicPartitionList::new();
        places.add_partition_offset(&self.topic, partition, Offset::Offset(offset))?;
        Ok(self.consumer.commit(&places, CommitMode::Sync)?)
    }
}

fn offset_at(consumer: &BaseConsumer, topic: &str, time_ms: i64) -> Result<Option<i64>, Failure> {
    let mut asked = TopicPartitionList::new();
    asked.add_partition_offset(topic, 0, Offset::Offset(time_ms))?;
    let found = consumer.offsets_for_times(asked, PATIENCE)?;
    let place = &found.elements()[0];
    place.error()?;
    match place.offset() {
        Offset::Offset(offset) => Ok(Some(offset)),
        Offset::End => Ok(None),
        other => Err(format!("offset of a time: {other:?}").into()),
    }
}

fn received(message: &BorrowedMessage) -> Received {
    let headers = message.headers().map_or(vec![], |headers| {
        headers.iter().map(|each| (each.key.to_owned(), each.value.map(<[u8]>::to_vec))).collect()
    });
    Received {
        partition: message.partition(),
        offset: message.offset(),
        record: Record {
            key: message.key().map(<[u8]>::to_vec),
            value: message.payload().map(<[u8]>::to_vec),
            headers,
            timestamp_ms: message.timestamp().to_millis().unwrap_or(-1),
        },
    }
}
