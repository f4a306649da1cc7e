package main

import (
	"context"
	"fmt"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

type confluent struct{ bootstrap string }

func newConfluent(bootstrap string) client { return confluent{bootstrap} }

func (c confluent) settings(more kafka.ConfigMap) *kafka.ConfigMap {
	more["bootstrap.servers"] = c.bootstrap
	if given.mechanism != "" {
		more["security.protocol"], more["sasl.mechanism"] = "SASL_PLAINTEXT", given.mechanism
		more["sasl.username"], more["sasl.password"] = given.username, given.password
	}
	return &more
}

func (c confluent) admin(do func(context.Context, *kafka.AdminClient) error) error {
	admin, err := kafka.NewAdminClient(c.settings(kafka.ConfigMap{}))
	if err != nil {
		return err
	}
	defer admin.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return do(ctx, admin)
}

// answer is the error of one topic; the zero Error of this library is not nil.
func answer(results []kafka.TopicResult, err error) error {
	if err == nil && results[0].Error.Code() != kafka.ErrNoError {
		err = results[0].Error
	}
	return err
}

func (c confluent) createTopic(topic string, partitions int) error {
	return c.admin(func(ctx context.Context, admin *kafka.AdminClient) error {
		wanted := kafka.TopicSpecification{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}
		return answer(admin.CreateTopics(ctx, []kafka.TopicSpecification{wanted}))
	})
}

func (c confluent) deleteTopic(topic string) error {
	return c.admin(func(ctx context.Context, admin *kafka.AdminClient) error {
		return answer(admin.DeleteTopics(ctx, []string{topic}))
	})
}

func (c confluent) topics() (names []string, err error) {
	err = c.admin(func(_ context.Context, admin *kafka.AdminClient) error {
		metadata, err := admin.GetMetadata(nil, true, int(patience.Milliseconds()))
		if err != nil {
			return err
		}
		for name := range metadata.Topics {
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

func (c confluent) offsetForTime(topic string, timestamp int64) (int64, error) {
	consumer, err := c.consumer("unused", "error")
	if err != nil {
		return 0, err
	}
	defer consumer.Close()
	found, err := offsetAt(consumer, topic, timestamp)
	if found.Offset == kafka.OffsetEnd {
		return none, err
	}
	return int64(found.Offset), err
}

func offsetAt(consumer *kafka.Consumer, topic string, timestamp int64) (kafka.TopicPartition, error) {
	asked := kafka.TopicPartition{Topic: &topic, Partition: 0, Offset: kafka.Offset(timestamp)}
	found, err := consumer.OffsetsForTimes([]kafka.TopicPartition{asked}, int(patience.Milliseconds()))
	if err != nil {
		return asked, err
	}
	return found[0], found[0].Error
}

func (c confluent) produce(topic string, partition int, codec string, records []record) error {
	producer, err := kafka.NewProducer(c.settings(kafka.ConfigMap{
		"compression.type": codec, "acks": "all", "linger.ms": 5, "go.delivery.reports": true,
	}))
	if err != nil {
		return err
	}
	defer producer.Close()
	reports := make(chan kafka.Event, len(records))
	for _, each := range records {
		message := kafka.Message{
			TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: int32(partition)},
			Key:            each.key,
			Value:          each.value,
			Timestamp:      time.UnixMilli(each.timestamp),
		}
		for _, header := range each.headers {
			message.Headers = append(message.Headers, kafka.Header{Key: header.name, Value: header.value})
		}
		if err := producer.Produce(&message, reports); err != nil {
			return err
		}
	}
	for range records {
		report := (<-reports).(*kafka.Message)
		if report.TopicPartition.Error != nil {
			return report.TopicPartition.Error
		}
	}
	return nil
}

func (c confluent) consumer(group, from string) (*kafka.Consumer, error) {
	return kafka.NewConsumer(c.settings(kafka.ConfigMap{
		"group.id":                           group,
		"auto.offset.reset":                  from,
		"enable.auto.commit":                 false,
		"session.timeout.ms":                 int(session.Milliseconds()),
		"heartbeat.interval.ms":              int(heartbeat.Milliseconds()),
		"topic.metadata.refresh.interval.ms": int(newTopics.Milliseconds()),
	}))
}

func (c confluent) read(topic string, from int64, count int) ([]received, error) {
	consumer, err := c.consumer("unused", "error")
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	start := kafka.TopicPartition{Topic: &topic, Partition: 0, Offset: kafka.OffsetBeginning}
	if from != none {
		if start, err = offsetAt(consumer, topic, from); err != nil {
			return nil, err
		}
	}
	if err := consumer.Assign([]kafka.TopicPartition{start}); err != nil {
		return nil, err
	}
	var got []received
	for len(got) < count {
		message, err := consumer.ReadMessage(patience)
		if err != nil {
			return got, fmt.Errorf("%d of %d records: %w", len(got), count, err)
		}
		got = append(got, confluentReceived(message))
	}
	return got, nil
}

func confluentReceived(message *kafka.Message) received {
	var headers []header
	for _, each := range message.Headers {
		headers = append(headers, header{each.Key, each.Value})
	}
	fields := record{message.Key, message.Value, headers, message.Timestamp.UnixMilli()}
	return received{*message.TopicPartition.Topic, int(message.TopicPartition.Partition), int64(message.TopicPartition.Offset), fields}
}

type confluentMember struct {
	consumer *kafka.Consumer
	topic    string
}

func (c confluent) join(group, topic string) (member, error) {
	consumer, err := c.consumer(group, "earliest")
	if err != nil {
		return nil, err
	}
	return &confluentMember{consumer, topic}, consumer.Subscribe(topic, nil)
}

func (m *confluentMember) poll() (got []received, err error) {
	wait := moment
	for {
		message, err := m.consumer.ReadMessage(wait)
		if problem, ok := err.(kafka.Error); ok && (problem.IsTimeout() || problem.IsRetriable()) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, confluentReceived(message))
		wait = 0
	}
}

func (m *confluentMember) assignment() (partitions []int, err error) {
	assigned, err := m.consumer.Assignment()
	for _, each := range assigned {
		partitions = append(partitions, int(each.Partition))
	}
	return partitions, err
}

func (m *confluentMember) commit(partition int, offset int64) error {
	place := kafka.TopicPartition{Topic: &m.topic, Partition: int32(partition), Offset: kafka.Offset(offset)}
	_, err := m.consumer.CommitOffsets([]kafka.TopicPartition{place})
	return err
}

func (m *confluentMember) leave() error {
	if m.consumer.IsClosed() {
		return nil
	}
	return m.consumer.Close()
}
