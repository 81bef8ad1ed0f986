import { ModernFakeTimers } from '@jest/fake-timers'
import { ModuleMocker } from 'jest-mock'
import { useProcessStates } from '#lib/base/process-state.ts'
import { machineClock, useClock } from '#lib/base/time.ts'
import { useNetwork } from '#lib/http/network.ts'
import { resetMetrics } from '#lib/telemetry/metrics.ts'

/**
 * Jest's environment of a test file: the process itself, with a clock and with states of the product for this file. At the
 * end the timers of the product that are left are cancelled, so that what the file did not stop does nothing in the next
 * one, and what it changed in the process gets its old value.
 */
export default class ProcessEnvironment {
  global = globalThis
  moduleMocker = new ModuleMocker(globalThis)
  #timers = new Set()
  #before = { console, exit: process.exit, env: process.env, values: { ...process.env } }
  #restore = []

  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis })
  }

  /** Without a context of its own, see `runtime.mjs`. */
  getVmContext() {
    return null
  }

  async setup() {
    // Jest keeps 100 frames per error and maps each to its source. Node.js loads our sources as they are, and errors are made
    // by the thousand.
    Object.assign(Error, { stackTraceLimit: 10, prepareStackTrace: undefined })
    resetMetrics()
    const states = new Map()
    this.#restore = [useClock(clockOf(this.#timers)), useProcessStates(() => states)]
  }

  async teardown() {
    this.moduleMocker.restoreAllMocks()
    this.fakeTimersModern.dispose()
    for (const restore of this.#restore) restore()
    // A file may have left a network of its own.
    useNetwork({})()
    for (const timer of this.#timers) timer.cancel()
    const { env, values, exit } = this.#before
    for (const name of Object.keys(env)) if (!(name in values)) delete env[name]
    Object.assign(env, values)
    Object.assign(process, { exit, env })
    globalThis.console = this.#before.console
  }
}

/** The clock of the machine; `timers` are those that may still run. */
function clockOf(timers) {
  return {
    ...machineClock,
    after(delay_ms, action) {
      const timer = machineClock.after(delay_ms, () => {
        timers.delete(timer)
        action()
      })
      timers.add(timer)
      const cancel = () => {
        timers.delete(timer)
        timer.cancel()
      }
      return { cancel }
    },
  }
}
