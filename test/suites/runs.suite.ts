import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from '@jest/globals'
import type { RunDocument } from '#lib/patterns/effects/runs.ts'
import { MEMBERS_SPEC } from '#lib/patterns/membership/membership.ts'
import { type EffectsSystem, openEffectsSystem, type StoreLocation } from '../support/effects-system.ts'
import { eventually } from '../support/eventually.ts'
import { IS_WHOLE } from '../support/property-runs.ts'

const CHILD = join(import.meta.dirname, '..', 'support', 'runs-child.ts')
const LONG_MS = 600_000
/** Nothing waits for the end of such a lease. */
const LEASE_MS = LONG_MS
const KINDS = ['charge', 'confirm', 'notify', 'report']

/**
 * The heartbeats of a survivor from the death of another process until its effects have ended in every lane. At one per second that
 * is below 10 s; a slow machine counts slower. One may be lost at the beginning.
 */
const GOES_ON_HEARTBEATS = 10

interface Job {
  readonly begins: boolean
  readonly clock_ahead_ms?: number
}

/** A process that has leased an effect in each lane. */
interface Holder {
  readonly child: ChildProcess
  /** What it has sent. */
  readonly messages: readonly string[]
  untilSent(...expected: readonly string[]): Promise<unknown>
}

/** The suite of what follows when a process dies or hangs. It must pass on every store. */
export function runsSuite(name: string, newStoreLocation: () => Promise<StoreLocation>): void {
  describe(`runs on ${name}`, () => {
    let children: ChildProcess[] = []
    let systems: EffectsSystem[] = []
    afterEach(async () => {
      for (const child of children) child.kill('SIGKILL')
      for (const system of systems) await system.close()
      children = []
      systems = []
    })

    async function startHolder(
      store_location: StoreLocation,
      { begins, clock_ahead_ms = 0 }: Job,
    ): Promise<Holder> {
      const job = JSON.stringify({ store_location, clock_ahead_ms, lease_ms: LEASE_MS, begins })
      const child = spawn(process.execPath, [CHILD, job], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
      children.push(child)
      const messages: string[] = []
      child.on('message', (message) => void messages.push(String(message)))
      const untilSent = (...expected: readonly string[]): Promise<unknown> =>
        eventually(
          async () => messages,
          (sent) => expected.every((message) => sent?.includes(message)),
        )
      await untilSent('leased')
      return { child, messages, untilSent }
    }

    async function startSurvivor(store_location: StoreLocation): Promise<EffectsSystem> {
      const system = await openEffectsSystem(store_location, () => {}, [], LEASE_MS)
      systems.push(system)
      system.runner.start()
      return system
    }

    /** How many heartbeats of a survivor are stored, counted from some number. */
    async function heartbeatsOf({ store, runs }: EffectsSystem): Promise<number> {
      const members = await store.collection<RunDocument>(MEMBERS_SPEC)
      return (await members.get({ role: 'orders', address: runs.run_id }))?.version ?? Number.NaN
    }

    const untilDone = ({ orders }: EffectsSystem, order_id: string) =>
      eventually(
        () => orders.get({ order_id }),
        (order) => order?.effects.length === 0,
      )

    async function expectEachOnce({ orders, acts }: EffectsSystem, order_id: string): Promise<void> {
      const order = await orders.get({ order_id })
      expect([...(order?.done ?? [])].sort()).toEqual(KINDS)
      for (const kind of KINDS)
        expect(await acts.get({ act_id: `${order_id}:${kind}` })).toMatchObject({ times: 1 })
    }

    test(
      'every lane goes on within 10 s of a kill -9, also with clocks 5 s off either way',
      async () => {
        const goOn = async (clock_ahead_ms: number): Promise<number> => {
          const store_location = await newStoreLocation()
          const survivor = await startSurvivor(store_location)
          const { child, untilSent } = await startHolder(store_location, { begins: true, clock_ahead_ms })
          await untilSent(...KINDS.map((kind) => `first:${kind}`))
          child.kill('SIGKILL')
          await once(child, 'exit')
          const before = await heartbeatsOf(survivor)
          await untilDone(survivor, 'first')
          await expectEachOnce(survivor, 'first')
          return (await heartbeatsOf(survivor)) - before
        }
        const heartbeats = await Promise.all([0, 5_000, -5_000].map(goOn))
        for (const count of heartbeats) expect(count).toBeLessThanOrEqual(GOES_ON_HEARTBEATS)
      },
      LONG_MS,
    )

    test(
      'a process that was stopped by SIGSTOP begins nothing that it had leased when it continues, and goes on in a fresh run',
      async () => {
        const store_location = await newStoreLocation()
        const survivor = await startSurvivor(store_location)
        const { child, messages, untilSent } = await startHolder(store_location, { begins: false })
        const began_ms = performance.now()
        child.kill('SIGSTOP')
        await untilDone(survivor, 'first')
        const stopped_min_ms = IS_WHOLE ? 20_000 : 0
        await eventually(
          async () => performance.now() - began_ms,
          (stopped_ms = 0) => stopped_ms >= stopped_min_ms,
        )
        // It finds the message as soon as it continues, before its next heartbeat.
        child.send('run')
        child.kill('SIGCONT')
        await untilSent('ended')
        expect(messages).toContain('ended in a fresh run')
        expect(messages.filter((message) => message.startsWith('first:'))).toEqual([])
        await expectEachOnce(survivor, 'first')
        await untilDone(survivor, 'second')
        await expectEachOnce(survivor, 'second')
      },
      LONG_MS,
    )
  })
}
