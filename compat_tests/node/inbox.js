// What arrived and was not taken yet, for libraries that push their records.

import { setTimeout as pause } from 'node:timers/promises'

import { MOMENT_MS, PATIENCE_MS } from './scenarios.js'

export class Inbox {
  #arrived = []
  #failure = null
  #wake = () => {}

  put(record) {
    this.#arrived.push(record)
    this.#wake()
  }

  // The library will bring nothing more.
  fail(error) {
    this.#failure ??= error
    this.#wake()
  }

  // All that is there, waiting a moment when there is nothing.
  async take() {
    if (this.#arrived.length === 0 && !this.#failure) {
      await Promise.race([new Promise(resolve => { this.#wake = resolve }), pause(MOMENT_MS)])
    }
    if (this.#failure) throw this.#failure
    return this.#arrived.splice(0)
  }

  // At least so many from an offset on, or what there is when patience ends.
  async takeMany(count, offset) {
    const got = []
    const deadline = performance.now() + PATIENCE_MS
    while (got.length < count && performance.now() < deadline) {
      got.push(...(await this.take()).filter(each => each.offset >= offset))
    }
    return got
  }
}
