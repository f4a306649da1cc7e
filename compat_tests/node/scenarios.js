// What each library is put through, written once. A client has createTopic, deleteTopic, topics,
// produce, read, offsetForTime and join, each with fresh connections; a member, which join gives, has
// poll (which waits a moment), assignment, commit and leave, and commits only when it is told to. Who can
// write transactions has also copy (a group's copy of partition 0 to another topic, a few records in each
// transaction, each ended as told), readUncommitted and committed (the group's offset); read is of what is
// committed. Whose groups are looked at closely has rebalances, which waits until the group is no longer stable
// without that many members.

import { BASE_TIMESTAMP, differences, numbered, samples } from './records.js'

export const PATIENCE_MS = 60_000
export const MOMENT_MS = 100
export const SESSION_MS = 6_000 // the shortest that a broker takes.
export const HEARTBEAT_MS = 500
// As whom, and how, a client logs in; null where nobody asks.
const { SASL_MECHANISM: mechanism, SASL_USERNAME: username, SASL_PASSWORD: password } = process.env
export const LOGIN = mechanism ? { mechanism, username, password } : null
export const METADATA_MS = 500 // how often a member looks for new topics.
const MANY = 10_000
const ENOUGH = 5 // records, for one who may be held up.

export const scenarios = {
  'round-trip': async (client, topic, codec) => {
    const listed = await create(client, topic, 1)
    const sent = samples(MANY)
    await client.produce(topic, 0, codec, sent)
    const got = await client.read(topic, null, MANY)
    return { listed_at_once: listed, received: got.length, differences: differences(sent, got) }
  },

  group: async (client, topic) => {
    await create(client, topic, 4)
    await fill(client, topic, 4, 0, 50)
    const members = []
    try {
      members.push(await client.join(topic, topic))
      const [first] = members
      await pollUntil(got => got.length >= 200, first)
      const alone = sorted(first)
      for (let partition = 0; partition < 4; partition++) await first.commit(partition, 50)
      members.push(await client.join(topic, topic))
      const second = members[1]
      await pollUntil(() => members.every(each => each.assignment().length === 2), ...members)
      const shared = members.map(sorted)
      await fill(client, topic, 4, 50, 10)
      const got = await pollUntil(got => got.length >= 40, ...members)
      await second.leave()
      await pollUntil(() => first.assignment().length === 4, first)
      return { alone, shared, received: places(got) }
    } finally {
      for (const member of members) await member.leave()
    }
  },

  members: async (client, topic) => {
    const partitions = 6
    await create(client, topic, partitions)
    const counts = []
    const members = []
    const share = async (...wanted) => {
      const all = () => members.every((each, i) => each.assignment().length === wanted[i])
      await pollUntil(all, ...members)
      counts.push(wanted)
    }
    try {
      for (const wanted of [[6], [3, 3], [2, 2, 2]]) {
        members.push(await client.join(topic, topic))
        await share(...wanted)
      }
      while (members.length > 1) await members.pop().leave()
      await share(partitions)
      const hasty = await client.join(topic, topic) // It returns with the end of its first rebalance.
      await hasty.leave() // Before the first member has heard of that.
      await share(partitions)
      const joining = client.join(topic, topic)
      await client.rebalances(topic, 2)
      await members.shift().leave() // The other one waits for it.
      members.push(await joining)
      await share(partitions)
      await fill(client, topic, partitions, 0, 1)
      const got = await pollUntil(got => got.length >= partitions, ...members)
      return { counts, received: got.length }
    } finally {
      for (const member of members) await member.leave()
    }
  },

  // One of two members of a topic that somebody else has made. Its process may be stopped for a while.
  'held-up': async (client, topic) => {
    const member = await client.join(topic, topic)
    try {
      const got = []
      while (got.length < ENOUGH) got.push(...(await member.poll()))
      // Or the other one would read it, too.
      for (const { partition, offset } of got) await member.commit(partition, offset + 1)
      return { received: places(got) }
    } finally {
      await member.leave()
    }
  },

  resume: async (client, topic) => {
    await create(client, topic, 1)
    await fill(client, topic, 1, 0, 30)
    const received = []
    for (const count of [30, 10, 10]) {
      const member = await client.join(topic, topic)
      try {
        const got = await pollUntil(got => got.length >= count, member)
        if (received.length === 0) await member.commit(0, 20)
        received.push(got.map(each => each.offset))
      } finally {
        await member.leave()
      }
    }
    return { received }
  },

  seek: async (client, topic) => {
    await create(client, topic, 1)
    await fill(client, topic, 1, 0, 40)
    const found = []
    for (const after of [-1, 10_000, 10_001, 39_001]) {
      found.push(await client.offsetForTime(topic, BASE_TIMESTAMP + after))
    }
    const got = await client.read(topic, BASE_TIMESTAMP + 9_500, 30)
    return { found, received: got.map(each => each.offset) }
  },

  delete: async (client, topic) => {
    await create(client, topic, 1)
    await fill(client, topic, 1, 0, 20)
    await client.deleteTopic(topic)
    const gone = await listed(client, topic, false)
    await create(client, topic, 1)
    await fill(client, topic, 1, 20, 5)
    const got = await client.read(topic, null, 5)
    return { gone_at_once: gone, received: got.map(each => each.offset) }
  },

  transactions: async (client, topic) => {
    const [records, few, sink] = [6, 3, `${topic}-copy`]
    for (const each of [topic, sink]) await create(client, each, 1)
    await fill(client, topic, 1, 0, records)
    await client.copy(topic, topic, sink, few, [false, true, false, true])
    const committed = values(await client.read(sink, null, records))
    const all = values(await client.readUncommitted(sink, 2 * records))
    return { committed, all, offset: await client.committed(topic, topic) }
  }
}

// Makes a topic, and waits until the broker lists it; the real Kafka answers a little before.
async function create(client, topic, partitions) {
  await client.createTopic(topic, partitions)
  return listed(client, topic, true)
}

// Waits until the broker lists a topic, or lists it no more. Was it so at the first look?
async function listed(client, topic, wanted) {
  const deadline = performance.now() + PATIENCE_MS
  for (let looks = 1; performance.now() < deadline; looks++) {
    const names = await client.topics()
    if (names.includes(topic) === wanted) return looks === 1
  }
  throw new Error(`${topic}: listed=${wanted} never came true`)
}

// Sends the records first, first + 1 and so on to each partition.
async function fill(client, topic, partitions, first, count) {
  for (let partition = 0; partition < partitions; partition++) {
    await client.produce(topic, partition, 'none', numbered(first, count))
  }
}

// Lets the members poll in turn until the condition holds of all that they got.
async function pollUntil(holds, ...members) {
  const got = []
  const deadline = performance.now() + PATIENCE_MS
  while (!holds(got)) {
    if (performance.now() > deadline) {
      const assigned = JSON.stringify(members.map(sorted))
      throw new Error(`${got.length} records after ${PATIENCE_MS} ms, assigned: ${assigned}`)
    }
    for (const member of members) got.push(...(await member.poll()))
  }
  return got
}

function sorted(member) {
  return member.assignment().toSorted((a, b) => a - b)
}

function values(got) {
  return got.map(each => each.value.toString())
}

// Partition and offset of each, sorted.
function places(got) {
  return got.map(each => [each.partition, each.offset]).sort((a, b) => a[0] - b[0] || a[1] - b[1])
}
