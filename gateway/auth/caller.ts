import type { Secret } from '#lib/base/crypto/secret.ts'
import type { ParsedSettings } from './credential.ts'

/** The authenticated caller of a method: a credential whose signature was verified and that may be used. */
export interface Caller
  extends Pick<
    ParsedSettings,
    | 'merchant_id'
    | 'environment'
    | 'scopes'
    | 'service_ids'
    | 'currencies'
    | 'daily_limit'
    | 'rate_limits'
    | 'disabled_methods'
    | 'support_resources'
  > {
  readonly application_id: string
  /** The secret that signed the request; during a rotation, each credential has two. */
  readonly secret: Secret
}
