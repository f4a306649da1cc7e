package main

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

const many = 10_000

type facts map[string]any

var scenarios = map[string]func(open client, topic, codec string) (facts, error){
	"round-trip":   roundTrip,
	"group":        groupOfTwo,
	"members":      members,
	"static":       static,
	"pattern":      pattern,
	"held-up":      heldUp,
	"resume":       resume,
	"seek":         seek,
	"delete":       deleteTopic,
	"failover":     failover,
	"transactions": transactions,
}

func roundTrip(open client, topic, codec string) (facts, error) {
	atOnce, err := create(open, topic, 1)
	if err != nil {
		return nil, err
	}
	sent := samples(many)
	if err := open.produce(topic, 0, codec, sent); err != nil {
		return nil, fmt.Errorf("produce: %w", err)
	}
	got, err := open.read(topic, none, many)
	same := exactly
	if _, blurs := open.(segmentio); blurs { // it sends both, and reads both as nil.
		same = bytes.Equal
	}
	return facts{
		"listed_at_once": atOnce,
		"received":       len(got),
		"differences":    differences(sent, got, same),
	}, err
}

func groupOfTwo(open client, topic, _ string) (facts, error) {
	if _, err := create(open, topic, 4); err != nil {
		return nil, err
	}
	if err := fill(open, topic, 4, 0, 50); err != nil {
		return nil, err
	}
	first, err := open.join(topic, topic)
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	defer first.leave()
	if _, err := pollUntil(func(got []received) bool { return len(got) >= 200 }, first); err != nil {
		return nil, fmt.Errorf("first member, alone: %w", err)
	}
	alone, err := sorted(first)
	if err != nil {
		return nil, err
	}
	for partition := range 4 {
		if err := first.commit(partition, 50); err != nil {
			return nil, fmt.Errorf("commit: %w", err)
		}
	}
	second, err := open.join(topic, topic)
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	defer second.leave()
	both := func([]received) bool { return has(first, 2) && has(second, 2) }
	if _, err := pollUntil(both, first, second); err != nil {
		return nil, fmt.Errorf("both members: %w", err)
	}
	one, errOne := sorted(first)
	two, errTwo := sorted(second)
	if errOne != nil || errTwo != nil {
		return nil, fmt.Errorf("assignment: %w %w", errOne, errTwo)
	}
	if err := fill(open, topic, 4, 50, 10); err != nil {
		return nil, err
	}
	got, err := pollUntil(func(got []received) bool { return len(got) >= 40 }, first, second)
	if err != nil {
		return nil, fmt.Errorf("both members: %w", err)
	}
	if err := second.leave(); err != nil {
		return nil, fmt.Errorf("leave: %w", err)
	}
	if _, err := pollUntil(func([]received) bool { return has(first, 4) }, first); err != nil {
		return nil, fmt.Errorf("first member, alone again: %w", err)
	}
	return facts{"alone": alone, "shared": [][]int{one, two}, "received": places(got)}, nil
}

func resume(open client, topic, _ string) (facts, error) {
	if _, err := create(open, topic, 1); err != nil {
		return nil, err
	}
	if err := fill(open, topic, 1, 0, 30); err != nil {
		return nil, err
	}
	var seen [][]int64
	for _, count := range []int{30, 10, 10} {
		here, err := open.join(topic, topic)
		if err != nil {
			return nil, fmt.Errorf("join: %w", err)
		}
		defer here.leave()
		got, err := pollUntil(func(got []received) bool { return len(got) >= count }, here)
		if err != nil {
			return nil, fmt.Errorf("member %d: %w", len(seen)+1, err)
		}
		if len(seen) == 0 {
			if err := here.commit(0, 20); err != nil {
				return nil, fmt.Errorf("commit: %w", err)
			}
		}
		if err := here.leave(); err != nil {
			return nil, fmt.Errorf("leave: %w", err)
		}
		seen = append(seen, offsets(got))
	}
	return facts{"received": seen}, nil
}

