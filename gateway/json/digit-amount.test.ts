import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { INT64_MAX } from '#lib/contract/money.ts'
import { digitAmount } from './scalars.ts'
import { validate } from './schema.ts'

const schema = digitAmount(11003)
const context = {
  environment: 'test',
  acceptsCallbackUrl: () => true,
  acceptsCallbackHost: async () => true,
} as const
const codeOf = (value: string | number): Promise<unknown> =>
  validate(schema, value, context).then(
    () => undefined,
    ({ code }) => code,
  )

// E6
test.each([
  '0',
  '-1',
  '+1',
  '0100',
  '1.0',
  '1e2',
  '',
  ' 1',
  '1 ',
  '１',
  '9223372036854775808',
  '9'.repeat(20),
])('refuses the amount %j with 11003', async (text) => expect(await codeOf(text)).toBe(11003))

// E4
test('refuses a number with 1005', async () => expect(await codeOf(100)).toBe(1005))

// E5
test.each(['1\0', '\ud800'])('refuses the text %j, which cannot be stored, with 9000', async (text) =>
  expect(await codeOf(text)).toBe(9000),
)

test('accepts exactly the integers from 1 to 2^63 - 1', async () => {
  const texts = fc.oneof(
    fc.bigInt({ min: 0n, max: 2n * INT64_MAX }),
    fc.bigInt({ min: INT64_MAX - 1_000n, max: INT64_MAX + 1_000n }),
  )
  await fc.assert(
    fc.asyncProperty(texts, async (amount) => {
      const is_valid = amount >= 1n && amount <= INT64_MAX
      expect(await codeOf(amount.toString())).toBe(is_valid ? undefined : 11003)
    }),
  )
  expect(await validate(schema, INT64_MAX.toString(), context)).toBe(INT64_MAX)
})
