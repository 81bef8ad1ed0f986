import { createHmac } from 'node:crypto'
import { expect } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import type { Payment } from '#gen/multihub/payments/v1/payment_pb.ts'
import type { CreatePaymentRequest } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { codeAndPath, createTestGateway, type FixtureOptions, keys, send } from '../gateway.fixture.ts'

/** A method that creates payments, as its tests send it. */
export interface TestedMethod {
  /** The body of a request with this payment. `more` replaces fields of the envelope. */
  request(payment: unknown, more?: object): object
  /** A gateway, and the requests that it sent to payments, each of which got the same answer. */
  withPayments(options?: FixtureOptions): Promise<{ app: FastifyInstance; requests: CreatePaymentRequest[] }>
  /** Checks that a payment is refused with this code, for this field, and is not sent to payments. */
  expectRefusal(payment: unknown, code: number, field: string, options?: FixtureOptions): Promise<void>
}

/** Makes the requests and the gateway for `method`, on a route. `answer` is what payments returns. */
export function testedMethod(
  method: 'payment.in' | 'payment.out',
  service_id: number,
  answer: Payment,
): TestedMethod {
  const request: TestedMethod['request'] = (payment, more = {}) => ({
    method,
    service_id,
    params: { payment },
    ...more,
  })
  const withPayments: TestedMethod['withPayments'] = async (options = {}) => {
    const requests: CreatePaymentRequest[] = []
    const createPayment = (message: CreatePaymentRequest) => {
      requests.push(message)
      return { payment: answer }
    }
    return { app: await createTestGateway({ payments: { createPayment }, ...options }), requests }
  }
  return {
    request,
    withPayments,
    async expectRefusal(payment, code, field, options) {
      const { app, requests } = await withPayments(options)
      expect(codeAndPath(await send(app, { body: request(payment) }))).toEqual([code, field])
      expect(requests).toHaveLength(0)
    },
  }
}

/** The name of a field of the payment in errors. */
export function path(name: string): string {
  return `params.payment.${name}`
}

/** Checks that the callback secret in a request to payments is derived from the secret that signed the request (N8). */
export function expectDerivedSecret({ webhook, cId }: CreatePaymentRequest, secret: string): void {
  const derived = createHmac('sha256', secret).update('service:merchant-webhook-signing:v1').digest('hex')
  const sealed = webhook?.sealedSecret ?? ''
  expect(sealed).not.toContain(secret)
  expect(keys.webhook.unseal(sealed, `webhook:7001:${cId}`).reveal()).toBe(derived)
}
