import { fromBinary } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { createKeyring } from '#lib/base/crypto/keyring.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { ownerOfWebhookSecret } from '#lib/contract/secret-owners.ts'
import { resealPayment } from '../operations.ts'
import { CREATED_AT as at, newDeposit } from '../payment.fixture.ts'
import { transition } from './transition.ts'

const OLD = `old:${'1'.repeat(64)}`
const NEW = `new:${'2'.repeat(64)}`
const ring = (keys: string) => createKeyring(new Secret(keys))

test('the secret of a callback address is encrypted again, also in events that wait', () => {
  const owner = ownerOfWebhookSecret(newDeposit())
  const sealed_secret = ring(OLD).seal(new Secret('callback secret'), owner)
  const webhook = { url: 'https://shop.example.com/', sealed_secret }
  const paid = transition(newDeposit({ webhook }), 'success', { at })
  const resealed = resealPayment(paid, ring(`${NEW},${OLD}`).reseal)
  expect(
    ring(NEW)
      .unseal(resealed.webhook?.sealed_secret ?? '', owner)
      .reveal(),
  ).toBe('callback secret')
  const [before, after] = [paid, resealed].map(({ effects }) => {
    const message = effects.find(({ kind }) => kind === 'publish_event')?.data['message']
    return fromBinary(MerchantEventSchema, message as Uint8Array)
  })
  expect(
    ring(NEW)
      .unseal(after?.webhook?.sealedSecret ?? '', owner)
      .reveal(),
  ).toBe('callback secret')
  expect({ ...after, webhook: undefined }).toEqual({ ...before, webhook: undefined })
  expect(resealPayment(resealed, ring(`${NEW},${OLD}`).reseal)).toBe(resealed)
  expect(() => resealPayment(paid, ring(NEW).reseal)).toThrow('master key old is not configured')
})

test('a payment without a callback address has nothing to encrypt', () => {
  const deposit = transition(newDeposit(), 'success', { at })
  expect(resealPayment(deposit, () => 'never')).toBe(deposit)
})
