package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

const some = 100

// failover sends 0, 1, 2... to partition 0 by franz-go, each when the one before is acknowledged;
// says so on its standard output after a hundred; goes on until its standard input ends, and a
// hundred more; and reads all back. The topic must exist. Whoever called kills brokers meanwhile.
func failover(open client, topic, _ string) (facts, error) {
	library, ok := open.(franz)
	if !ok {
		return nil, errors.New("only for franz-go")
	}
	producer, err := library.open(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	var over atomic.Bool
	go func() {
		io.Copy(io.Discard, os.Stdin)
		over.Store(true)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	sent := 0
	for left := some; left > 0; {
		one := &kgo.Record{Topic: topic, Value: []byte(strconv.Itoa(sent))}
		if err := producer.ProduceSync(ctx, one).FirstErr(); err != nil {
			return nil, fmt.Errorf("record %d: %w", sent, err)
		}
		sent++
		if sent == some {
			fmt.Println("sent")
		}
		if over.Load() {
			left--
		}
	}
	got, err := library.read(topic, none, sent)
	if err != nil {
		return nil, err
	}
	values := make([]int, len(got))
	for i, each := range got {
		if values[i], err = strconv.Atoi(string(each.value)); err != nil {
			return nil, err
		}
	}
	return facts{"sent": sent, "values": values}, nil
}
