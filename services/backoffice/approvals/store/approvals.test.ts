import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { POLICY_RPCS } from '#lib/contract/policy-rpcs.ts'
import { openStore } from '#lib/store/open.ts'
import { HANG_LIMIT_MS } from '../../../../test/support/hang-limit.ts'
import { openApprovals } from './approvals.ts'

// O5: an administrator could else push a policy out of sight by strict ones in other currencies.
test('policies of each RPC in each currency all count', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-policies-'))
  const store = await openStore({ database: 'backoffice', directory, timeout_ms: HANG_LIMIT_MS })
  const { setPolicy, listPolicies } = await openApprovals(store)
  const all = POLICY_RPCS.flatMap((rpc) =>
    Array.from({ length: 180 }, (_, n) => ({ rpc, currency: `C${n}`, above_minor: 1n })),
  )
  await Promise.all(all.map((policy) => setPolicy(policy)))
  expect(await listPolicies()).toHaveLength(all.length)
  await store.close()
  await rm(directory, { recursive: true })
})
