package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type franz struct {
	bootstrap string
	assigned  []kgo.Opt // by whom the members of its groups are.
}

func newFranz(bootstrap string) client { return franz{bootstrap, nil} }

// newFranzAssigned has groups of the new protocol (KIP-848).
func newFranzAssigned(bootstrap string) client {
	return franz{bootstrap, []kgo.Opt{kgo.ServerSideBalancer()}}
}

var franzCodecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

func (f franz) open(options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(options, f.reached()...)...)
}

// reached is how any client of this library reaches the broker.
func (f franz) reached() []kgo.Opt {
	return append(given.franz(), kgo.SeedBrokers(f.bootstrap))
}

func (f franz) admin(do func(context.Context, *kadm.Client) error) error {
	inner, err := f.open()
	if err != nil {
		return err
	}
	defer inner.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return do(ctx, kadm.NewClient(inner))
}

func (f franz) createTopic(topic string, partitions int) error {
	return f.admin(func(ctx context.Context, admin *kadm.Client) error {
		_, err := admin.CreateTopic(ctx, int32(partitions), 1, nil, topic)
		return err
	})
}

func (f franz) deleteTopic(topic string) error {
	return f.admin(func(ctx context.Context, admin *kadm.Client) error {
		_, err := admin.DeleteTopic(ctx, topic)
		return err
	})
}

func (f franz) topics() (names []string, err error) {
	err = f.admin(func(ctx context.Context, admin *kadm.Client) error {
		details, err := admin.ListTopics(ctx)
		names = details.Names()
		return err
	})
	return names, err
}

func (f franz) offsetForTime(topic string, timestamp int64) (offset int64, err error) {
	err = f.admin(func(ctx context.Context, admin *kadm.Client) error {
		listed, err := admin.ListOffsetsAfterMilli(ctx, timestamp, topic)
		if err != nil {
			return err
		}
		found, _ := listed.Lookup(topic, 0)
		offset = found.Offset
		if found.Timestamp == -1 { // kadm gives the end where there is no such record.
			offset = none
		}
		return found.Err
	})
	return offset, err
}

func (f franz) produce(topic string, partition int, codec string, records []record) error {
	producer, err := f.open(
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(franzCodecs[codec]),
	)
	if err != nil {
		return err
	}
	defer producer.Close()
	all := make([]*kgo.Record, len(records))
	for i, each := range records {
		all[i] = &kgo.Record{
			Topic:     topic,
			Partition: int32(partition),
			Key:       each.key,
			Value:     each.value,
			Timestamp: time.UnixMilli(each.timestamp),
		}
		for _, header := range each.headers {
			all[i].Headers = append(all[i].Headers, kgo.RecordHeader{Key: header.name, Value: header.value})
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return producer.ProduceSync(ctx, all...).FirstErr()
}

func (f franz) read(topic string, from int64, count int) ([]received, error) {
	start := kgo.NewOffset().AtStart()
	if from != none {
		start = kgo.NewOffset().AfterMilli(from)
	}
	consumer, err := f.open(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: start}}))
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var got []received
	for len(got) < count {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return got, fmt.Errorf("fetch: %w", err)
		}
		got = append(got, franzReceived(fetches)...)
	}
	return got, nil
}

func franzReceived(fetches kgo.Fetches) (got []received) {
	fetches.EachRecord(func(each *kgo.Record) {
		var headers []header
		for _, other := range each.Headers {
			headers = append(headers, header{other.Key, other.Value})
		}
		fields := record{each.Key, each.Value, headers, each.Timestamp.UnixMilli()}
		got = append(got, received{each.Topic, int(each.Partition), each.Offset, fields})
	})
	return got
}

type franzMember struct {
	topic  string
	client *kgo.Client
	lock   sync.Mutex // the callbacks come from other goroutines.
	has    map[int]bool
}

func (f franz) join(group, topic string) (member, error) {
	return f.joinAs(group, topic, "")
}

func (f franz) joinAs(group, topic, instance string) (member, error) {
	options := []kgo.Opt{kgo.ConsumeTopics(topic)}
	if instance != "" {
		options = append(options, kgo.InstanceID(instance))
	}
	return f.joinWith(group, topic, options...)
}

func (f franz) joinPrefix(group, prefix string) (member, error) {
	return f.joinWith(
		group, prefix,
		kgo.ConsumeRegex(),
		kgo.ConsumeTopics("^"+regexp.QuoteMeta(prefix)),
		kgo.MetadataMinAge(newTopics),
		kgo.MetadataMaxAge(newTopics),
		kgo.FetchMaxWait(moment), // what is new is fetched when that of the others has ended.
	)
}

func (f franz) joinWith(group, topic string, more ...kgo.Opt) (member, error) {
	here := &franzMember{topic: topic, has: map[int]bool{}}
	change := func(assigned bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, changed map[string][]int32) {
			here.lock.Lock()
			defer here.lock.Unlock()
			for _, partition := range changed[topic] {
				if assigned {
					here.has[int(partition)] = true
				} else {
					delete(here.has, int(partition))
				}
			}
		}
	}
	options := []kgo.Opt{
		kgo.ConsumerGroup(group),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.SessionTimeout(session),
		kgo.HeartbeatInterval(heartbeat),
		kgo.OnPartitionsAssigned(change(true)),
		kgo.OnPartitionsRevoked(change(false)),
		kgo.OnPartitionsLost(change(false)),
	}
	var err error
	here.client, err = f.open(append(append(options, f.assigned...), more...)...)
	return here, err
}

func (m *franzMember) poll() ([]received, error) {
	ctx, cancel := context.WithTimeout(context.Background(), moment)
	defer cancel()
	fetches := m.client.PollFetches(ctx)
	var told *kgo.ErrGroupSession // that the group has put it out; it joins again by itself.
	err := fetches.Err()
	if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &told) {
		return nil, err
	}
	return franzReceived(fetches), nil
}

func (m *franzMember) assignment() ([]int, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	var partitions []int
	for partition := range m.has {
		partitions = append(partitions, partition)
	}
	return partitions, nil
}

func (m *franzMember) commit(partition int, offset int64) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	at := map[string]map[int32]kgo.EpochOffset{m.topic: {int32(partition): {Epoch: -1, Offset: offset}}}
	answered := func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, failed error) {
		err = failed
		if failed == nil {
			err = kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode)
		}
	}
	m.client.CommitOffsetsSync(ctx, at, answered)
	return err
}

func (m *franzMember) leave() error {
	m.client.Close() // leaves the group; a second time it does nothing.
	return nil
}
