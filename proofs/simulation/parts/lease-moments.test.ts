import { expect, test } from '@jest/globals'
import { createLeaseMoments, type TakenLease } from './lease-moments.ts'
import { createChoices } from './random.ts'
import { createProcess, type SimulatedProcess } from './simulated-process.ts'
import type { StoredBody } from './store/memory-collection.ts'

const CLOCK = { offset_ms: 0, rate: 1 }
const UNTIL = new Date(35_000)

const withEffect = (kind: string, token?: string): StoredBody => ({
  version: 1,
  effects: [{ kind, ...(token === undefined ? {} : { lease: { token, until: UNTIL } }) }],
})

test('strikes the process that takes the next lease of a kind, once and at that moment', () => {
  const moments = createLeaseMoments()
  const choices = createChoices(1, 'leases')
  const [one, other] = [createProcess('one', CLOCK), createProcess('other', CLOCK)]
  const struck: TakenLease[] = []
  const change = (process: SimulatedProcess, before: StoredBody | undefined, after: StoredBody): void =>
    moments.onChange({ key: 'a', before, after }, process)

  change(one, undefined, withEffect('create', 'first'))
  moments.strikeNext(choices, (lease) => struck.push(lease))
  change(other, withEffect('create', 'first'), withEffect('create', 'first'))
  change(other, undefined, withEffect('create'))
  change(other, undefined, withEffect('credit', 'second'))
  expect(struck).toEqual([])
  change(other, withEffect('create'), withEffect('create', 'third'))
  change(one, withEffect('create'), withEffect('create', 'fourth'))
  expect(struck).toEqual([{ process: other, until_ms: 35_000 }])
})

test('strikes nothing that was cancelled, and nothing before the first lease', () => {
  const moments = createLeaseMoments()
  const choices = createChoices(1, 'leases')
  const process = createProcess('one', CLOCK)
  const struck: TakenLease[] = []
  const strike = (lease: TakenLease): void => void struck.push(lease)

  moments.strikeNext(choices, strike)()
  moments.onChange({ key: 'a', before: undefined, after: withEffect('create', 'first') }, process)
  moments.strikeNext(choices, strike)()
  moments.onChange({ key: 'b', before: undefined, after: withEffect('create', 'second') }, process)
  expect(struck).toEqual([])
})
