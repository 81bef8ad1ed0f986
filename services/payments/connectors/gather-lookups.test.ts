import { expect, test } from '@jest/globals'
import type { LookupResult } from '../domain/call-result.ts'
import type { OperationName } from './connector.ts'
import { gatherLookups } from './gather-lookups.ts'

const name = (number: number): OperationName => ({ kind: 'deposit', idempotency_key: `k${number}` })
const ten = Array.from({ length: 10 }, (_, number) => name(number))

/** Looks operations up; the provider reports each key as the id of the operation. */
function gather(lookups_max: number) {
  const requests: number[] = []
  const lookUp = gatherLookups(
    {
      async lookUp(operations): Promise<LookupResult[]> {
        requests.push(operations.length)
        return operations.map(({ idempotency_key }) => ({ kind: 'pending', provider_id: idempotency_key }))
      },
    },
    lookups_max,
  )
  return { requests, lookUp }
}

test('lookups that begin together become as few requests as the provider takes, and each gets its own result', async () => {
  const { requests, lookUp } = gather(4)
  const results = await Promise.all(ten.map((operation) => lookUp(operation, 1_000)))
  expect(requests).toEqual([4, 4, 2])
  expect(results.map((result) => 'provider_id' in result && result.provider_id)).toEqual(
    ten.map(({ idempotency_key }) => idempotency_key),
  )
})

test('a provider that takes one at a time gets one request for each', async () => {
  const { requests, lookUp } = gather(1)
  const results = Promise.all(ten.map((operation) => lookUp(operation, 1_000)))
  // At once, because there is nothing to wait for.
  expect(requests).toEqual(ten.map(() => 1))
  expect(await results).toHaveLength(10)
})

test('lookups with different time limits or signals are different requests', async () => {
  const { requests, lookUp } = gather(4)
  const { signal } = new AbortController()
  await Promise.all([lookUp(name(1), 1_000), lookUp(name(2), 2_000), lookUp(name(3), 1_000, signal)])
  expect(requests).toEqual([1, 1, 1])
})

test('a failure, or a result that is missing, fails the lookups of the request', async () => {
  const failing = gatherLookups({ lookUp: () => Promise.reject(new Error('a fault')) }, 4)
  await expect(Promise.all([failing(name(1), 1), failing(name(2), 1)])).rejects.toThrow('a fault')
  const short = gatherLookups({ lookUp: async () => [{ kind: 'not_found' }] }, 4)
  const [first, second] = await Promise.allSettled([short(name(1), 1), short(name(2), 1)])
  expect(first).toEqual({ status: 'fulfilled', value: { kind: 'not_found' } })
  expect(second?.status).toBe('rejected')
  // A hole, as a connector without types can make it.
  const holes = [undefined, { kind: 'not_found' }] as unknown as LookupResult[]
  const holed = gatherLookups({ lookUp: async () => holes }, 4)
  const [left_out, found] = await Promise.allSettled([holed(name(1), 1), holed(name(2), 1)])
  expect(left_out).toMatchObject({
    status: 'rejected',
    reason: { message: expect.stringContaining('left out') },
  })
  expect(found).toEqual({ status: 'fulfilled', value: { kind: 'not_found' } })
  const empty = gatherLookups({ lookUp: async () => [] }, 1)
  await expect(empty(name(1), 1)).rejects.toThrow('left out')
})

test.each([1, 4])(
  'a connector that throws fails its lookups and no others, %d at a time',
  async (lookups_max) => {
    const { lookUp } = gather(lookups_max)
    const throwing = gatherLookups(
      {
        lookUp() {
          throw new TypeError('a defect')
        },
      },
      lookups_max,
    )
    const results = await Promise.allSettled([throwing(name(1), 1), throwing(name(2), 2), lookUp(name(3), 1)])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
  },
)
