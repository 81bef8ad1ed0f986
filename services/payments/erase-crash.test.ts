import { create, toBinary } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { MerchantDetailsSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import { eventually } from '../../test/support/eventually.ts'
import { openCrashTests } from './crash-everywhere.fixture.ts'
import type { CrashingProcess } from './crashing-process.fixture.ts'
import { type Payment, requireAdmitted } from './domain/payment.ts'
import { newDeposit } from './payment.fixture.ts'
import { keyOfAnomaly } from './store/anomalies.ts'
import { keyOfPayment } from './store/payments.ts'
import { erasePerson } from './use-cases/erase-person.ts'

const tests = openCrashTests()
const EMAIL = 'zelda@planted.example.org'

/** An ended deposit with everything that identifies a person, and a note of the operator at its anomaly. */
async function newCase(): Promise<Payment> {
  const payment_id = uuidv7()
  const payment = newDeposit({
    c_id: payment_id,
    payment_id,
    h_id: payment_id,
    ids: [payment_id],
    status: 'success',
    effects: [],
    details: toBinary(MerchantDetailsSchema, create(MerchantDetailsSchema, { payer: { email: EMAIL } })),
    beneficiary: { account_id: '987650123456', ifsc: 'SBIN0001234' },
    instructions: { qr_payload: 'upi://pay?pn=Zelda' },
    anomalies: [`${payment_id}:anomaly:of-${payment_id}`],
  })
  await tests.store().payments.insert(payment)
  const { merchant_id, environment } = payment
  await tests.store().anomalies.insert({
    merchant_id,
    environment,
    payment_id,
    anomaly_id: `of-${payment_id}`,
    kind: 'amount_differs',
    description: 'reported another amount',
    created_at: now(),
    resolution: { kind: 'dismissed', operation_id: 'o', note: 'Zelda called', at: now() },
  })
  return payment
}

const storedOf = async (payment: Payment): Promise<Payment | undefined> => {
  const stored = await tests.store().payments.get(keyOfPayment(payment))
  return stored && requireAdmitted(stored)
}

function erase({ deps, runner, erasures }: CrashingProcess, { merchant_id, payment_id }: Payment) {
  const { payments } = deps
  return erasePerson({ payments, runner, erasures, search: testKeys().search }, { merchant_id, payment_id })
}

// O11
test.each(['before', 'after'] as const)(
  'a crash %s any step of an erasure leaves a complete one after a repetition, and none that is not listed',
  async (when) => {
    const flow = {
      newCase,
      run: erase,
      async recover(process: CrashingProcess, payment: Payment) {
        // Whoever finds it erased does not repeat the call: so the list had it before.
        if ((await storedOf(payment))?.erased_at === undefined) await erase(process, payment)
        return eventually(
          () => storedOf(payment),
          (stored) => stored?.effects.length === 0,
        )
      },
    }
    const steps = await tests.crashEverywhere(
      { refused_code: 0, accounts: {} },
      when,
      flow,
      async (left, { erased, listed }, { payment_id, c_id, merchant_id }) => {
        expect(left).toMatchObject({ payment_id, status: 'success', erased_at: expect.any(Date) })
        for (const field of ['details', 'beneficiary', 'instructions'] as const)
          expect(left?.[field]).toBeUndefined()
        expect(left?.ids).toEqual([payment_id, `c:${c_id}`])
        expect(erased).toEqual(new Set([payment_id, c_id]))
        expect(listed).toEqual(new Set([payment_id]))
        const key = keyOfAnomaly({ merchant_id, anomaly_id: `of-${payment_id}` })
        expect((await tests.store().anomalies.get(key))?.resolution?.note).toBe('')
      },
    )
    expect(steps).toBeGreaterThanOrEqual(6)
  },
)
