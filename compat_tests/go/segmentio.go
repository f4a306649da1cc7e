package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
)

type segmentio struct{ bootstrap string }

func newSegmentio(bootstrap string) client { return segmentio{bootstrap} }

var segmentioCodecs = map[string]kafka.Compression{
	"gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
}

func (s segmentio) address() net.Addr { return kafka.TCP(s.bootstrap) }

// withClient gives a client with connections of its own.
func (s segmentio) withClient(do func(context.Context, *kafka.Client) error) error {
	transport, err := s.transport()
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return do(ctx, &kafka.Client{Addr: s.address(), Transport: transport})
}

func (s segmentio) transport() (*kafka.Transport, error) {
	mechanism, err := given.segmentio()
	return &kafka.Transport{SASL: mechanism}, err
}

func (s segmentio) dialer(clientID string) (*kafka.Dialer, error) {
	mechanism, err := given.segmentio()
	return &kafka.Dialer{ClientID: clientID, Timeout: session, DualStack: true, SASLMechanism: mechanism}, err
}

func (s segmentio) createTopic(topic string, partitions int) error {
	return s.withClient(func(ctx context.Context, inner *kafka.Client) error {
		config := kafka.TopicConfig{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}
		answer, err := inner.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{config}})
		if err != nil {
			return err
		}
		return answer.Errors[topic]
	})
}

func (s segmentio) deleteTopic(topic string) error {
	return s.withClient(func(ctx context.Context, inner *kafka.Client) error {
		answer, err := inner.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
		if err != nil {
			return err
		}
		return answer.Errors[topic]
	})
}

func (s segmentio) topics() (names []string, err error) {
	err = s.withClient(func(ctx context.Context, inner *kafka.Client) error {
		answer, err := inner.Metadata(ctx, &kafka.MetadataRequest{})
		if err != nil {
			return err
		}
		for _, topic := range answer.Topics {
			names = append(names, topic.Name)
		}
		return nil
	})
	return names, err
}

func (s segmentio) offsetForTime(topic string, timestamp int64) (offset int64, err error) {
	err = s.withClient(func(ctx context.Context, inner *kafka.Client) error {
		wanted := kafka.TimeOffsetOf(0, time.UnixMilli(timestamp))
		asked := map[string][]kafka.OffsetRequest{topic: {wanted}}
		answer, err := inner.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: asked})
		if err != nil {
			return err
		}
		found := answer.Topics[topic][0]
		offset = none
		for offset = range found.Offsets { // one at most.
		}
		return found.Error
	})
	return offset, err
}

func (s segmentio) produce(topic string, partition int, codec string, records []record) error {
	transport, err := s.transport()
	if err != nil {
		return err
	}
	writer := &kafka.Writer{
		Addr:         s.address(),
		Topic:        topic,
		Balancer:     kafka.BalancerFunc(func(kafka.Message, ...int) int { return partition }),
		RequiredAcks: kafka.RequireAll,
		Compression:  segmentioCodecs[codec],
		BatchSize:    1_000,
		BatchTimeout: 5 * time.Millisecond,
		Transport:    transport,
	}
	all := make([]kafka.Message, len(records))
	for i, each := range records {
		all[i] = kafka.Message{Key: each.key, Value: each.value, Time: time.UnixMilli(each.timestamp)}
		for _, header := range each.headers {
			all[i].Headers = append(all[i].Headers, kafka.Header{Key: header.name, Value: header.value})
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return errors.Join(writer.WriteMessages(ctx, all...), writer.Close())
}

func (s segmentio) read(topic string, from int64, count int) ([]received, error) {
	dialer, err := s.dialer("reader")
	if err != nil {
		return nil, err
	}
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{s.bootstrap}, Topic: topic, Partition: 0, MaxWait: heartbeat, Dialer: dialer,
	})
	defer reader.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if from != none {
		if err := reader.SetOffsetAt(ctx, time.UnixMilli(from)); err != nil {
			return nil, err
		}
	}
	var got []received
	for len(got) < count {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			return got, fmt.Errorf("%d of %d records: %w", len(got), count, err)
		}
		got = append(got, segmentioReceived(message))
	}
	return got, nil
}

func segmentioReceived(message kafka.Message) received {
	var headers []header
	for _, each := range message.Headers {
		headers = append(headers, header{each.Key, each.Value})
	}
	fields := record{message.Key, message.Value, headers, message.Time.UnixMilli()}
	return received{message.Topic, message.Partition, message.Offset, fields}
}

// segmentioMember is a Reader of a group. It does not tell what it was assigned, so that is asked of
// the broker, which knows each member by its client id.
type segmentioMember struct {
	client   segmentio
	group    string
	topic    string
	clientID string
	reader   *kafka.Reader
}

var segmentioMembers atomic.Int32

func (s segmentio) join(group, topic string) (member, error) {
	name := fmt.Sprintf("member-%d", segmentioMembers.Add(1))
	dialer, err := s.dialer(name)
	if err != nil {
		return nil, err
	}
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:           []string{s.bootstrap},
		GroupID:           group,
		Topic:             topic,
		StartOffset:       kafka.FirstOffset,
		SessionTimeout:    session,
		HeartbeatInterval: heartbeat,
		MaxWait:           heartbeat,
		Dialer:            dialer,
	})
	return &segmentioMember{s, group, topic, name, reader}, nil
}

func (m *segmentioMember) poll() (got []received, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), moment)
	defer cancel()
	for {
		message, err := m.reader.FetchMessage(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, segmentioReceived(message))
	}
}

func (m *segmentioMember) assignment() (partitions []int, err error) {
	err = m.client.withClient(func(ctx context.Context, inner *kafka.Client) error {
		answer, err := inner.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{m.group}})
		if err != nil {
			return err
		}
		for _, each := range answer.Groups[0].Members {
			if each.ClientID != m.clientID {
				continue
			}
			for _, topic := range each.MemberAssignments.Topics {
				partitions = append(partitions, topic.Partitions...)
			}
		}
		return answer.Groups[0].Error
	})
	return partitions, err
}

func (m *segmentioMember) commit(partition int, offset int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	last := kafka.Message{Topic: m.topic, Partition: partition, Offset: offset - 1}
	return m.reader.CommitMessages(ctx, last)
}

func (m *segmentioMember) leave() error { return m.reader.Close() }
