// @platformatic/kafka as a client of the scenarios.

import { Admin, Consumer, Producer } from '@platformatic/kafka'

import { Inbox } from './inbox.js'
import { HEARTBEAT_MS, LOGIN, METADATA_MS, SESSION_MS } from './scenarios.js'

const BATCH = 1_000 // records: one send is one batch, and 10,000 would be more than a broker takes.

export class Platformatic {
  #common

  constructor(bootstrap) {
    this.#common = { clientId: 'platformatic', bootstrapBrokers: [bootstrap], ...(LOGIN && { sasl: LOGIN }) }
  }

  async createTopic(topic, partitions) {
    await this.#using(Admin, {}, admin => admin.createTopics({ topics: [topic], partitions, replicas: 1 }))
  }

  async deleteTopic(topic) {
    await this.#using(Admin, {}, admin => admin.deleteTopics({ topics: [topic] }))
  }

  topics() {
    return this.#using(Admin, {}, admin => admin.listTopics())
  }

  offsetForTime(topic, timestamp) {
    return this.#using(Consumer, { groupId: 'unused' }, async consumer => {
      const offsets = await consumer.listOffsets({ topics: [topic], timestamp: BigInt(timestamp) })
      return Number(offsets.get(topic)[0])
    })
  }

  async produce(topic, partition, codec, records) {
    const messages = records.map(({ key, value, headers, timestamp }) => ({
      topic,
      partition,
      key,
      value,
      // Names that are buffers, so that one name may come twice.
      headers: new Map(headers.map(([name, content]) => [Buffer.from(name), content])),
      timestamp: BigInt(timestamp)
    }))
    await this.#using(Producer, {}, async producer => {
      for (let at = 0; at < messages.length; at += BATCH) {
        await producer.send({ messages: messages.slice(at, at + BATCH), compression: codec, acks: -1 })
      }
    })
  }

  async read(topic, from, count) {
    const offset = from === null ? 0 : await this.offsetForTime(topic, from)
    const offsets = [{ topic, partition: 0, offset: BigInt(offset) }]
    const member = await Member.open(this.#common, `reader-of-${topic}`, topic, { mode: 'manual', offsets })
    try {
      return await member.takeMany(count, offset)
    } finally {
      await member.leave()
    }
  }

  join(group, topic) {
    return Member.open(this.#common, group, topic, { mode: 'committed', fallbackMode: 'earliest' })
  }

  async #using(Kind, options, use) {
    const client = new Kind({ ...this.#common, ...options })
    try {
      return await use(client)
    } finally {
      await client.close()
    }
  }
}

class Member {
  #consumer
  #topic
  #inbox = new Inbox()
  #left = false

  static async open(common, groupId, topic, start) {
    const member = new Member()
    member.#topic = topic
    member.#consumer = new Consumer({
      ...common,
      groupId,
      autocommit: false,
      sessionTimeout: SESSION_MS,
      heartbeatInterval: HEARTBEAT_MS,
      metadataMaxAge: METADATA_MS,
      maxWaitTime: HEARTBEAT_MS
    })
    const stream = await member.#consumer.consume({ topics: [topic], ...start })
    // A fetch that was under way when a partition went to another member still brings its records:
    // other libraries drop those, this one hands them out.
    stream.on('data', message => {
      if (member.assignment().includes(message.partition)) member.#inbox.put(received(message))
    })
    stream.on('error', error => member.#inbox.fail(error))
    return member
  }

  poll() {
    return this.#inbox.take()
  }

  takeMany(count, offset) {
    return this.#inbox.takeMany(count, offset)
  }

  assignment() {
    const assigned = this.#consumer.assignments ?? []
    return assigned.find(each => each.topic === this.#topic)?.partitions ?? []
  }

  async commit(partition, offset) {
    const place = { topic: this.#topic, partition, offset: BigInt(offset), leaderEpoch: -1 }
    await this.#consumer.commit({ offsets: [place] })
  }

  async leave() {
    if (this.#left) return
    this.#left = true
    await this.#consumer.close(true)
  }
}

function received({ partition, offset, key, value, headerEntries, timestamp }) {
  return {
    partition,
    offset: Number(offset),
    key: key ?? null,
    value: value ?? null,
    headers: headerEntries.map(([name, content]) => [String(name), content]),
    timestamp: Number(timestamp)
  }
}
