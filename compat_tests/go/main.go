// Command clients puts a Go library through one of the scenarios that language_cases.py describes:
//
//	BOOTSTRAP=HOST:PORT BASE_TIMESTAMP=MS clients LIBRARY SCENARIO TOPIC [CODEC]
//
// It prints one line of JSON, and ends with 0 when the scenario came to its end; what it saw there
// is judged by whoever called.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

const usage = "BOOTSTRAP=HOST:PORT BASE_TIMESTAMP=MS clients LIBRARY SCENARIO TOPIC [CODEC]"

var libraries = map[string]func(bootstrap string) client{
	"franz-go":           newFranz,
	"franz-go-assigned":  newFranzAssigned,
	"sarama":             newSarama,
	"sarama-newest":      newSaramaNewest,
	"kafka-go":           newSegmentio,
	"confluent-kafka-go": newConfluent,
}

func main() {
	bootstrap := os.Getenv("BOOTSTRAP")
	var noNumber error
	baseTimestamp, noNumber = strconv.ParseInt(os.Getenv("BASE_TIMESTAMP"), 10, 64)
	if len(os.Args) < 4 || bootstrap == "" || noNumber != nil {
		fmt.Fprintln(os.Stderr, "usage:", usage)
		os.Exit(2)
	}
	library, scenario, topic := os.Args[1], os.Args[2], os.Args[3]
	open, known := libraries[library]
	run, asked := scenarios[scenario]
	if !known || !asked {
		fmt.Fprintf(os.Stderr, "no library %q or no scenario %q\n", library, scenario)
		os.Exit(2)
	}
	codec := "none"
	if len(os.Args) > 4 {
		codec = os.Args[4]
	}
	told, err := run(open(bootstrap), topic, codec)
	if told == nil {
		told = facts{}
	}
	told["scenario"], told["ok"] = scenario, err == nil
	if err != nil {
		told["error"] = err.Error()
	}
	line, problem := json.Marshal(told)
	if problem != nil {
		panic(problem)
	}
	fmt.Println(string(line))
	if err != nil {
		os.Exit(1)
	}
}
