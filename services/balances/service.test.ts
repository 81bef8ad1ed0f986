import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import { openStore } from '#lib/store/open.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { eventually } from '../../test/support/eventually.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { role } from './service.ts'
import { openMembers } from './store/ledger-store.ts'

const ADDRESS = 'balances-0:9000'

test('a process takes its share of the shards while it serves, and gives it back when it drains', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-balances-role-'))
  const store = await openStore({ database: 'balances', directory, timeout_ms: HANG_LIMIT_MS })
  const own_store = await openStore({ database: 'balances', directory, timeout_ms: HANG_LIMIT_MS })
  const members = await openMembers(store)
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
    openStore: async () => own_store,
  })
  const addresses = async (): Promise<string> => [...(await members.list()).keys()].join()
  expect(await addresses()).toBe('')
  await running.onServing?.()
  expect(await addresses()).toBe(ADDRESS)
  draining.abort()
  await eventually(addresses, (listed) => listed === '')
  await running.stop()
  await own_store.close()
  await store.close()
  await rm(directory, { recursive: true, force: true })
})
