// Puts a library for Node through one of the scenarios that language_cases.py describes:
//
//   BOOTSTRAP=HOST:PORT BASE_TIMESTAMP=MS node main.js LIBRARY SCENARIO TOPIC [CODEC]
//
// It prints one line of JSON, and ends with 0 when the scenario came to its end; what it saw there is
// judged by whoever called.

import { BASE_TIMESTAMP } from './records.js'
import { scenarios } from './scenarios.js'

const USAGE = 'BOOTSTRAP=HOST:PORT BASE_TIMESTAMP=MS node main.js LIBRARY SCENARIO TOPIC [CODEC]'

// A library is loaded only when it is used: loading takes longer than a scenario.
const libraries = {
  kafkajs: async () => (await import('./kafkajs.js')).KafkaJs,
  platformatic: async () => (await import('./platformatic.js')).Platformatic
}

const [library, scenario, topic, codec = 'none'] = process.argv.slice(2)
const bootstrap = process.env.BOOTSTRAP
if (!bootstrap || !BASE_TIMESTAMP || !topic || !libraries[library] || !scenarios[scenario]) {
  console.error(`usage: ${USAGE}`)
  process.exit(2)
}

let told
try {
  const Client = await libraries[library]()
  told = { ...(await scenarios[scenario](new Client(bootstrap), topic, codec)), ok: true }
} catch (error) {
  told = { ok: false, error: error.stack, cause: String(error.cause ?? error.errors ?? '') }
}
// Only then is it sure that the line is out, when stdout is a pipe.
process.stdout.write(JSON.stringify({ scenario, ...told }) + '\n', () => process.exit(told.ok ? 0 : 1))
