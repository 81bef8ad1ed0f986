import { z } from 'zod'
import type { Environment } from '#lib/contract/environment.ts'
import { described } from '#lib/platform/config/config.ts'
import { list } from '#lib/platform/config/fields.ts'
import { type AddressPolicy, allowPublicAddresses, allowPublicAddressesAnd } from './address-policy.ts'
import { isIpRange } from './ip-ranges.ts'

/**
 * The setting of every role that judges or calls merchants' addresses: ranges in CIDR notation that are not public and
 * may get callbacks all the same. It is for development and nothing else (N9, R4).
 */
export const CALLBACK_ALLOW_SETTING = described(
  'Addresses that are not public and get callbacks of the test environment all the same; for development only.',
  list('MULTIHUB_CALLBACK_ALLOW', {
    of: 'address ranges such as 127.0.0.1/32',
    item: z.string().refine(isIpRange),
    fallback: [],
  }),
)

/** Where callbacks may go, by environment: those of production to public addresses alone, whatever is configured. */
export function createCallbackAddressPolicies(
  allow: readonly string[],
): (environment: Environment) => AddressPolicy {
  const rules = { test: allowPublicAddressesAnd(allow), production: allowPublicAddresses }
  return (environment) => rules[environment]
}
