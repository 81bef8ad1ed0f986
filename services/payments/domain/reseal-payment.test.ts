import { fromBinary } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { ownerOfWebhookSecret } from '#lib/contract/secret-owners.ts'
import type { Reseal } from '#lib/role/operations.ts'
import { resealPayment } from '../operations.ts'
import { CREATED_AT as at, newDeposit } from '../payment.fixture.ts'
import { transition } from './transition.ts'

const OLD = testKeys('old').webhook
const NEW = testKeys('new').webhook
const both = testKeys('new', 'old')
const reseal: Reseal = (purpose, sealed, owner) => both[purpose].reseal(sealed, owner)
const alone: Reseal = (_purpose, sealed, owner) => NEW.reseal(sealed, owner)

test('the secret of a callback address is encrypted again, also in events that wait', () => {
  const owner = ownerOfWebhookSecret(newDeposit())
  const sealed_secret = OLD.seal(new Secret('callback secret'), owner)
  const webhook = { url: 'https://shop.example.com/', sealed_secret }
  const paid = transition(newDeposit({ webhook }), 'success', { at })
  const resealed = resealPayment(paid, reseal)
  expect(NEW.unseal(resealed.webhook?.sealed_secret ?? '', owner).reveal()).toBe('callback secret')
  const [before, after] = [paid, resealed].map(({ effects }) => {
    const message = effects.find(({ kind }) => kind === 'publish_event')?.data['message']
    return fromBinary(MerchantEventSchema, message as Uint8Array)
  })
  expect(NEW.unseal(after?.webhook?.sealedSecret ?? '', owner).reveal()).toBe('callback secret')
  expect({ ...after, webhook: undefined }).toEqual({ ...before, webhook: undefined })
  expect(resealPayment(resealed, reseal)).toBe(resealed)
  expect(() => resealPayment(paid, alone)).toThrow('the key old is not configured')
})

test('a payment without a callback address has nothing to encrypt', () => {
  const deposit = transition(newDeposit(), 'success', { at })
  expect(resealPayment(deposit, () => 'never')).toBe(deposit)
})
