import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.MetadataVersion;

/** What Kafka's own PartitionChangeBuilder makes of each case of a file: see record_partition_changes.py. */
public class PartitionChanges {
    static final Uuid TOPIC = new Uuid(0, 1);

    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            System.out.println(answer(line.split(" ")));
        }
    }

    static String answer(String[] c) {
        int[] replicas = ints(c[0]);
        PartitionRegistration before = new PartitionRegistration.Builder()
            .setReplicas(replicas)
            .setDirectories(IntStream.of(replicas).mapToObj(PartitionChanges::folder).toArray(Uuid[]::new))
            .setIsr(ints(c[1]))
            .setLeader(Integer.parseInt(c[2]))
            .setAddingReplicas(ints(c[3]))
            .setRemovingReplicas(ints(c[4]))
            .setLeaderRecoveryState(LeaderRecoveryState.of(Byte.parseByte(c[5])))
            .setElr(ints(c[6]))
            .setLastKnownElr(ints(c[7]))
            .setLeaderEpoch(0)
            .setPartitionEpoch(0)
            .build();
        Set<Integer> mayLead = Set.copyOf(list(c[14]));
        boolean keepsEligible = !c[16].equals("-");
        PartitionChangeBuilder builder = new PartitionChangeBuilder(
            before, TOPIC, 0, mayLead::contains, MetadataVersion.latestProduction(),
            keepsEligible ? Integer.parseInt(c[16]) : 1, keepsEligible);
        builder.setTargetReplicas(list(c[8]))
            .setTargetIsr(list(c[9]))
            .setTargetAdding(list(c[10]))
            .setTargetRemoving(list(c[11]))
            .setTargetLeaderRecoveryState(LeaderRecoveryState.of(Byte.parseByte(c[12])))
            .setElection(PartitionChangeBuilder.Election.valueOf(c[15]))
            .setDefaultDirProvider(PartitionChanges::folder);
        if (!c[13].equals("-")) builder.setUncleanShutdownReplicas(list(c[13]));
        return builder.build().map(made -> told((PartitionChangeRecord) made.message())).orElse("nothing");
    }

    static String told(PartitionChangeRecord made) {
        return String.join(" ", told(made.isr()), String.valueOf(made.leader()), told(made.replicas()),
            told(made.removingReplicas()), told(made.addingReplicas()),
            String.valueOf(made.leaderRecoveryState()),
            made.directories() == null ? "same" : told(made.directories().stream()
                .map(id -> (int) id.getLeastSignificantBits()).collect(Collectors.toList())),
            told(made.eligibleLeaderReplicas()), told(made.lastKnownElr()));
    }

    static String told(List<Integer> ids) {
        if (ids == null) return "same";
        return ids.isEmpty() ? "-" : ids.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    static Uuid folder(int broker) {
        return new Uuid(0, 100 + broker);
    }

    static int[] ints(String words) {
        return words.equals("-") ? new int[0] : Arrays.stream(words.split(",")).mapToInt(Integer::parseInt).toArray();
    }

    static List<Integer> list(String words) {
        return IntStream.of(ints(words)).boxed().collect(Collectors.toList());
    }
}
