import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import type { DoneOperation } from '#lib/patterns/idempotency/done-operations.ts'
import type { ChangedByApprovals } from './approval-ids.ts'
import { MERCHANT_RIGHTS, RIGHTS, type Right } from './rights.ts'

/** A token of a principal. Only its SHA-256 is kept. */
export interface PrincipalToken {
  /** Lower-case hexadecimal SHA-256 of the whole token, prefix included (O15). */
  readonly sha256: string
  /** The end of the overlap after a rotation; the token in use has none. */
  readonly expires_at?: Date
}

/** A person or program that may call the back office (O1). */
export interface Principal extends ChangedByApprovals {
  readonly principal_id: string
  readonly name: string
  readonly kind: 'person' | 'program'
  readonly rights: readonly Right[]
  /** The only merchant that it sees (O2); absent for a principal of the operator. */
  readonly merchant_id?: string
  readonly expires_at?: Date
  /** Who it is at the OpenID provider, for a person who signs in there (O21). It has no tokens. */
  readonly identity?: { readonly issuer: string; readonly subject: string }
  /** What its groups gave it at its last sign-in there; more than `rights` while some wait for a second person (O5). */
  readonly group_rights?: readonly Right[]
  readonly status: 'active' | 'revoked'
  readonly revoke_reason?: string
  readonly tokens: readonly PrincipalToken[]
  /** The last rotations, the newest last: a repetition issues no second token (O12). */
  readonly rotations?: readonly DoneOperation[]
  readonly created_at: Date
  readonly updated_at: Date
}

/** The form in which a token is stored and found. */
export function hashToken(token: string): string {
  return sha256Hex(token)
}

/** Whether a principal may call now, by any of its tokens. */
export function isActive(
  { status, expires_at }: Pick<Principal, 'status' | 'expires_at'>,
  at: Date,
): boolean {
  return status === 'active' && (expires_at === undefined || expires_at > at)
}

/** Whether a token of this hash counts now. */
export function acceptsToken(principal: Principal, sha256: string, at: Date): boolean {
  const token = principal.tokens.find((one) => one.sha256 === sha256)
  return (
    token !== undefined &&
    isActive(principal, at) &&
    (token.expires_at === undefined || token.expires_at > at)
  )
}

/** Accepts the rights of a principal, in the order of `RIGHTS`. Throws 1005 or 9000 with the path of the wrong one (O14). */
export function checkRights(given: readonly string[], is_of_merchant: boolean): readonly Right[] {
  if (given.length === 0) throw fieldError(1005, 'rights')
  const permitted: readonly string[] = is_of_merchant ? MERCHANT_RIGHTS : RIGHTS
  const wrong = given.findIndex((right) => !permitted.includes(right))
  if (wrong >= 0) throw fieldError(9000, `rights.${wrong}`, `one of ${permitted.join(', ')}`)
  return RIGHTS.filter((right) => given.includes(right))
}

/** Whether a right could make an accomplice of a principal (O5). */
export function isPower(right: string): boolean {
  return right === 'money' || right === 'admin'
}

/** What a person has after a sign-in: what its groups give, without powers that are held back and that it did not have before. */
export function rightsAtSignIn(
  before: readonly Right[],
  group_rights: readonly Right[],
  holds_back: boolean,
): readonly Right[] {
  const rights = group_rights.filter((right) => !holds_back || !isPower(right) || before.includes(right))
  return rights.length === 0 && group_rights.length > 0 ? ['read'] : rights
}

/** The most tokens of an overlap that count beside the one in use. */
const OLDER_TOKENS_MAX = 10

/**
 * The tokens after a rotation: the new one, and what still counts of the present ones, at most until the end of the overlap.
 * Throws 9000 while 10 older ones count.
 */
export function rotateTokens(
  { tokens }: Pick<Principal, 'tokens'>,
  sha256: string,
  overlap_ms: number,
  at: Date,
): readonly PrincipalToken[] {
  const overlap_end = new Date(at.getTime() + overlap_ms)
  const kept = tokens
    .map((token) => ({ ...token, expires_at: earlier(token.expires_at, overlap_end) }))
    .filter(({ expires_at }) => overlap_ms > 0 && expires_at > at)
  if (kept.length > OLDER_TOKENS_MAX)
    throw fieldError(
      9000,
      'overlap_seconds',
      `0, which ends them, while ${OLDER_TOKENS_MAX} older tokens count`,
    )
  return [{ sha256 }, ...kept]
}

function earlier(one: Date | undefined, other: Date): Date {
  return one !== undefined && one < other ? one : other
}
