package main

import (
	"errors"
	"fmt"
)

const (
	shares = 6 // partitions.
	enough = 5 // records, for one who may be held up.
)

var (
	errNoStatic  = errors.New("the scenarios have no static members for this library")
	errNoPattern = errors.New("the scenarios have no patterns for this library")
)

// members come and go; one closes amid the rebalance that it began, and one that a rebalance waits for.
func members(open client, topic, _ string) (facts, error) {
	if _, err := create(open, topic, shares); err != nil {
		return nil, err
	}
	var counts [][]int
	var in []member
	defer func() {
		for _, each := range in {
			each.leave()
		}
	}()
	share := func(wanted ...int) error {
		all := func([]received) bool {
			for i, each := range in {
				if !has(each, wanted[i]) {
					return false
				}
			}
			return true
		}
		if _, err := pollUntil(all, in...); err != nil {
			return fmt.Errorf("%d members: %w", len(in), err)
		}
		counts = append(counts, wanted)
		return nil
	}
	for _, wanted := range [][]int{{6}, {3, 3}, {2, 2, 2}} {
		more, err := open.join(topic, topic)
		if err != nil {
			return nil, fmt.Errorf("join: %w", err)
		}
		in = append(in, more)
		if err := share(wanted...); err != nil {
			return nil, err
		}
	}
	for len(in) > 1 {
		if err := in[1].leave(); err != nil {
			return nil, fmt.Errorf("leave: %w", err)
		}
		in = append(in[:1], in[2:]...)
	}
	if err := share(shares); err != nil {
		return nil, err
	}
	hasty, err := open.join(topic, topic)
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	if _, err := hasty.poll(); err != nil {
		return nil, err
	}
	if err := hasty.leave(); err != nil {
		return nil, fmt.Errorf("leave at once: %w", err)
	}
	if err := share(shares); err != nil {
		return nil, err
	}
	next, err := open.join(topic, topic)
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	in = append(in, next)
	if _, err := next.poll(); err != nil {
		return nil, err
	}
	if err := in[0].leave(); err != nil {
		return nil, fmt.Errorf("leave while another joins: %w", err)
	}
	in = in[1:]
	if err := share(shares); err != nil {
		return nil, err
	}
	if err := fill(open, topic, shares, 0, 1); err != nil {
		return nil, err
	}
	got, err := pollUntil(func(got []received) bool { return len(got) >= shares }, in...)
	return facts{"counts": counts, "received": len(got)}, err
}

// static members share, and one of them starts anew.
func static(open client, topic, _ string) (facts, error) {
	if _, err := create(open, topic, shares); err != nil {
		return nil, err
	}
	library, can := open.(staticClient)
	if !can {
		return nil, errNoStatic
	}
	first, err := library.joinAs(topic, topic, "one")
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	defer first.leave()
	second, err := library.joinAs(topic, topic, "two")
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	defer second.leave()
	both := func([]received) bool { return has(first, 3) && has(second, 3) }
	if _, err := pollUntil(both, first, second); err != nil {
		return nil, err
	}
	before, err := sorted(second)
	if err != nil {
		return nil, err
	}
	if err := second.leave(); err != nil {
		return nil, fmt.Errorf("leave: %w", err)
	}
	again, err := library.joinAs(topic, topic, "two")
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	defer again.leave()
	if _, err := pollUntil(func([]received) bool { return has(again, 3) }, first, again); err != nil {
		return nil, err
	}
	after, err := sorted(again)
	if err != nil {
		return nil, err
	}
	other, err := sorted(first)
	return facts{"before": before, "after": after, "other": len(other)}, err
}

// pattern is how a member reads all topics whose names begin alike, of which one comes later.
func pattern(open client, topic, _ string) (facts, error) {
	library, can := open.(patternClient)
	if !can {
		return nil, errNoPattern
	}
	if _, err := create(open, topic, 1); err != nil {
		return nil, err
	}
	if err := fill(open, topic, 1, 0, 3); err != nil {
		return nil, err
	}
	here, err := library.joinPrefix(topic, topic)
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	defer here.leave()
	got, err := pollUntil(func(got []received) bool { return len(got) >= 3 }, here)
	if err != nil {
		return nil, fmt.Errorf("the topic: %w", err)
	}
	if err := here.commit(0, 3); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	later := topic + "-later"
	if _, err := create(open, later, 2); err != nil {
		return nil, err
	}
	if err := fill(open, later, 2, 0, 5); err != nil {
		return nil, err
	}
	more, err := pollUntil(func(got []received) bool { return len(got) >= 10 }, here)
	if err != nil {
		return nil, fmt.Errorf("the new topic: %w", err)
	}
	got = append(got, more...)
	ofLater := 0
	for _, each := range got {
		if each.topic == later {
			ofLater++
		}
	}
	return facts{"received": len(got), "of_the_new_topic": ofLater}, nil
}

// heldUp is one of two members of a topic that somebody else has made. Its process may be stopped for
// a while.
func heldUp(open client, topic, _ string) (facts, error) {
	here, err := open.join(topic, topic)
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	defer here.leave()
	var got []received
	for len(got) < enough {
		more, err := here.poll()
		if err != nil {
			return nil, err
		}
		got = append(got, more...)
	}
	for _, each := range got { // or the other one would read it, too.
		if err := here.commit(each.partition, each.offset+1); err != nil {
			return nil, fmt.Errorf("commit: %w", err)
		}
	}
	return facts{"received": places(got)}, nil
}
