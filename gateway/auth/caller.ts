import type { Secret } from '#lib/platform/crypto/secret.ts'
import type { CredentialSettings } from './credential.ts'

/** Who calls a method: a credential that has proved itself and may be used here and now. */
export interface Caller
  extends Pick<
    CredentialSettings,
    | 'merchant_id'
    | 'environment'
    | 'scopes'
    | 'service_ids'
    | 'currencies'
    | 'daily_limit'
    | 'rate_limits'
    | 'disabled_methods'
  > {
  readonly application_id: string
  /** The one of its secrets that the request was signed with. */
  readonly secret: Secret
}
