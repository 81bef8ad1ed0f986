import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { MerchantStatus } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { eventually } from '../support/eventually.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

let system: SupportSystem
beforeAll(async () => {
  system = await startSupport()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

const { ACTIVE, SUSPENDED, CLOSED } = MerchantStatus

const set = ({ merchant_id: merchantId }: SupportClient, status: MerchantStatus) =>
  system.operator(MerchantService).updateMerchant({ merchantId, status })

const payIn = (shop: SupportClient, c_id: string) =>
  shop.sendBody({
    method: 'payment.in',
    service_id: shop.service_id,
    params: { payment: { identifiers: { c_id }, amount: { value: 1_000_908, currency: 'INR' }, payer: {} } },
  })

const statusOf = (identifiers: object) => ({
  method: 'payment.status',
  params: { payment: { identifiers } },
})

/** Waits until a request is answered with this code of the error table; 0 for success. */
const untilCode = (shop: SupportClient, request: object, code: number) =>
  eventually(
    () => shop.sendBody(request),
    (response) => (response?.body.error?.code ?? 0) === code,
  )

// A11
test('a suspended merchant begins no payment and no refund, and reads on', async () => {
  const shop = await system.newMerchant()
  const { c_id } = await shop.deposit()
  const identifiers = { c_id }
  const refund = { identifiers: { c_id: 'refund-1' }, payment: { identifiers }, reason: 'late' }
  const { merchant } = await set(shop, SUSPENDED)
  expect(merchant?.status).toBe(SUSPENDED)
  await untilCode(shop, { method: 'refund.request', params: refund }, 1002)
  expect(await payIn(shop, 'new')).toMatchObject({ http_status: 404, body: { error: { code: 1002 } } })
  const { body } = await shop.sendBody(statusOf(identifiers))
  expect(body).toMatchObject({ result: { payment: { identifiers } } })
  await set(shop, ACTIVE)
  await eventually(
    () => payIn(shop, 'new'),
    (response) => response?.body.error == null,
  )
})

// A11, E9
test('the explanation of a route of a suspended merchant says what a payment gets', async () => {
  const shop = await system.newMerchant()
  await set(shop, SUSPENDED)
  const question = { merchantId: shop.merchant_id, serviceId: String(shop.service_id), amount: 1_000_908n }
  const explained = await eventually(
    () => system.operator(PaymentService).explainRoute(question),
    (explanation) => explanation?.accepted === false,
  )
  expect(explained.refusals).toMatchObject([{ code: 1002 }])
})

// A11
test('of a closed merchant no request is accepted, what runs ends, and it can be opened again', async () => {
  const shop = await system.newMerchant()
  const { c_id } = await shop.deposit()
  await set(shop, CLOSED)
  await untilCode(shop, statusOf({ c_id }), 3004)
  expect((await payIn(shop, 'new')).body.error).toMatchObject({ code: 3004 })
  const { payments } = await system.operator(PaymentService).listPayments({ merchantId: shop.merchant_id })
  expect(payments.map(({ cId }) => cId)).toEqual([c_id])
  await set(shop, ACTIVE)
  await untilCode(shop, statusOf({ c_id }), 0)
})
