// Generated from the files of this folder by `npm run docs`. Do not edit.
import { balanceGet } from './balance-get.ts'
import { gatewayPing } from './gateway-ping.ts'
import type { PublicMethod } from './method.ts'
import { paymentIn } from './payment-in.ts'
import { paymentNotification } from './payment-notification.ts'
import { paymentStatus } from './payment-status.ts'

/** The methods of the envelope, in the order of the contract. */
export const ENVELOPE_METHODS: readonly PublicMethod[] = [
  paymentIn,
  paymentStatus,
  paymentNotification,
  balanceGet,
  gatewayPing,
]
