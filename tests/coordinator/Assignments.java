import java.util.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.*;
import org.apache.kafka.coordinator.group.assignor.*;
import org.apache.kafka.coordinator.group.modern.*;

/** Histories of groups whose members and subscriptions change, and what Kafka's assignors give each time. */
public class Assignments {
  record Topics(Map<Uuid, Integer> counts) implements SubscribedTopicDescriber {
    public int numPartitions(Uuid id) { return counts.getOrDefault(id, -1); }
    public Set<String> racksForPartition(Uuid id, int index) { return Set.of(); }
  }
  static String hex(Uuid id) {
    return String.format("%016x%016x", id.getMostSignificantBits(), id.getLeastSignificantBits());
  }
  static String parts(Map<Uuid, Set<Integer>> parts) {
    StringJoiner out = new StringJoiner(", ", "{", "}");
    parts.forEach((id, indexes) -> { if (!indexes.isEmpty()) out.add('"' + hex(id) + "\": " + new TreeSet<>(indexes)); });
    return out.toString();
  }
  public static void main(String[] arguments) throws Exception {
    for (int seed = 0; seed < 30; seed++) {
      Random random = new Random(seed);
      boolean mixed = seed % 2 == 1;
      ConsumerGroupPartitionAssignor assignor = seed % 5 == 4 ? new RangeAssignor() : new UniformAssignor();
      Map<Uuid, Integer> counts = new LinkedHashMap<>();
      for (int n = 1 + random.nextInt(mixed ? 6 : 3); n > 0; n--)
        counts.put(new Uuid(random.nextLong(), random.nextLong()), 1 + random.nextInt(seed % 3 == 0 ? 40 : 9));
      List<Uuid> topics = new ArrayList<>(counts.keySet());
      Map<String, Set<Uuid>> subscriptions = new LinkedHashMap<>();
      Map<String, String> instances = new HashMap<>();
      Map<String, Map<Uuid, Set<Integer>>> before = new HashMap<>();
      for (int step = 0; step < 7; step++) {
        for (int n = random.nextInt(3 + seed / 8); n > 0 || subscriptions.isEmpty(); n--) {
          String id = new Uuid(random.nextLong(), random.nextLong()).toString().substring(0, 8);
          if (random.nextInt(4) == 0) instances.put(id, "i" + random.nextInt(1000));
          subscriptions.put(id, new LinkedHashSet<>(topics));
        }
        if (step > 1 && subscriptions.size() > 1 && random.nextInt(2) == 0)
          subscriptions.remove(new ArrayList<>(subscriptions.keySet()).get(random.nextInt(subscriptions.size())));
        if (mixed) for (Set<Uuid> subscribed : subscriptions.values()) if (random.nextInt(3) == 0) {
          subscribed.clear();
          for (Uuid topic : topics) if (random.nextInt(3) > 0) subscribed.add(topic);
        }
        if (random.nextInt(3) == 0) counts.merge(topics.get(0), 1 + random.nextInt(4), Integer::sum);
        Set<Uuid> all = new HashSet<>();
        subscriptions.values().forEach(all::addAll);
        boolean homogeneous = new HashSet<>(subscriptions.values()).size() == 1;
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        StringJoiner told = new StringJoiner(", ", "[", "]");
        subscriptions.forEach((id, subscribed) -> {
          Map<Uuid, Set<Integer>> had = before.getOrDefault(id, Map.of());
          had.forEach((topic, indexes) -> indexes.forEach(index -> owners.computeIfAbsent(topic, x -> new HashMap<>()).put(index, id)));
          members.put(id, new MemberSubscriptionAndAssignmentImpl(Optional.empty(),
            Optional.ofNullable(instances.get(id)), subscribed, new Assignment(had)));
          StringJoiner names = new StringJoiner(", ", "[", "]");
          subscribed.forEach(topic -> names.add('"' + hex(topic) + '"'));
          String instance = instances.containsKey(id) ? '"' + instances.get(id) + '"' : "null";
          told.add("{\"id\": \"" + id + "\", \"instance\": " + instance + ", \"topics\": " + names + "}");
        });
        Map<String, MemberAssignment> made = assignor.assign(new GroupSpecImpl(members,
          homogeneous ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS, owners), new Topics(counts)).members();
        StringJoiner given = new StringJoiner(", ", "{", "}");
        StringJoiner sizes = new StringJoiner(", ", "{", "}");
        for (String id : subscriptions.keySet()) {
          Map<Uuid, Set<Integer>> copy = new HashMap<>();
          if (made.containsKey(id)) made.get(id).partitions().forEach((topic, indexes) -> copy.put(topic, new HashSet<>(new TreeSet<>(indexes))));
          before.put(id, copy);
          given.add('"' + id + "\": " + parts(copy));
        }
        before.keySet().retainAll(subscriptions.keySet());
        counts.forEach((topic, count) -> sizes.add('"' + hex(topic) + "\": " + count));
        System.out.println("{\"step\": " + step + ", \"assignor\": \"" + assignor.name() + "\", \"counts\": " + sizes + ", \"members\": " + told + ", \"made\": " + given + "}");
      }
    }
  }
}
