import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { create } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { PaymentSchema, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { withColours } from './colour.ts'
import { printResource, printTable } from './print.ts'

const PAYMENTS = [PaymentStatus.SUCCESS, PaymentStatus.DECLINED, PaymentStatus.CREATED].map((status) =>
  create(PaymentSchema, { paymentId: 'success', status }),
)

function shown(is_terminal: boolean, variables: Readonly<Record<string, string>>): string {
  let out = ''
  const stdout = { write: (text: string) => (out += text), ...(is_terminal && { isTTY: true, columns: 80 }) }
  const stdin = new PassThrough() as unknown as NodeJS.ReadStream
  const output = withColours({ variables, directory: '', stdin, stdout, stderr: stdout })
  printTable(output, PaymentSchema, PAYMENTS, ['payment_id', 'status', 'c_id'], { is_minor: false })
  for (const payment of PAYMENTS.slice(0, 1))
    printResource(output, PaymentSchema, payment, { is_minor: false })
  return out
}

test('states have colours on a terminal, and nothing else has', () => {
  const out = shown(true, {})
  expect(out).toContain('\nsuccess  \u001b[32msuccess\u001b[39m\n')
  expect(out).toContain('\nsuccess  \u001b[31mdeclined\u001b[39m\n')
  expect(out).toContain('status      \u001b[32msuccess\u001b[39m\n')
  expect(stripVTControlCharacters(out)).toBe(shown(false, {}))
})

test.each([
  [false, {}],
  [true, { NO_COLOR: '1' }],
  [true, { TERM: 'dumb' }],
])('there are none with a terminal %s and %j', (is_terminal, variables) => {
  expect(shown(is_terminal, variables)).not.toContain('\u001b')
})
