// kafkajs as a client of the scenarios. It compresses with gzip alone; the other codecs are plugged in,
// as its documentation has it.

import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import zlib from 'node:zlib'

import { lz4Compress, lz4Decompress } from '@platformatic/wasm-utils'
import kafkajs from 'kafkajs'
import snappy from 'kafkajs-snappy'

import { Inbox } from './inbox.js'
import { HEARTBEAT_MS, LOGIN, METADATA_MS, PATIENCE_MS, SESSION_MS } from './scenarios.js'

const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = kafkajs
const BATCH = 1_000 // records: one send is one batch, and 10,000 would be more than a broker takes.

const zstdCompress = promisify(zlib.zstdCompress)
const zstdDecompress = promisify(zlib.zstdDecompress)
CompressionCodecs[CompressionTypes.Snappy] = snappy
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async encoder => lz4Compress(encoder.buffer),
  decompress: async bytes => lz4Decompress(bytes)
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => zstdCompress(encoder.buffer),
  decompress: async bytes => zstdDecompress(bytes)
})
const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD
}

export class KafkaJs {
  #kafka

  constructor(bootstrap) {
    const common = { clientId: 'kafkajs', brokers: [bootstrap], logLevel: logLevel.ERROR }
    this.#kafka = new Kafka(LOGIN ? { ...common, sasl: { ...LOGIN, mechanism: LOGIN.mechanism.toLowerCase() } } : common)
  }

  async createTopic(topic, numPartitions) {
    await this.#admin(admin => admin.createTopics({ topics: [{ topic, numPartitions }] }))
  }

  async deleteTopic(topic) {
    await this.#admin(admin => admin.deleteTopics({ topics: [topic] }))
  }

  topics() {
    return this.#admin(admin => admin.listTopics())
  }

  // kafkajs gives the end of the partition where there is no such record.
  offsetForTime(topic, timestamp) {
    return this.#admin(async admin => {
      const [{ offset }] = await admin.fetchTopicOffsetsByTimestamp(topic, timestamp)
      const [{ high }] = await admin.fetchTopicOffsets(topic)
      return offset === high ? -1 : Number(offset)
    })
  }

  async produce(topic, partition, codec, records) {
    const producer = this.#kafka.producer({ allowAutoTopicCreation: false })
    await producer.connect()
    const messages = records.map(({ key, value, headers, timestamp }) => ({
      key, value, partition, headers: grouped(headers), timestamp: String(timestamp)
    }))
    for (let at = 0; at < messages.length; at += BATCH) {
      const batch = messages.slice(at, at + BATCH)
      await producer.send({ topic, acks: -1, compression: CODECS[codec], messages: batch })
    }
    await producer.disconnect()
  }

  async copy(groupId, source, sink, few, ends) {
    const producer = this.#kafka.producer({
      allowAutoTopicCreation: false, transactionalId: sink, idempotent: true, maxInFlightRequests: 1
    })
    await producer.connect()
    for (const commits of ends) {
      const from = Math.max(await this.committed(groupId, source), 0)
      const read = await this.#readFrom(source, from, few, `${groupId}-${randomUUID()}`, false)
      const transaction = await producer.transaction()
      await transaction.send({ topic: sink, messages: read.map(({ value }) => ({ value, partition: 0 })) })
      const offset = String(read.at(-1).offset + 1)
      const topics = [{ topic: source, partitions: [{ partition: 0, offset }] }]
      await transaction.sendOffsets({ consumerGroupId: groupId, topics })
      await (commits ? transaction.commit() : transaction.abort())
      if (commits) await this.#awaitCommitted(groupId, source, Number(offset))
    }
    await producer.disconnect()
  }

  // A commit is answered before its marker is written; kafkajs can't ask for stable offsets only.
  async #awaitCommitted(groupId, topic, offset) {
    const deadline = performance.now() + PATIENCE_MS
    while (performance.now() < deadline) if (await this.committed(groupId, topic) === offset) return
    throw new Error(`${groupId} never has committed ${offset}`)
  }

  // kafkajs does not ask again where the coordinator begins, as the real Kafka's does with a group's first request.
  committed(groupId, topic) {
    return this.#admin(async admin => {
      const deadline = performance.now() + PATIENCE_MS
      for (;;) {
        try {
          const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [topic] })
          return Number(partitions[0].offset)
        } catch (error) {
          if (!error.retriable || performance.now() > deadline) throw error
        }
      }
    })
  }

  rebalances(groupId, size) {
    return this.#admin(async admin => {
      const deadline = performance.now() + PATIENCE_MS
      while (performance.now() < deadline) {
        const { groups: [{ state, members }] } = await admin.describeGroups([groupId])
        if (state !== 'Stable' || members.length === size) return
      }
      throw new Error(`${groupId} stays as it is`)
    })
  }

  readUncommitted(topic, count) {
    return this.#readFrom(topic, 0, count, `everything-of-${topic}`, true)
  }

  async read(topic, from, count) {
    const offset = from === null ? 0 : await this.offsetForTime(topic, from)
    return this.#readFrom(topic, offset, count, `reader-of-${topic}-${from ?? 'beginning'}`, false)
  }

  // There is no reading without a group.
  async #readFrom(topic, offset, count, group, readUncommitted) {
    const member = await Member.join(this.#kafka, group, topic, readUncommitted)
    try {
      // What was fetched before the seek may come yet.
      if (offset > 0) member.seek(offset)
      return await member.takeMany(count, offset)
    } finally {
      await member.leave()
    }
  }

  join(group, topic) {
    return Member.join(this.#kafka, group, topic)
  }

  async #admin(use) {
    const admin = this.#kafka.admin()
    await admin.connect()
    try {
      return await use(admin)
    } finally {
      await admin.disconnect()
    }
  }
}

