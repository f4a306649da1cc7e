package main

import (
	"context"
	"fmt"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// stableTries, of sarama, a quarter of a second each: it asks again while an offset is unstable.
const stableTries = 240

// transactional is a library that can write transactions.
type transactional interface {
	client
	// copy copies partition 0 of source to that of sink, a few records and their offsets in each
	// transaction, as group; it commits or aborts one for each of ends.
	copy(group, source, sink string, few int, ends []bool) error
	// readCommitted is read from the beginning, without what was aborted.
	readCommitted(topic string, count int) ([]received, error)
	// committed is the group's offset in partition 0. What a transaction has committed counts once its marker is
	// written, after the commit was answered: until then the broker says that the offset is unstable.
	committed(group, topic string) (int64, error)
}

func transactions(open client, topic, _ string) (facts, error) {
	const records, few = 6, 3
	library, can := open.(transactional)
	if !can {
		return nil, fmt.Errorf("%T writes no transactions", open)
	}
	sink := topic + "-copy"
	for _, each := range []string{topic, sink} {
		if _, err := create(open, each, 1); err != nil {
			return nil, err
		}
	}
	if err := fill(open, topic, 1, 0, records); err != nil {
		return nil, err
	}
	if err := library.copy(topic, topic, sink, few, []bool{false, true, false, true}); err != nil {
		return nil, fmt.Errorf("copy: %w", err)
	}
	seen, err := library.readCommitted(sink, records)
	if err != nil {
		return nil, err
	}
	all, err := library.read(sink, none, 2*records)
	if err != nil {
		return nil, err
	}
	offset, err := library.committed(topic, topic)
	return facts{"committed": values(seen), "all": values(all), "offset": offset}, err
}

func values(got []received) []string {
	all := []string{}
	for _, each := range got {
		all = append(all, string(each.value))
	}
	return all
}

func (f franz) copy(group, source, sink string, few int, ends []bool) error {
	session, err := kgo.NewGroupTransactSession(append(
		f.reached(),
		kgo.TransactionalID(sink),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(source),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequireStableFetchOffsets(),
	)...)
	if err != nil {
		return err
	}
	defer session.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, end := range ends {
		fetches := session.PollRecords(ctx, few)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("poll: %w", err)
		}
		if fetches.NumRecords() != few {
			return fmt.Errorf("%d records at once", fetches.NumRecords())
		}
		if err := session.Begin(); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		fetches.EachRecord(func(each *kgo.Record) {
			session.Produce(ctx, &kgo.Record{Topic: sink, Partition: 0, Value: each.Value}, nil)
		})
		if err := session.Client().Flush(ctx); err != nil {
			return fmt.Errorf("flush: %w", err)
		}
		if committed, err := session.End(ctx, kgo.TransactionEndTry(end)); err != nil || committed != end {
			return fmt.Errorf("end: committed=%t, %w", committed, err)
		}
	}
	return nil
}

func (f franz) readCommitted(topic string, count int) (got []received, err error) {
	consumer, err := f.open(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for len(got) < count {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return got, fmt.Errorf("fetch: %w", err)
		}
		got = append(got, franzReceived(fetches)...)
	}
	return got, nil
}

func (f franz) committed(group, topic string) (offset int64, err error) {
	err = f.admin(func(ctx context.Context, admin *kadm.Client) error {
		offsets, err := admin.FetchOffsets(kadm.RequireStable(ctx), group)
		found, _ := offsets.Lookup(topic, 0)
		offset = found.At
		return err
	})
	return offset, err
}

func (s saramaClient) copy(group, source, sink string, few int, ends []bool) error {
	config := s.config()
	config.Producer.Idempotent = true
	config.Producer.Transaction.ID = sink
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Net.MaxOpenRequests = 1
	producer, err := sarama.NewSyncProducer(s.bootstrap, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	for _, end := range ends {
		if err := s.copySome(producer, group, source, sink, few, end); err != nil {
			return err
		}
	}
	return nil
}

func (s saramaClient) copySome(
	producer sarama.SyncProducer, group, source, sink string, few int, commits bool,
) error {
	from, err := s.committed(group, source)
	if err != nil {
		return fmt.Errorf("committed offset: %w", err)
	}
	all, err := s.readFrom(source, max(from, 0), few, sarama.ReadCommitted)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if err := producer.BeginTxn(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	for _, each := range all {
		message := &sarama.ProducerMessage{Topic: sink, Partition: 0, Value: sarama.ByteEncoder(each.value)}
		if _, _, err := producer.SendMessage(message); err != nil {
			return fmt.Errorf("send: %w", err)
		}
	}
	next := &sarama.PartitionOffsetMetadata{Partition: 0, Offset: all[few-1].offset + 1, LeaderEpoch: -1}
	offsets := map[string][]*sarama.PartitionOffsetMetadata{source: {next}}
	if err := producer.AddOffsetsToTxn(offsets, group); err != nil {
		return fmt.Errorf("offsets: %w", err)
	}
	if commits {
		return producer.CommitTxn()
	}
	return producer.AbortTxn()
}

func (s saramaClient) readCommitted(topic string, count int) ([]received, error) {
	return s.readFrom(topic, 0, count, sarama.ReadCommitted)
}

func (s saramaClient) committed(group, topic string) (int64, error) {
	config := s.config()
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Metadata.Retry.Max = stableTries
	connection, err := sarama.NewClient(s.bootstrap, config)
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	manager, err := sarama.NewOffsetManagerFromClient(group, connection)
	if err != nil {
		return 0, err
	}
	defer manager.Close()
	partition, err := manager.ManagePartition(topic, 0)
	if err != nil {
		return 0, err
	}
	defer partition.Close()
	offset, _ := partition.NextOffset()
	return offset, nil
}
