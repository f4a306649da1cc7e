package main

import (
	"crypto/sha256"
	"crypto/sha512"
	"os"

	"github.com/IBM/sarama"
	kafkago "github.com/segmentio/kafka-go/sasl"
	kafkagoplain "github.com/segmentio/kafka-go/sasl/plain"
	kafkagoscram "github.com/segmentio/kafka-go/sasl/scram"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	xdgscram "github.com/xdg-go/scram"
)

const plainly = "PLAIN"

// login is as whom a client logs in, and how; with no mechanism it does not.
type login struct{ mechanism, username, password string }

var given = login{os.Getenv("SASL_MECHANISM"), os.Getenv("SASL_USERNAME"), os.Getenv("SASL_PASSWORD")}

func (l login) franz() []kgo.Opt {
	pair := scram.Auth{User: l.username, Pass: l.password}
	switch l.mechanism {
	case "":
		return nil
	case plainly:
		return []kgo.Opt{kgo.SASL(plain.Auth{User: l.username, Pass: l.password}.AsMechanism())}
	case "SCRAM-SHA-256":
		return []kgo.Opt{kgo.SASL(pair.AsSha256Mechanism())}
	default:
		return []kgo.Opt{kgo.SASL(pair.AsSha512Mechanism())}
	}
}

func (l login) segmentio() (kafkago.Mechanism, error) {
	switch l.mechanism {
	case "":
		return nil, nil
	case plainly:
		return kafkagoplain.Mechanism{Username: l.username, Password: l.password}, nil
	case "SCRAM-SHA-256":
		return kafkagoscram.Mechanism(kafkagoscram.SHA256, l.username, l.password)
	default:
		return kafkagoscram.Mechanism(kafkagoscram.SHA512, l.username, l.password)
	}
}

// sarama has no SCRAM of its own. By SASL_HANDSHAKE=0 it speaks as clients did before KIP-152: after the handshake, the
// mechanism's bytes follow in no request.
func (l login) sarama(config *sarama.Config) {
	if l.mechanism == "" {
		return
	}
	config.Net.SASL.Enable = true
	config.Net.SASL.Mechanism = sarama.SASLMechanism(l.mechanism)
	config.Net.SASL.User, config.Net.SASL.Password = l.username, l.password
	if os.Getenv("SASL_HANDSHAKE") == "0" {
		config.Net.SASL.Version = sarama.SASLHandshakeV0
		config.ApiVersionsRequest = false // it may not be asked before, then.
	}
	config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient {
		if l.mechanism == "SCRAM-SHA-256" {
			return &saramaScram{hash: sha256.New}
		}
		return &saramaScram{hash: sha512.New}
	}
}

type saramaScram struct {
	hash         xdgscram.HashGeneratorFcn
	conversation *xdgscram.ClientConversation
}

func (s *saramaScram) Begin(username, password, authorization string) error {
	client, err := s.hash.NewClient(username, password, authorization)
	if err == nil {
		s.conversation = client.NewConversation()
	}
	return err
}

func (s *saramaScram) Step(challenge string) (string, error) { return s.conversation.Step(challenge) }

func (s *saramaScram) Done() bool { return s.conversation.Done() }
