import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { Environment as EnvironmentProto } from '#gen/multihub/common/v1/environment_pb.ts'
import type { Money } from '#gen/multihub/common/v1/money_pb.ts'
import { clock } from '#lib/base/time.ts'
import { ENVIRONMENTS, type Environment } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { isCurrencyCode } from '#lib/contract/money.ts'
import { checkInstant } from '#lib/contract/operator-fields.ts'
import { requiredMessage, requiredText } from '#lib/contract/proto-fields.ts'
import { isAmount, isId, isReason } from '../domain/command.ts'

// Every function below throws `PublicError` with the path of the field: 1005 when the field is missing, 9000 when its
// value is not allowed.

/** A command with the environment that it belongs to. */
export interface CommandInEnvironment<C> {
  readonly environment: Environment
  readonly command: C
}

/** Reads `merchant_id` and `environment`. */
export function scopeOf(request: { merchantId: string; environment: EnvironmentProto }) {
  const merchant_id = idOf(request.merchantId, 'merchant_id')
  return { environment: ENVIRONMENTS.required(request.environment, 'environment'), merchant_id }
}

/** Reads an id of at most `characters_max` characters. */
export function idOf(text: string, path: string, characters_max?: number): string {
  if (!isId(requiredText(text, path), characters_max)) throw fieldError(9000, path)
  return text
}

/** Reads a currency code. */
export function currencyOf(currency: string, path: string): string {
  if (!isCurrencyCode(requiredText(currency, path))) throw fieldError(9000, path)
  return currency
}

/** Reads an amount above zero and its currency. */
export function amountOf(request: { amount?: Money | undefined }): { amount: bigint; currency: string } {
  const { minor: amount, currency } = requiredMessage(request.amount, 'amount')
  if (!isAmount(amount)) throw fieldError(9000, 'amount.minor')
  return { amount, currency: currencyOf(currency, 'amount.currency') }
}

/** Reads the reason, which may be empty, and the payment id, when there is one. */
export function purposeOf(request: { paymentId: string; reason: string }) {
  const { paymentId } = request
  return {
    reason: reasonOf(request),
    payment_id: paymentId === '' ? undefined : idOf(paymentId, 'payment_id'),
  }
}

/** Reads a reason, which may be empty. */
export function reasonOf({ reason }: { reason: string }): string {
  if (!isReason(reason)) throw fieldError(9000, 'reason')
  return reason
}

/** Reads an instant that is not in the future. */
export function pastInstantOf(timestamp: Timestamp, path: string): Date {
  const instant = checkInstant(timestamp, path)
  if (instant.getTime() > clock.now_ms()) throw fieldError(9000, path, 'not in the future')
  return instant
}
