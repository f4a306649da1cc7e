package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

type saramaClient struct {
	bootstrap []string
	version   sarama.KafkaVersion
}

// newSarama is sarama as it comes: it speaks as to a broker of its default version.
func newSarama(bootstrap string) client {
	return saramaClient{[]string{bootstrap}, sarama.DefaultVersion}
}

func newSaramaNewest(bootstrap string) client {
	return saramaClient{[]string{bootstrap}, sarama.MaxVersion}
}

var saramaCodecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

func (s saramaClient) config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = s.version
	given.sarama(config)
	return config
}

func (s saramaClient) createTopic(topic string, partitions int) error {
	admin, err := sarama.NewClusterAdmin(s.bootstrap, s.config())
	if err != nil {
		return err
	}
	defer admin.Close()
	detail := sarama.TopicDetail{NumPartitions: int32(partitions), ReplicationFactor: 1}
	return admin.CreateTopic(topic, &detail, false)
}

func (s saramaClient) deleteTopic(topic string) error {
	admin, err := sarama.NewClusterAdmin(s.bootstrap, s.config())
	if err != nil {
		return err
	}
	defer admin.Close()
	return admin.DeleteTopic(topic)
}

func (s saramaClient) topics() ([]string, error) {
	inner, err := sarama.NewClient(s.bootstrap, s.config())
	if err != nil {
		return nil, err
	}
	defer inner.Close()
	return inner.Topics()
}

func (s saramaClient) offsetForTime(topic string, timestamp int64) (int64, error) {
	inner, err := sarama.NewClient(s.bootstrap, s.config())
	if err != nil {
		return 0, err
	}
	defer inner.Close()
	return inner.GetOffset(topic, 0, timestamp)
}

func (s saramaClient) produce(topic string, partition int, codec string, records []record) error {
	config := s.config()
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Compression = saramaCodecs[codec]
	config.Producer.Return.Successes = true
	producer, err := sarama.NewSyncProducer(s.bootstrap, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	all := make([]*sarama.ProducerMessage, len(records))
	for i, each := range records {
		message := &sarama.ProducerMessage{
			Topic:     topic,
			Partition: int32(partition),
			Timestamp: time.UnixMilli(each.timestamp),
		}
		if each.key != nil { // a nil ByteEncoder would be an empty key.
			message.Key = sarama.ByteEncoder(each.key)
		}
		if each.value != nil {
			message.Value = sarama.ByteEncoder(each.value)
		}
		for _, header := range each.headers {
			other := sarama.RecordHeader{Key: []byte(header.name), Value: header.value}
			message.Headers = append(message.Headers, other)
		}
		all[i] = message
	}
	return producer.SendMessages(all)
}

func (s saramaClient) read(topic string, from int64, count int) ([]received, error) {
	start := sarama.OffsetOldest
	if from != none {
		var err error
		if start, err = s.offsetForTime(topic, from); err != nil {
			return nil, err
		}
	}
	return s.readFrom(topic, start, count, sarama.ReadUncommitted)
}

func (s saramaClient) readFrom(
	topic string, start int64, count int, level sarama.IsolationLevel,
) ([]received, error) {
	config := s.config()
	config.Consumer.IsolationLevel = level
	consumer, err := sarama.NewConsumer(s.bootstrap, config)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, start)
	if err != nil {
		return nil, err
	}
	defer partition.Close()
	deadline := time.After(patience)
	var got []received
	for len(got) < count {
		select {
		case message := <-partition.Messages():
			got = append(got, saramaReceived(message))
		case <-deadline:
			return got, fmt.Errorf("%d of %d records after %s", len(got), count, patience)
		}
	}
	return got, nil
}

func saramaReceived(message *sarama.ConsumerMessage) received {
	var headers []header
	for _, each := range message.Headers {
		headers = append(headers, header{string(each.Key), each.Value})
	}
	fields := record{message.Key, message.Value, headers, message.Timestamp.UnixMilli()}
	return received{message.Topic, int(message.Partition), message.Offset, fields}
}

// saramaMember is also what sarama calls back, from goroutines of its own.
type saramaMember struct {
	group   sarama.ConsumerGroup
	topic   string
	arrived chan received
	stop    context.CancelFunc
	ended   chan error // what the loop of Consume ended with.

	lock    sync.Mutex
	begun   *sync.Cond                  // a session has.
	session sarama.ConsumerGroupSession // nil between two generations.
	left    bool
}

func (s saramaClient) join(group, topic string) (member, error) {
	return s.joinAs(group, topic, "")
}

func (s saramaClient) joinAs(group, topic, instance string) (member, error) {
	config := s.config()
	config.Consumer.Group.InstanceId = instance
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Session.Timeout = session
	config.Consumer.Group.Heartbeat.Interval = heartbeat
	config.Metadata.RefreshFrequency = newTopics
	inner, err := sarama.NewConsumerGroup(s.bootstrap, group, config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	here := &saramaMember{
		group: inner, topic: topic, arrived: make(chan received, many), stop: cancel, ended: make(chan error, 1),
	}
	here.begun = sync.NewCond(&here.lock)
	go func() {
		var err error
		for err == nil && ctx.Err() == nil { // Consume returns with each rebalance.
			err = inner.Consume(ctx, []string{topic}, here)
		}
		here.ended <- err
	}()
	return here, nil
}

func (m *saramaMember) Setup(session sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.session = session
	m.begun.Broadcast()
	return nil
}

func (m *saramaMember) Cleanup(sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.session = nil
	return nil
}

func (m *saramaMember) ConsumeClaim(_ sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		m.arrived <- saramaReceived(message)
	}
	return nil
}

func (m *saramaMember) poll() (got []received, err error) {
	deadline := time.After(moment)
	for {
		select {
		case each := <-m.arrived:
			got = append(got, each)
		case err := <-m.ended:
			return got, fmt.Errorf("consume ended: %w", err)
		case <-deadline:
			return got, nil
		}
	}
}

func (m *saramaMember) assignment() (partitions []int, err error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.session == nil {
		return nil, nil
	}
	for _, partition := range m.session.Claims()[m.topic] {
		partitions = append(partitions, int(partition))
	}
	return partitions, nil
}

func (m *saramaMember) commit(partition int, offset int64) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	for m.session == nil { // The other member may have left just now.
		m.begun.Wait()
	}
	m.session.MarkOffset(m.topic, int32(partition), offset, "")
	m.session.Commit()
	return nil
}

func (m *saramaMember) leave() error {
	if m.left {
		return nil
	}
	m.left = true
	m.stop()
	err := <-m.ended
	return errors.Join(err, m.group.Close())
}
