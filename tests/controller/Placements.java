import org.apache.kafka.metadata.placement.*;
import java.util.*;
public class Placements {
  static class D implements ClusterDescriber {
    List<UsableBroker> b; D(List<UsableBroker> b){this.b=b;}
    public Iterator<UsableBroker> usableBrokers(){return b.iterator();}
    public org.apache.kafka.common.Uuid defaultDir(int id){return org.apache.kafka.common.DirectoryId.MIGRATING;}
  }
  static List<UsableBroker> bs(String spec){
    List<UsableBroker> r=new ArrayList<>();
    for(String s: spec.split(",")){ boolean f=s.endsWith("!"); if(f) s=s.substring(0,s.length()-1); String[] p=s.split("@");
      r.add(new UsableBroker(Integer.parseInt(p[0]), p.length>1?Optional.of(p[1]):Optional.empty(), f)); }
    return r;
  }
  public static void main(String[] a) throws Exception {
    String[] specs={"1","1,2,3","1,2,3,4,5","3,1!,2","0@a,1@b,2@c","0@a,1@a,2@b,3@b,4@c","0@a,1@a,2@b!,3@b,4@c!,5","7@a,8@b!,9@c!","0,1,2,3,4,5,6,7,8,9,10,11"};
    StringBuilder o=new StringBuilder("[\n");
    boolean first=true;
    for(String s: specs) for(long seed: new long[]{0,1,42,123456789012345L,-5}) for(int rf: new int[]{1,2,3}) {
      if(rf> s.split(",").length) continue;
      List<List<Integer>> out=new ArrayList<>();
      TopicAssignment t=new StripedReplicaPlacer(new Random(seed)).place(new PlacementSpec(0,13,(short)rf), new D(bs(s)));
      for(PartitionAssignment p: t.assignments()) out.add(p.replicas());
      o.append(first?"":",\n").append("{\"brokers\": \""+s+"\", \"seed\": "+seed+", \"factor\": "+rf+", \"placed\": "+out+"}"); first=false;
    }
    System.out.println(o.append("\n]"));
  }
}