class Member {
  #consumer
  #topic
  #inbox = new Inbox()
  #assigned = []
  #left = false

  static async join(kafka, groupId, topic, readUncommitted = false) {
    const member = new Member()
    member.#topic = topic
    const consumer = member.#consumer = kafka.consumer({
      groupId,
      readUncommitted,
      sessionTimeout: SESSION_MS,
      heartbeatInterval: HEARTBEAT_MS,
      metadataMaxAge: METADATA_MS,
      maxWaitTimeInMs: HEARTBEAT_MS
    })
    const joined = new Promise(resolve => {
      consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
        member.#assigned = payload.memberAssignment[topic] ?? []
        resolve()
      })
    })
    consumer.on(consumer.events.REBALANCING, () => { member.#assigned = [] })
    consumer.on(consumer.events.CRASH, ({ payload }) => member.#inbox.fail(payload.error))
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => member.#inbox.put(received(partition, message))
    })
    await joined
    return member
  }

  poll() {
    return this.#inbox.take()
  }

  takeMany(count, offset) {
    return this.#inbox.takeMany(count, offset)
  }

  seek(offset) {
    this.#consumer.seek({ topic: this.#topic, partition: 0, offset: String(offset) })
  }

  assignment() {
    return this.#assigned
  }

  async commit(partition, offset) {
    await this.#consumer.commitOffsets([{ topic: this.#topic, partition, offset: String(offset) }])
  }

  async leave() {
    if (this.#left) return
    this.#left = true
    await this.#consumer.disconnect()
  }
}

// In kafkajs a header that is there twice has a list of values.
function grouped(headers) {
  const found = {}
  for (const [name, value] of headers) (found[name] ??= []).push(value)
  return found
}

function received(partition, { offset, key, value, headers, timestamp }) {
  const pairs = Object.entries(headers ?? {}).flatMap(([name, values]) =>
    [values].flat().map(content => [name, content])
  )
  return { partition, offset: Number(offset), key, value, headers: pairs, timestamp: Number(timestamp) }
}