func seek(open client, topic, _ string) (facts, error) {
	if _, err := create(open, topic, 1); err != nil {
		return nil, err
	}
	if err := fill(open, topic, 1, 0, 40); err != nil {
		return nil, err
	}
	var found []int64
	for _, after := range []int64{-1, 10_000, 10_001, 39_001} {
		offset, err := open.offsetForTime(topic, baseTimestamp+after)
		if err != nil {
			return nil, fmt.Errorf("offset for time: %w", err)
		}
		found = append(found, offset)
	}
	got, err := open.read(topic, baseTimestamp+9_500, 30)
	return facts{"found": found, "received": offsets(got)}, err
}

func deleteTopic(open client, topic, _ string) (facts, error) {
	if _, err := create(open, topic, 1); err != nil {
		return nil, err
	}
	if err := fill(open, topic, 1, 0, 20); err != nil {
		return nil, err
	}
	if err := open.deleteTopic(topic); err != nil {
		return nil, fmt.Errorf("delete: %w", err)
	}
	goneAtOnce, err := await(open, topic, false)
	if err != nil {
		return nil, err
	}
	if _, err := create(open, topic, 1); err != nil {
		return nil, fmt.Errorf("again: %w", err)
	}
	if err := fill(open, topic, 1, 20, 5); err != nil {
		return nil, fmt.Errorf("again: %w", err)
	}
	got, err := open.read(topic, none, 5)
	return facts{"gone_at_once": goneAtOnce, "received": offsets(got)}, err
}

// create makes a topic, and waits until the broker lists it; the real Kafka answers a little before.
func create(open client, topic string, partitions int) (atOnce bool, err error) {
	if err := open.createTopic(topic, partitions); err != nil {
		return false, fmt.Errorf("create: %w", err)
	}
	return await(open, topic, true)
}

// await waits until the broker lists a topic, or lists it no more. Was it so at the first look?
func await(open client, topic string, there bool) (atOnce bool, err error) {
	deadline := time.Now().Add(patience)
	for looks := 1; time.Now().Before(deadline); looks++ {
		names, err := open.topics()
		if err != nil {
			return false, fmt.Errorf("list topics: %w", err)
		}
		if slices.Contains(names, topic) == there {
			return looks == 1, nil
		}
	}
	return false, fmt.Errorf("%s: listed=%t never came true", topic, there)
}

// fill sends the records first, first+1 and so on to each partition.
func fill(open client, topic string, partitions, first, count int) error {
	for partition := range partitions {
		if err := open.produce(topic, partition, "none", numbered(first, count)); err != nil {
			return fmt.Errorf("produce: %w", err)
		}
	}
	return nil
}

// pollUntil lets the members poll in turn until the condition holds of all that they got.
func pollUntil(holds func([]received) bool, members ...member) ([]received, error) {
	var got []received
	deadline := time.Now().Add(patience)
	for !holds(got) {
		if time.Now().After(deadline) {
			return got, fmt.Errorf("after %s only %d records, or another assignment", patience, len(got))
		}
		for _, each := range members {
			more, err := each.poll()
			if err != nil {
				return got, err
			}
			got = append(got, more...)
		}
	}
	return got, nil
}

func has(who member, partitions int) bool {
	assigned, err := who.assignment()
	return err == nil && len(assigned) == partitions
}

func sorted(who member) ([]int, error) {
	assigned, err := who.assignment()
	slices.Sort(assigned)
	return assigned, err
}

func offsets(got []received) []int64 {
	all := []int64{}
	for _, each := range got {
		all = append(all, each.offset)
	}
	return all
}

// places are partition and offset of each, sorted.
func places(got []received) [][2]int64 {
	all := [][2]int64{}
	for _, each := range got {
		all = append(all, [2]int64{int64(each.partition), each.offset})
	}
	slices.SortFunc(all, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
	return all
}
