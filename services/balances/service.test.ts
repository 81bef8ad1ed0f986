import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { readConfig } from '#lib/base/config/config.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import { createRpc } from '#lib/rpc/rpc.ts'
import { RPC_SETTINGS } from '#lib/rpc/settings.ts'
import { openStore } from '#lib/store/open.ts'
import { useLineWriter } from '#lib/telemetry/writer.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { eventually } from '../../test/support/eventually.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { adjustment } from './rpc/rpcs.fixture.ts'
import { role } from './service.ts'
import { missingLedgerHeads } from './store/exported-heads.ts'
import { openLedgerStore, openMembers } from './store/ledger-store.ts'

const ADDRESS = 'balances-0:9000'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-balances-role-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const open = () => openStore({ database: 'balances', directory, timeout_ms: HANG_LIMIT_MS })

/** Starts a process of the role. */
async function start() {
  const store = await open()
  const draining = new AbortController()
  const refuse = (): never => {
    throw new Error('no other role is called')
  }
  const running = await role.start({
    variables: { MULTIHUB_BALANCES_SELF_ADDRESS: ADDRESS },
    clientOf: refuse,
    clientAt: refuse,
    bus: createMemoryBus(),
    keys: testKeys(),
    clock_guard: trustedClock,
    draining: draining.signal,
    stopping: draining.signal,
    openStore: async () => store,
  })
  await running.onServing?.()
  return {
    services: running.services,
    drain: () => draining.abort(),
    async stop(): Promise<void> {
      await running.stop()
      await store.close()
    },
  }
}

test('a process takes its share of the shards while it serves, and gives it back when it drains', async () => {
  const store = await open()
  const members = await openMembers(store)
  const addresses = async (): Promise<string> => [...(await members.list()).keys()].join()
  expect(await addresses()).toBe('')
  const running = await start()
  expect(await addresses()).toBe(ADDRESS)
  running.drain()
  await eventually(addresses, (listed) => listed === '')
  await running.stop()
  await store.close()
})

// O9: tests run at the level `silent`.
test('the heads of what a process committed are in its log at its end, at every level of the log', async () => {
  const lines: string[] = []
  using _writer = useLineWriter({ write: (line) => void lines.push(line) })
  const running = await start()
  const rpc = await createRpc(readConfig(RPC_SETTINGS, {}))
  rpc.add(running.services ?? [])
  await rpc.clientsOf('backoffice')(BalanceService).adjust(adjustment('adjust-1', 5n))
  running.drain()
  await running.stop()
  rpc.close()
  expect(lines).toEqual([expect.stringContaining('"message":"head of the ledger"')])
  const store = await open()
  const { journal } = await openLedgerStore(store, testKeys().journal)
  async function* logged() {
    yield* lines
  }
  const missing: string[] = []
  for await (const problem of missingLedgerHeads(journal, testKeys().journal, logged())) missing.push(problem)
  expect(missing).toEqual([])
  await store.close()
})
