import { create } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { PrepareEvidenceRequestSchema } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { AdjustRequestSchema } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import {
  CreateCredentialRequestSchema,
  CreateCredentialResponseSchema,
} from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { CreateEndpointRequestSchema } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { CreateMerchantRequestSchema } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { PulledDeliverySchema } from '#gen/multihub/notifier/v1/listener_service_pb.ts'
import { PaymentSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { OPERATOR_RPCS } from '../../domain/operator-rpcs.ts'
import { maskMessage } from './mask-message.ts'

// O4
test('ids, amounts and enums are shown; secrets, addresses and texts are not', () => {
  expect(
    JSON.parse(
      maskMessage(
        AdjustRequestSchema,
        create(AdjustRequestSchema, {
          merchantId: '1000',
          amount: { minor: 500n, currency: 'INR' },
          operationId: 'o1',
          reason: 'Jane Roe called',
        }),
      ),
    ),
  ).toEqual({
    merchantId: '1000',
    amount: { minor: '500', currency: 'INR' },
    operationId: 'o1',
    reason: '[hidden]',
  })
  const secret = maskMessage(
    CreateCredentialResponseSchema,
    create(CreateCredentialResponseSchema, { credential: { applicationId: '7' }, secret: 'sk_live' }),
  )
  expect(secret).toContain('"applicationId":"7"')
  expect(secret).not.toContain('sk_live')
  const url = create(CreateEndpointRequestSchema, { url: 'https://user:token@example.com' })
  expect(maskMessage(CreateEndpointRequestSchema, url)).not.toContain('example.com')
})

test('nothing of a person is shown, at any depth', () => {
  const payment = create(PaymentSchema, {
    paymentId: 'p1',
    receiver: { bankAccount: { id: '0091819', name: 'Jane Roe' } },
    details: {
      payer: { email: 'j@example.com', phone: '4912345', person: { firstName: 'Jane', lastName: 'Roe' } },
    },
  })
  const shown = maskMessage(PaymentSchema, payment)
  expect(shown).toContain('"paymentId":"p1"')
  expect(shown).not.toMatch(/Jane|Roe|example\.com|12345|91819/)
})

test('names of merchants and programs are shown, those of files and banks are not', () => {
  const merchant = create(CreateMerchantRequestSchema, { name: 'Alpha' })
  expect(maskMessage(CreateMerchantRequestSchema, merchant)).toContain('Alpha')
  const file = { name: 'passport of Jane Roe.pdf', mimeType: 'application/pdf' }
  const shown = maskMessage(PrepareEvidenceRequestSchema, create(PrepareEvidenceRequestSchema, { file }))
  expect(JSON.parse(shown)).toEqual({ file: { name: '[hidden]', mimeType: 'application/pdf' } })
})

test('neither the bytes of a body nor a map, whose keys can be anything, are shown', () => {
  const delivery = create(PulledDeliverySchema, { event: 'payment.completed', body: Buffer.from('Jane Roe') })
  expect(JSON.parse(maskMessage(PulledDeliverySchema, delivery))).toEqual({ event: 'payment.completed' })
  const rateLimits = { 'jane.roe@example.com': 1 }
  const credential = create(CreateCredentialRequestSchema, { merchantId: '1000', rateLimits })
  expect(JSON.parse(maskMessage(CreateCredentialRequestSchema, credential))).toEqual({ merchantId: '1000' })
})

test('no field that the table of RPCs calls personal is shown', () => {
  for (const { method, personal = [] } of OPERATOR_RPCS) {
    const request = Object.fromEntries(
      method.input.fields
        .filter(({ localName, scalar }) => personal.includes(localName) && scalar === 9)
        .map(({ localName }) => [localName, 'a secret text']),
    )
    expect(maskMessage(method.input, create(method.input, request))).not.toContain('a secret text')
  }
})
