// The records that are sent, and how they are compared. A record is {key, value, headers, timestamp}:
// a key or value of null is not the same as an empty one; headers are pairs of name and value.

// That of sample.py, in ms.
export const BASE_TIMESTAMP = Number(process.env.BASE_TIMESTAMP)

// The records of sample.py, which says why they are so.
export function samples(count) {
  return Array.from({ length: count }, (_, i) => sample(i))
}

function sample(i) {
  let key = Buffer.from(`key-${i % 101}`)
  let value = Buffer.concat([Buffer.from(`value ${i} `), Buffer.alloc((i * 7) % 211, i % 256)])
  if (i % 11 === 0) key = null
  else if (i % 13 === 0) value = null
  else if (i % 17 === 0) key = Buffer.alloc(0)
  else if (i % 19 === 0) value = Buffer.alloc(0)
  else if (i % 997 === 0) value = Buffer.from('large'.repeat(400))
  const headers = [
    ['trace', Buffer.from(String(i))],
    ['trace', Buffer.alloc(0)],
    ['bin', Buffer.from(Array.from({ length: i % 32 }, (_, byte) => byte))]
  ]
  return { key, value, headers: headers.slice(0, i % 4), timestamp: BASE_TIMESTAMP + ((i * 37) % 1000) - 500 + i }
}

// Records whose values are first, first + 1 and so on, a second apart.
export function numbered(first, count) {
  return Array.from({ length: count }, (_, i) => ({
    key: null,
    value: Buffer.from(String(first + i)),
    headers: [],
    timestamp: BASE_TIMESTAMP + 1_000 * (first + i)
  }))
}

// The first few fields that did not come back as they were sent.
export function differences(sent, got) {
  const found = []
  for (let i = 0; i < Math.min(sent.length, got.length) && found.length < 5; i++) {
    const want = fields({ offset: i, ...sent[i] })
    const have = fields(got[i])
    for (const field of Object.keys(want)) {
      if (want[field] !== have[field]) found.push(`${field} of ${i}: sent ${want[field]}, received ${have[field]}`)
    }
  }
  return found
}

// As texts that are equal exactly when the fields are.
function fields({ offset, key, value, headers, timestamp }) {
  return {
    offset: String(offset),
    key: text(key),
    value: text(value),
    headers: headers.map(([name, content]) => `${name}=${text(content)}`).join(),
    timestamp: String(timestamp)
  }
}

function text(bytes) {
  return bytes === null ? 'null' : `"${bytes.toString('hex')}"`
}
