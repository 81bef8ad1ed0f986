import { createClient, createRouterTransport } from '@connectrpc/connect'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { createKeyring } from '#lib/platform/crypto/seal.ts'
import { Secret } from '#lib/platform/crypto/secret.ts'
import { createPublicMethods } from '../../gateway/methods/public.ts'
import { webhookResend } from '../../gateway/methods/webhook-resend.ts'
import { type DocumentOptions, openApiDocument } from '../../gateway/openapi/document.ts'

/** The public methods as the gateway has them, connected to nobody: for their shapes. */
export function methodsForReading(): DocumentOptions {
  const nobody = createRouterTransport(() => {})
  const payments = createClient(PaymentService, nobody)
  const methods = createPublicMethods({
    payments,
    balances: createClient(BalanceService, nobody),
    directory: { merchantRoutes: () => Promise.resolve([]) },
    keyring: createKeyring(new Secret(`none:${'00'.repeat(32)}`)),
    acceptsCallbackUrl: () => true,
    create_timeout_ms: 1_000,
  })
  return { methods: methods.values(), resend: webhookResend(payments) }
}

/** docs/merchants/openapi.json as it should be. */
export function openApiText(): string {
  return `${JSON.stringify(openApiDocument(methodsForReading()), undefined, 2)}\n`
}
