import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { update } from '#lib/patterns/update.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { returnAmountEffect } from '../chargebacks/domain/chargeback.ts'
import { keyOfChargeback } from '../chargebacks/store/chargebacks.ts'
import { type SupportRole, startSupportRole } from '../support-role.fixture.ts'

const OWNER = { merchant_id: '7001', environment: 'test' } as const

/** Stores a chargeback as payments reports it. */
async function record({ chargebacks }: SupportRole, chargebackId: string): Promise<void> {
  const payment = { paymentId: 'p', paymentCId: 'c', paymentHId: 'h' }
  await chargebacks.recordChargeback({
    debit: {
      merchantId: OWNER.merchant_id,
      environment: Environment.TEST,
      chargebackId,
      ...payment,
      amount: { minor: 900n, currency: 'INR' },
      reasonCode: '10.4',
      createTime: timestampFromDate(now()),
    },
  })
}

const win = ({ chargebacks }: SupportRole, chargebackId: string) =>
  chargebacks.moveChargeback({ chargebackId, status: ChargebackStatus.WON })

/** Lets the credit of a won chargeback use up its tries while payments is not available. */
async function storeStuckReturn(support: SupportRole, chargeback_id: string): Promise<string> {
  const { store } = support
  await record(support, chargeback_id)
  support.setPaymentsAvailable(false)
  await win(support, chargeback_id)
  let effect_id = ''
  await update(store.chargebacks, keyOfChargeback({ ...OWNER, chargeback_id }), (current) => {
    const { money_due_at: _due, ...document } = current
    const effects = document.effects.map(({ lease: _lease, ...effect }) => {
      if (!returnAmountEffect.matches(effect)) return effect
      effect_id = effect.id
      return { ...effect, tries: 3_000, stuck: true, failure: 'Unavailable' }
    })
    return { ...document, effects, stuck_at: now() }
  })
  return effect_id
}

// S10
test('a chargeback that is won while payments is not available is credited back when it is available', async () => {
  await using support = await startSupportRole()
  await record(support, 'cb-1')
  support.setPaymentsAvailable(false)
  const { chargeback } = await win(support, 'cb-1')
  expect(chargeback?.status).toBe(ChargebackStatus.WON)
  expect(support.returned).toEqual([])
  support.setPaymentsAvailable(true)
  await eventually(
    () => support.store.chargebacks.get(keyOfChargeback({ ...OWNER, chargeback_id: 'cb-1' })),
    (found) => found?.effects.some((effect) => returnAmountEffect.matches(effect)) === false,
  )
  expect(new Set(support.returned)).toEqual(new Set(['cb-1']))
})

test('a stuck credit of a won chargeback is listed, and is paid when the operator retries it', async () => {
  await using support = await startSupportRole()
  const effectId = await storeStuckReturn(support, 'cb-2')
  const { effects } = await support.effects.listStuckEffects({ documents: 'chargebacks' })
  expect(effects).toMatchObject([
    {
      effectId,
      documentId: 'cb-2',
      merchantId: OWNER.merchant_id,
      kind: 'return_amount',
      tries: 3_000,
      failure: 'Unavailable',
      stuckTime: expect.any(Object),
    },
  ])
  const request = { documents: 'chargebacks', documentId: 'cb-2', effectId }
  support.setPaymentsAvailable(true)
  expect(await support.effects.retryEffect(request)).toMatchObject({ waiting: false })
  expect(support.returned).toEqual(['cb-2'])
  expect((await support.effects.listStuckEffects({ documents: 'chargebacks' })).effects).toEqual([])
  await expect(support.effects.retryEffect(request)).rejects.toMatchObject({ code: 8801 })
})

test('a retried effect that fails again waits for its next try', async () => {
  await using support = await startSupportRole()
  const effectId = await storeStuckReturn(support, 'cb-3')
  const request = { documents: 'chargebacks', documentId: 'cb-3', effectId }
  expect(await support.effects.retryEffect(request)).toMatchObject({ waiting: true })
  expect((await support.effects.listStuckEffects({ documents: 'chargebacks' })).effects).toEqual([])
  support.setPaymentsAvailable(true)
  await eventually(
    async () => support.returned.includes('cb-3'),
    (is_returned) => is_returned === true,
  )
})

test.each([
  ['tickets', 10001],
  ['refunds', 11001],
  ['chargebacks', 12001],
  ['payments', 9000],
  ['', 1005],
])('of the documents "%s" refuses to retry an effect of an unknown one with %d', async (documents, code) => {
  await using support = await startSupportRole()
  const retried = support.effects.retryEffect({ documents, documentId: 'unknown', effectId: 'e' })
  await expect(retried).rejects.toEqual(expect.any(PublicError))
  await expect(retried).rejects.toMatchObject({ code })
})
