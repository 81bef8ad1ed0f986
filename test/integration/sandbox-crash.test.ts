import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Connector, ProviderOrder } from '../../services/payments/connectors/connector.ts'
import type { CallResult } from '../../services/payments/domain/call-result.ts'
import { openSandboxFixture, type SandboxFixture } from '../../services/sandbox/sandbox.fixture.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'

let fixture: SandboxFixture
let children: ChildProcess[] = []

beforeEach(async () => {
  fixture = await openSandboxFixture()
})

afterEach(async () => {
  for (const child of children.splice(0)) await kill(child)
  await fixture[Symbol.asyncDispose]()
})

async function startChild(): Promise<{ child: ChildProcess; connector: Connector }> {
  const script = join(import.meta.dirname, 'sandbox.child.ts')
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, NODE_OPTIONS: '', CHILD_DIRECTORY: fixture.directory },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children = [...children, child]
  const exited = once(child, 'exit').then(() => Promise.reject(new Error('the sandbox did not start')))
  const [line] = await Promise.race([once(child.stdout, 'data'), exited])
  exited.catch(() => {})
  return { child, connector: fixture.connect({ url: String(line).trim() }) }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

test('a kill during many creates loses no confirmed operation and no callback', async () => {
  const first = await startChild()
  fixture.receiver.respondWith(503)
  const orders = Array.from({ length: 400 }, (_, number) => fixture.orderOf(number))
  const outcomes = new Map<ProviderOrder, CallResult>()
  let killed: Promise<void> | undefined
  const queue = orders.values()
  const work = async (): Promise<void> => {
    for (const order of queue) {
      outcomes.set(order, await first.connector.create(order, HANG_LIMIT_MS))
      if (outcomes.size === 150) killed = kill(first.child)
    }
  }
  await Promise.all(Array.from({ length: 32 }, work))
  await killed

  const { connector } = await startChild()
  fixture.receiver.respondWith(204)
  const kinds = [...outcomes.values()].map(({ kind }) => kind)
  expect(kinds.filter((kind) => kind === 'pending').length).toBeGreaterThanOrEqual(150)
  expect(kinds.filter((kind) => kind === 'unknown' || kind === 'not_sent').length).toBeGreaterThan(0)
  for (const [order, outcome] of outcomes) {
    const found = await connector.lookUp(order, HANG_LIMIT_MS)
    if (outcome.kind === 'pending') expect(['pending', 'success']).toContain(found.kind)
    if (outcome.kind === 'not_sent') expect(found.kind).toBe('not_found')
    if (found.kind !== 'not_found') continue
    const again = await connector.create({ ...order, earlier_result_unknown: true }, HANG_LIMIT_MS)
    expect(again.kind).toBe('pending')
  }
  for (const order of orders) await fixture.receiver.acknowledged(order.idempotency_key)
  expect(fixture.receiver.rejected()).toBe(0)
})
