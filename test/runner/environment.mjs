import { ModernFakeTimers } from '@jest/fake-timers'
import { ModuleMocker } from 'jest-mock'

const { setTimeout, setInterval } = globalThis

/**
 * Jest's environment of a test file: the process itself. What the file changed in it gets its old value at the end, and the
 * timers that it left behind are cancelled, so that what it did not stop does nothing in the next file.
 */
export default class ProcessEnvironment {
  global = globalThis
  moduleMocker = new ModuleMocker(globalThis)
  #timers = new Set()
  #before = { console, exit: process.exit, env: process.env, values: { ...process.env } }

  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis })
  }

  getVmContext() {
    return null
  }

  async setup() {
    globalThis.setTimeout = this.#keeping(setTimeout, 'once')
    globalThis.setInterval = this.#keeping(setInterval)
  }

  async teardown() {
    this.moduleMocker.restoreAllMocks()
    this.fakeTimersModern.dispose()
    Object.assign(globalThis, { setTimeout, setInterval, console: this.#before.console })
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    const { exit, env, values } = this.#before
    for (const name of Object.keys(env)) if (!(name in values)) delete env[name]
    Object.assign(env, values)
    Object.assign(process, { exit, env })
  }

  /** A function that sets timers and remembers those that may still run. */
  #keeping(set, once) {
    const timers = this.#timers
    const keeping = (action, ...words) => {
      const run = (...given) => {
        if (once) timers.delete(timer)
        action(...given)
      }
      const timer = set(run, ...words)
      timers.add(timer)
      return timer
    }
    return Object.defineProperties(keeping, Object.getOwnPropertyDescriptors(set))
  }
}
