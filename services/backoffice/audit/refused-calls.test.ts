import { expect, test } from '@jest/globals'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { OPERATOR_RPCS, type OperatorRpc } from '../domain/operator-rpcs.ts'
import { FIRST_PRINCIPAL } from '../door/authenticate.ts'
import { createRefusedCalls } from './refused-calls.ts'

// O22
test('a flood of refused calls leaves 120 entries, then 10 per minute, and one that counts the others', async () => {
  using clock = installManualClock()
  const entries = new Map<string, number[]>()
  const limited = createRefusedCalls(async (_rpc, { principal_id }, _error, calls) => {
    entries.set(principal_id, [...(entries.get(principal_id) ?? []), calls])
  })
  const [rpc] = OPERATOR_RPCS as readonly [OperatorRpc, ...OperatorRpc[]]
  const refuse = async (principal_id: string, times: number): Promise<void> => {
    for (let call = 0; call < times; call += 1)
      await limited.refused(rpc, { ...FIRST_PRINCIPAL, principal_id }, new Error('no right'))
  }
  const taken = (principal_id: string): readonly number[] => {
    const written = entries.get(principal_id) ?? []
    entries.delete(principal_id)
    return written
  }
  await refuse('flood', 1_000)
  await refuse('other', 1)
  expect(taken('flood')).toEqual(Array(120).fill(1))
  expect(taken('other')).toEqual([1])
  await clock.advance(60_000)
  expect(taken('flood')).toEqual([880])
  await refuse('flood', 20)
  expect(taken('flood')).toEqual(Array(10).fill(1))
  // What was not counted yet is written at the stop.
  await limited.stop()
  expect(taken('flood')).toEqual([10])
  expect(taken('other')).toEqual([])
})
