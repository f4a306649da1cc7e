package main

import "time"

const (
	patience  = 60 * time.Second
	moment    = 100 * time.Millisecond
	session   = 6 * time.Second // the shortest that a broker takes.
	heartbeat = 500 * time.Millisecond
	newTopics = 500 * time.Millisecond // how often a member looks for new topics.
	none      = int64(-1)              // no such offset; from the beginning, as a time.
)

// client is one library, with fresh connections for each call.
type client interface {
	createTopic(topic string, partitions int) error
	deleteTopic(topic string) error
	// topics are the names of all that the broker has.
	topics() ([]string, error)
	// produce sends all to one partition, in order, and returns when all are acknowledged.
	produce(topic string, partition int, codec string, records []record) error
	// read gives count records of partition 0: from the beginning, or from the first that is not
	// older than a time in ms.
	read(topic string, from int64, count int) ([]received, error)
	// offsetForTime is that of the first record in partition 0 that is not older, or none.
	offsetForTime(topic string, timestamp int64) (int64, error)
	join(group, topic string) (member, error)
}

// staticClient is a library that is asked for static members.
type staticClient interface {
	// joinAs is join, of a member with that instance id.
	joinAs(group, topic, instance string) (member, error)
}

// patternClient is a library that is asked for members that subscribe by a pattern.
type patternClient interface {
	// joinPrefix is join, of a member of all topics whose names begin so, those too that are yet to
	// come. It commits for the one that is named so.
	joinPrefix(group, prefix string) (member, error)
}

// member is a consumer in a group. It begins where the group has committed, else at the earliest
// offset, and commits only when it is told to.
type member interface {
	// poll gives what has come, waiting a moment for it.
	poll() ([]received, error)
	// assignment is the partitions it has now, in any order.
	assignment() ([]int, error)
	// commit keeps the offset for the group; it returns when that is acknowledged.
	commit(partition int, offset int64) error
	// leave leaves the group and closes; a second time it does nothing.
	leave() error
}
