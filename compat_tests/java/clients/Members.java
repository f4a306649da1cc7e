import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownMemberIdException;

/** Members of a group that come and go, and one that starts anew. */
final class Members {
    private static final int PARTITIONS = 6;
    private static final int ENOUGH = 5;

    private final Broker broker;
    private final String topic;
    private final List<List<Integer>> counts = new ArrayList<>();

    Members(Broker broker, String topic) {
        this.broker = broker;
        this.topic = topic;
    }

    Map<String, Object> comeAndGo() throws Exception {
        broker.create(topic, PARTITIONS);
        List<Member> members = new ArrayList<>();
        try {
            for (int[] wanted : new int[][] {{6}, {3, 3}, {2, 2, 2}}) {
                members.add(new Member(broker, topic));
                share(members, wanted);
            }
            while (members.size() > 1) {
                members.remove(1).close();
            }
            share(members, 6);
            Member first = members.get(0);
            Member hasty = new Member(broker, topic);
            members.add(hasty);
            hasty.pollOnce();
            members.remove(hasty);
            hasty.close(); // Amid the rebalance that it began.
            share(members, 6);
            Member next = new Member(broker, topic);
            members.add(next);
            next.pollOnce();
            members.remove(first);
            first.close(); // The next one waits for it.
            share(members, 6);
            for (int partition = 0; partition < PARTITIONS; partition++) {
                broker.produce(Sample.numbered(topic, partition, 0, 1), Map.of());
            }
            Member.pollUntil("all is read", () -> next.received.size() >= PARTITIONS, next);
            return Map.of("counts", counts, "received", next.received.size());
        } finally {
            members.forEach(Member::close);
        }
    }

    Map<String, Object> startAnew() throws Exception {
        broker.create(topic, PARTITIONS);
        try (Member first = new Member(broker, topic, "one")) {
            Member second = new Member(broker, topic, "two");
            List<Integer> had;
            try {
                share(List.of(first, second), 3, 3);
                had = second.partitions();
            } finally {
                second.close();
            }
            try (Member again = new Member(broker, topic, "two")) {
                Member.pollUntil("it is back", () -> !again.partitions().isEmpty(), first, again);
                return Map.of("before", had, "after", again.partitions(), "other", first.partitions().size());
            }
        }
    }

    Map<String, Object> byPattern(boolean resolvedThere) throws Exception {
        String later = topic + "-later";
        broker.create(topic, 1);
        broker.produce(Sample.numbered(topic, 0, 0, 3), Map.of());
        Pattern pattern = Pattern.compile("^" + Pattern.quote(topic) + ".*");
        try (Member member = new Member(broker, topic, null, pattern, resolvedThere)) {
            Member.pollUntil("the topic is read", () -> member.received.size() >= 3, member);
            member.commit(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(3)));
            broker.create(later, 2);
            for (int partition = 0; partition < 2; partition++) {
                broker.produce(Sample.numbered(later, partition, 0, 5), Map.of());
            }
            Member.pollUntil("the new one is read", () -> member.received.size() >= 13, member);
            long ofLater = member.received.stream().filter(each -> each.topic().equals(later)).count();
            return Map.of("received", member.received.size(), "of_the_new_topic", ofLater);
        }
    }

    /**
     * One of two members of a topic that somebody else has made. Its process may be stopped for a while.
     * As an application would that must go on, it begins anew where the client throws what is its own.
     */
    Map<String, Object> heldUp() {
        while (true) {
            try (Member here = new Member(broker, topic)) {
                while (here.received.size() < ENOUGH) {
                    here.pollOnce();
                }
                here.received.forEach(record -> here.commit(Map.of( // Or the other one would read it, too.
                    new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1))));
                return Map.of("received", here.received.stream()
                    .map(record -> List.of((long) record.partition(), record.offset())).toList());
            } catch (IllegalStateException | UnknownMemberIdException thrown) {
                if (!Member.isThrownByClient()) {
                    throw thrown;
                }
            }
        }
    }

    private void share(List<Member> members, int... wanted) throws Exception {
        Member.pollUntil("they share", () -> {
            for (int i = 0; i < wanted.length; i++) {
                if (members.get(i).partitions().size() != wanted[i]) {
                    return false;
                }
            }
            return true;
        }, members.toArray(new Member[0]));
        counts.add(members.stream().map(each -> each.partitions().size()).toList());
    }
}
