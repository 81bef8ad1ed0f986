import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type Client, createClient, createRouterTransport } from '@connectrpc/connect'
import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { PaymentRefundService } from '#gen/multihub/payments/v1/payment_refund_service_pb.ts'
import { ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { EffectService } from '#gen/multihub/support/v1/effect_service_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { createMemoryBus } from '#lib/platform/bus/memory.ts'
import { createKeyring } from '#lib/platform/crypto/keyring.ts'
import { Secret } from '#lib/platform/crypto/secret.ts'
import type { RoleContext } from '#lib/platform/process/role.ts'
import { createRpc } from '#lib/platform/rpc/rpc.ts'
import { now } from '#lib/platform/time.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { rpcConfig } from '../../../test/support/rpc.ts'
import { openTestStore } from '../../../test/support/store.ts'
import { returnAmountEffect } from '../chargebacks/domain/chargeback.ts'
import { keyOfChargeback } from '../chargebacks/store/chargebacks.ts'
import { role } from '../service.ts'
import { openSupportStore, type SupportStore } from '../store/support-store.ts'

/** The support role in this process, with payments as the test decides. */
interface Support extends AsyncDisposable {
  readonly store: SupportStore
  readonly chargebacks: Client<typeof ChargebackService>
  readonly effects: Client<typeof EffectService>
  /** The chargebacks that payments was asked to credit back, repetitions included. */
  readonly returned: readonly string[]
  /** While it is not available, payments answers nothing. */
  setPaymentsAvailable(is_available: boolean): void
}

async function startSupportRole(): Promise<Support> {
  const opened = await openTestStore()
  const returned: string[] = []
  let is_available = true
  const transport = createRouterTransport(({ service }) =>
    service(PaymentRefundService, {
      returnChargeback({ chargebackId }) {
        if (!is_available) throw new Error('payments is not available, as the test says')
        returned.push(chargebackId)
        return {}
      },
    }),
  )
  const context: RoleContext = {
    variables: {},
    clientOf: (service) => createClient(service, transport),
    bus: createMemoryBus(),
    openStore: async () => opened.store,
    keyring: createKeyring(new Secret(`test:${'ab'.repeat(32)}`)),
    clock_guard: trustedClock,
    draining: new AbortController().signal,
    stopping: new AbortController().signal,
  }
  const running = await role.start(context)
  const rpc = await createRpc(rpcConfig())
  rpc.add(running.services)
  await running.open?.()
  const { recordChargeback } = rpc.clientsOf('payments')(ChargebackService)
  return {
    store: await openSupportStore(opened.store),
    chargebacks: { ...rpc.clientsOf('operator')(ChargebackService), recordChargeback },
    effects: rpc.clientsOf('operator')(EffectService),
    returned,
    setPaymentsAvailable: (value) => {
      is_available = value
    },
    async [Symbol.asyncDispose]() {
      await running.stop()
      rpc.close()
      await opened[Symbol.asyncDispose]()
    },
  }
}

const OWNER = { merchant_id: '7001', environment: 'test' } as const

/** Stores a chargeback as payments reports it. */
async function record({ chargebacks }: Support, chargebackId: string): Promise<void> {
  const payment = { paymentId: 'p', paymentCId: 'c', paymentHId: 'h' }
  await chargebacks.recordChargeback({
    debit: {
      ...{ merchantId: OWNER.merchant_id, environment: Environment.TEST, chargebackId, ...payment },
      ...{ amount: { minor: 900n, currency: 'INR' }, reasonCode: '10.4' },
      createTime: timestampFromDate(now()),
    },
  })
}

const win = ({ chargebacks }: Support, chargebackId: string) =>
  chargebacks.moveChargeback({ chargebackId, status: ChargebackStatus.WON })

/** Lets the credit of a won chargeback use up its tries while payments is not available. */
async function storeStuckReturn(support: Support, chargeback_id: string): Promise<string> {
  const { store } = support
  await record(support, chargeback_id)
  support.setPaymentsAvailable(false)
  await win(support, chargeback_id)
  for (;;) {
    const found = await store.chargebacks.get(keyOfChargeback({ ...OWNER, chargeback_id }))
    const effect = found?.effects.find((one) => returnAmountEffect.matches(one))
    if (!found || !effect) throw new Error('the chargeback has no credit')
    const { lease: _lease, ...rest } = effect
    const stuck = { ...rest, tries: 3_000, stuck: true, failure: 'Unavailable' }
    const { version, money_due_at: _due, ...document } = found
    const effects = document.effects.map((one) => (one === effect ? stuck : one))
    if (await store.chargebacks.replace({ ...document, effects, stuck_at: now() }, version)) return effect.id
  }
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
      ...{ effectId, documentId: 'cb-2', merchantId: OWNER.merchant_id, kind: 'return_amount' },
      ...{ tries: 3_000, failure: 'Unavailable', stuckTime: expect.any(Object) },
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
