import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { now, useClock } from '#lib/base/time.ts'
import { CLAIM_USE_MS } from '#lib/patterns/attachment-claim.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { type SupportRole, startSupportRole } from '../support-role.fixture.ts'

/** Opens a chargeback without evidence. */
async function openChargeback(support: SupportRole): Promise<void> {
  await support.chargebacks.recordChargeback({
    debit: {
      merchantId: '7001',
      environment: Environment.TEST,
      chargebackId: 'cb-1',
      paymentId: 'p',
      paymentCId: 'c',
      paymentHId: 'h',
      reasonCode: '10.4',
      amount: { minor: 900n, currency: 'INR' },
      createTime: timestampFromDate(now()),
    },
  })
}

// S10
test('a chargeback has at most 20 files; one more is refused and given back, and a repetition is not', async () => {
  await using support = await startSupportRole()
  await openChargeback(support)
  const add = (attachmentId: string) =>
    support.chargebacks.addEvidence({ chargebackId: 'cb-1', attachmentId })
  const ids = Array.from({ length: 20 }, (_, number) => `file-${number}`)
  for (const id of ids) await add(id)
  await expect(add('file-20')).rejects.toMatchObject({ code: 8801 })
  expect(support.released).toEqual(['file-20'])
  const { chargeback } = await add('file-0')
  expect(chargeback?.evidence.map(({ attachmentId }) => attachmentId)).toEqual(ids)
  expect(support.released).toEqual(['file-20'])
})

// F3: the operator opens files from the page of their ticket or chargeback, and must see it there.
test('a file with formulas is marked where its resource shows it', async () => {
  await using support = await startSupportRole()
  await openChargeback(support)
  for (const attachmentId of ['file-1', 'formulas-1'])
    await support.chargebacks.addEvidence({ chargebackId: 'cb-1', attachmentId })
  const { chargebacks } = await support.chargebacks.listChargebacks({ merchantId: '7001' })
  expect(chargebacks.flatMap((one) => one.evidence.map(({ hasFormulas }) => hasFormulas))).toEqual([
    false,
    true,
  ])
})

// F7: the check of a claim ends one that nothing uses, so a call that is late must not use it any more.
test.each([
  { claimed_ms: CLAIM_USE_MS - 1, evidence: ['file-1'] },
  { claimed_ms: CLAIM_USE_MS, evidence: [] },
])('a file that was claimed $claimed_ms ms ago is added, or refused', async ({ claimed_ms, evidence }) => {
  const clock = createAdjustableClock()
  using _clock = { [Symbol.dispose]: useClock(clock) }
  await using support = await startSupportRole(() => clock.stepWall(claimed_ms))
  await openChargeback(support)
  clock.stopWall()
  const add = support.chargebacks.addEvidence({ chargebackId: 'cb-1', attachmentId: 'file-1' })
  if (evidence.length > 0) await add
  else await expect(add).rejects.toMatchObject({ code: 2002 })
  const { chargebacks } = await support.chargebacks.listChargebacks({ merchantId: '7001' })
  expect(chargebacks.flatMap((one) => one.evidence.map(({ attachmentId }) => attachmentId))).toEqual(evidence)
  // A repetition can have it, so the claim is not taken back.
  expect(support.released).toEqual([])
})
