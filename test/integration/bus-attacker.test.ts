import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { MerchantEventSchema, ReceiptSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { PaymentSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { RECEIPT_SUBJECT_HEADER, signedHeaders } from '#lib/bus/authentication.ts'
import type { Bus, Message } from '#lib/bus/bus.ts'
import { openBus } from '#lib/bus/open.ts'
import { eventSubject } from '#lib/contract/events.ts'
import { eventually } from '../support/eventually.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'
import { natsForTests } from '../support/servers.ts'
import { startResend } from './resend.fixture.ts'

const DEPOSITS = 20
const AMOUNT = 1_000_908n
const nats = await natsForTests()

/**
 * Publishes and subscribes as it likes, but has no key: confirms each event that it sees before the notifier can, and publishes
 * the success of its payment, with another amount, before the payment succeeds. Half of its messages have a signature.
 */
async function attack(bus: Bus): Promise<{ forged(): number }> {
  const own_keys = testKeys('attacker')
  let forged = 0
  const publish = async (subject: string, data: Uint8Array, headers: Message['headers']): Promise<void> => {
    forged += 1
    const is_signed = forged % 2 === 0
    await bus.publish(
      subject,
      data,
      is_signed ? signedHeaders(own_keys.event_payments, subject, data, headers) : headers,
    )
  }
  await bus.subscribe('events.payment.created', async ({ data, headers }) => {
    const receipt_to = headers[RECEIPT_SUBJECT_HEADER] ?? ''
    const event = fromBinary(MerchantEventSchema, data)
    const [paymentId = ''] = event.eventKey.split(':')
    const eventKeys = [event.eventKey, `${paymentId}:success`]
    const receipt = toBinary(ReceiptSchema, create(ReceiptSchema, { eventKeys }))
    for (let copy = 0; copy < 4; copy += 1) await publish(receipt_to, receipt, {})
    event.event = 'payment.completed'
    event.eventKey = `${paymentId}:success`
    event.sealedResource = new Uint8Array()
    const amount = { minor: 1n, currency: 'INR' }
    const value = create(PaymentSchema, { paymentId, merchantId: event.merchantId, amount })
    event.resource = { case: 'payment', value }
    const poison = toBinary(MerchantEventSchema, event)
    const forged_headers = { [RECEIPT_SUBJECT_HEADER]: receipt_to }
    for (let copy = 0; copy < 4; copy += 1)
      await publish(eventSubject('payment.completed'), poison, forged_headers)
  })
  await bus.subscribe('events.payment.completed', async ({ data, headers }) => {
    const { eventKey } = fromBinary(MerchantEventSchema, data)
    const receipt = toBinary(ReceiptSchema, create(ReceiptSchema, { eventKeys: [eventKey] }))
    await publish(headers[RECEIPT_SUBJECT_HEADER] ?? '', receipt, {})
  })
  return { forged: () => forged }
}

if ('skip' in nats) {
  process.stderr.write(`skipped: an attacker on the bus: ${nats.skip}\n`)
  test.skip(`an attacker on the bus: ${nats.skip}`, () => {})
} else {
  // O10
  test('whoever may publish on NATS forges no callback, changes none and makes none disappear', async () => {
    const prefix = `attacked-${randomHex(6)}`
    const connect = (name: string): Promise<Bus> =>
      openBus({
        nats_url: new Secret(nats.url),
        name,
        prefix,
        start_wait: { limit_ms: HANG_LIMIT_MS },
      })
    await using system = await startResend(await connect('roles'))
    const attacker = await connect('attacker')
    const { forged } = await attack(attacker)
    const deposits = await Promise.all(
      Array.from({ length: DEPOSITS }, async () => (await system.createDeposit(AMOUNT)).payment),
    )
    for (const deposit of deposits) {
      const callbacks = await system.waitForCallbacks(deposit, 2)
      const seen = callbacks.map(({ body: { id, data } }) => [id, data.result.payment.amount.value])
      expect(seen.sort()).toEqual([
        [`${deposit.hId}:payment.completed`, Number(AMOUNT)],
        [`${deposit.hId}:payment.created`, Number(AMOUNT)],
      ])
    }
    await eventually(
      async () => forged(),
      (count = 0) => count >= DEPOSITS * 8,
    )
    await attacker.close()
    await nats.stop()
  }, 120_000)
}
