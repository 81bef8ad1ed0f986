import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { AMOUNT_MAX, fitsInt64, INT64_MAX, INT64_MIN } from './money.ts'

test('the largest amount is the last integer that a JSON number carries exactly', () => {
  expect(AMOUNT_MAX).toBe(BigInt(Number.MAX_SAFE_INTEGER))
})

test('an integer fits 64 bits when cutting it to 64 bits changes nothing', () => {
  const around = fc.oneof(
    fc.bigInt(),
    fc.bigInt({ min: INT64_MAX - 2n, max: INT64_MAX + 2n }),
    fc.bigInt({ min: INT64_MIN - 2n, max: INT64_MIN + 2n }),
  )
  fc.assert(fc.property(around, (value) => expect(fitsInt64(value)).toBe(BigInt.asIntN(64, value) === value)))
})
