import { z } from 'zod'
import { describedSetting } from '#lib/base/config/config.ts'
import { listSetting } from '#lib/base/config/settings.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { type AddressPolicy, allowPublicAddresses, allowPublicAddressesAnd } from './address-policy.ts'
import { isIpRange } from './ip-ranges.ts'

/**
 * The setting that permits callbacks of the test environment to addresses that are not public. Only the local run may
 * have it; every other start refuses it (N9, R4). Every role that checks or calls callback URLs reads it.
 */
export const CALLBACK_ALLOW_SETTING = describedSetting(
  'Address ranges that are not public and may receive callbacks of the test environment. Only the local run (`npm start`) may have it.',
  listSetting('MULTIHUB_CALLBACK_ALLOW', {
    of: 'address ranges such as 127.0.0.1/32',
    item: z.string().refine(isIpRange),
    fallback: [],
  }),
)

/** Makes the address policy of each environment. Production always permits public addresses only. */
export function createCallbackAddressPolicies(
  allow: readonly string[],
): (environment: Environment) => AddressPolicy {
  const policies = { test: allowPublicAddressesAnd(allow), production: allowPublicAddresses }
  return (environment) => policies[environment]
}
