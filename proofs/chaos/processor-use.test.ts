import { expect, test } from '@jest/globals'
import { describeUses, usesOfRoles } from './processor-use.ts'

test('the processor time of a role is the sum of its processes, divided by starts and by payments', () => {
  const placeOf = (role: string, starts: number, starting_ms: number, serving_ms: number) => ({
    role,
    processorUse: () => ({ starts, starting_ms, serving_ms }),
  })
  const uses = usesOfRoles([
    placeOf('payments', 3, 4_500, 900),
    placeOf('payments', 1, 1_900, 100),
    placeOf('gateway', 1, Number.NaN, Number.NaN),
  ])
  const [, payments, gateway] = [...describeUses(uses, 400)]
  expect(payments?.split(/ {2,}/)).toEqual(['', 'payments', '2', '4', '1600 ms', '2.50 ms'])
  expect(gateway?.split(/ {2,}/)).toEqual(['', 'gateway', '1', '1', 'not measured', 'not measured'])
})
