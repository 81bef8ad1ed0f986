import { expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { POLICY_RPCS } from '#lib/contract/policy-rpcs.ts'
import type { Store } from '#lib/store/store.ts'
import { openTestStore } from '../../../../test/support/store.ts'
import { propose } from '../domain/approval.ts'
import { openApprovals } from './approvals.ts'

const [RPC] = POLICY_RPCS as readonly [string, ...string[]]

// O5: an administrator could else push a policy out of sight by strict ones in other currencies.
test('policies of each RPC in each currency all count', async () => {
  await using opened = await openTestStore()
  const { setPolicy, listPolicies } = await openApprovals(opened.store)
  const all = POLICY_RPCS.flatMap((rpc) =>
    Array.from({ length: 180 }, (_, n) => ({ rpc, currency: `C${n}`, above_minor: 1n })),
  )
  await Promise.all(all.map((policy) => setPolicy(policy)))
  expect(await listPolicies()).toHaveLength(all.length)
})

/** The store of a process that still reads from a former primary during a fail-over: it has nothing yet, except for linearizable reads. */
function behindFormerPrimary(store: Store): Store {
  return {
    ...store,
    async collection(spec) {
      const collection = await store.collection<never>(spec)
      return {
        ...collection,
        get: async (key, options) => (options?.linearizable ? collection.get(key, options) : undefined),
        find: async (index, range, options) =>
          options.linearizable ? collection.find(index, range, options) : [],
      }
    },
  }
}

// O5: without its policy a call would go through alone, and without its approval it would be proposed again.
test('a new policy and a new approval count at once, also while a former primary does not know them', async () => {
  await using opened = await openTestStore()
  const approvals = await openApprovals(behindFormerPrimary(opened.store))
  const policy = { rpc: RPC, currency: 'INR', above_minor: 1n }
  await approvals.setPolicy(policy)
  expect(await approvals.listPolicies()).toMatchObject([policy])
  const fields = { approval_id: 'a1', rpc: RPC, request: new Uint8Array(), shown_request: '{}' }
  await approvals.insertOrGet(propose({ ...fields, proposer_id: 'p0', reason: 'asked' }, now()))
  expect(await approvals.get('a1')).toMatchObject({ proposer_id: 'p0', status: 'pending' })
})
