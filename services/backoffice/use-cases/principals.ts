import { idFromHash, sha256Hex } from '#lib/base/crypto/hash.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { now } from '#lib/base/time.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { findDone, requestedOperation, withDone } from '#lib/patterns/idempotency/done-operations.ts'
import { type JsonValue, payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { isRepetition, withApproval } from '../domain/approval-ids.ts'
import { checkRights, hashToken, isActive, type Principal, rotateTokens } from '../domain/principal.ts'
import type { Right } from '../domain/rights.ts'
import type { Principals } from '../store/principals.ts'

/** What a request gives of a new principal. */
export interface GivenPrincipal extends Pick<Principal, 'name' | 'kind' | 'merchant_id' | 'expires_at'> {
  readonly rights: readonly string[]
}

/**
 * Adds a principal, once per `operation_id` (O12). Its token is in the first answer only (O15). One that a second person
 * approved has none yet, because nobody gets that answer: `rotateToken` issues its first (O5). Throws 1013 where the
 * `operation_id` belongs to another request.
 */
export async function createPrincipal(
  principals: Principals,
  operation_id: string,
  given: GivenPrincipal,
  { is_approved }: { readonly is_approved: boolean },
): Promise<{ readonly principal: Principal; readonly token: Secret | undefined }> {
  const { merchant_id, expires_at, ...fields } = given
  const rights = checkRights(given.rights, merchant_id !== undefined)
  const payload_hash = payloadHash({ ...given, expires_at: expires_at?.toISOString() } as JsonValue)
  const token = is_approved ? undefined : newToken()
  const at = now()
  const principal: Principal = {
    principal_id: idOfCreation(operation_id),
    ...fields,
    rights,
    ...(merchant_id === undefined ? {} : { merchant_id }),
    ...(expires_at === undefined ? {} : { expires_at }),
    status: 'active',
    tokens: token === undefined ? [] : [{ sha256: hashToken(token.reveal()) }],
    created_at: at,
    updated_at: at,
  }
  const existing = await principals.get(principal.principal_id)
  if (existing === undefined) checkExpiry(expires_at)
  const { stored, is_new } = await principals.insertOrGet(principal, payload_hash)
  if (stored.payload_hash !== payload_hash) throw new PublicError(1013)
  return { principal: stored, token: is_new ? token : undefined }
}

/** Issues a token of 256 random bits (O3). */
function newToken(): Secret {
  return new Secret(`mhp_${randomHex(32)}`)
}

/** A repetition of a creation meets its own document: the id is a UUID that follows from the `operation_id`. */
function idOfCreation(operation_id: string): string {
  return idFromHash(sha256Hex(`principal ${operation_id}`))
}

function checkExpiry(expires_at: Date | undefined): void {
  if (expires_at !== undefined && expires_at <= now())
    throw fieldError(9000, 'expires_at', 'a time in the future')
}

/** What a request changes of a principal; absent fields stay. `expires_at` is `never` where the principal must not expire. */
export interface PrincipalChanges {
  readonly name?: string | undefined
  readonly rights: readonly string[]
  readonly expires_at?: Date | 'never' | undefined
}

/**
 * Changes a principal, once per `approval_id` where a second person approved the change (O5): its repetition must not bring back a right
 * that was withdrawn meanwhile, and is done also when the principal was revoked since. Throws NOT_FOUND for an unknown principal, and 1003
 * for a revoked principal, or for rights that follow groups, unless a second person approved what its groups give.
 */
export async function updatePrincipal(
  principals: Principals,
  principal_id: string,
  { name, rights, expires_at }: PrincipalChanges,
  approval_id: string | undefined,
): Promise<Principal> {
  const is_approved = approval_id !== undefined
  // Before the status: what an approved call has done is done, also when the principal was revoked since.
  const isDone = (current: Principal): boolean => isRepetition(current, approval_id)
  const change = (current: Principal): Principal => {
    if (expires_at !== 'never') checkExpiry(expires_at)
    const next_rights = rights.length === 0 ? current.rights : changedRights(current, rights, is_approved)
    const { expires_at: expires_before, ...rest } = current
    const expires = expires_at === undefined ? expires_before : expires_at
    return {
      ...rest,
      ...(name === undefined ? {} : { name }),
      rights: next_rights,
      ...withApproval(current, approval_id),
      ...(expires === undefined || expires === 'never' ? {} : { expires_at: expires }),
    }
  }
  return changeActive(principals, principal_id, change, isDone)
}

/** How long the present tokens still count, and what identifies the rotation. */
interface RequestedRotation {
  readonly overlap_seconds: number
  /** Empty for a rotation that is never repeated. */
  readonly operation_id: string
}

/**
 * Issues another token, once per `operation_id`: only its hash is kept, so a repetition answers without it (O12). Throws NOT_FOUND for
 * an unknown principal, 1003 for one that may have none any more, or never, and 1013 for a rotation with another overlap.
 */
export async function rotateToken(
  principals: Principals,
  principal_id: string,
  { overlap_seconds, operation_id }: RequestedRotation,
): Promise<{ readonly principal: Principal; readonly token: Secret | undefined }> {
  if (overlap_seconds < 0 || overlap_seconds > OVERLAP_MAX_SECONDS)
    throw fieldError(9000, 'overlap_seconds', `an integer from 0 to ${OVERLAP_MAX_SECONDS}`)
  const rotation = requestedOperation(operation_id, { overlap_seconds })
  const token = newToken()
  const sha256 = hashToken(token.reveal())
  const principal = await changeActive(principals, principal_id, (current) => {
    if (findDone(current.rotations, rotation)) return undefined
    if (!isActive(current, now())) throw wrongStatus('the principal has expired')
    checkHasNoProvider(current)
    return {
      ...current,
      tokens: rotateTokens(current, sha256, overlap_seconds * 1_000, now()),
      rotations: withDone(current.rotations, rotation, now()),
    }
  })
  return { principal, token: principal.tokens[0]?.sha256 === sha256 ? token : undefined }
}

const OVERLAP_MAX_SECONDS = 30 * 86_400

/** Ends all tokens of a principal permanently. A repetition changes nothing. Throws NOT_FOUND for an unknown principal. */
export async function revokePrincipal(
  principals: Principals,
  principal_id: string,
  reason: string,
): Promise<Principal> {
  const revoked = await principals.update(principal_id, (current) =>
    current.status === 'revoked'
      ? undefined
      : { ...current, status: 'revoked', revoke_reason: reason, updated_at: now() },
  )
  if (revoked === undefined) throw unknownPrincipal()
  return revoked
}

async function changeActive(
  principals: Principals,
  principal_id: string,
  change: (current: Principal) => Principal | undefined,
  isDone: (current: Principal) => boolean = () => false,
): Promise<Principal> {
  const changed = await principals.update(principal_id, (current) => {
    if (isDone(current)) return undefined
    if (current.status === 'revoked') throw wrongStatus('the principal was revoked')
    const next = change(current)
    return next && { ...next, updated_at: now() }
  })
  if (changed === undefined) throw unknownPrincipal()
  return changed
}

/** A second person gives a person of the provider only what its groups gave it at its last sign-in, and nobody else anything. */
function changedRights(current: Principal, given: readonly string[], is_approved: boolean): readonly Right[] {
  const { identity, rights, group_rights = [], merchant_id } = current
  if (identity === undefined) return checkRights(given, merchant_id !== undefined)
  if (!is_approved || !given.every((right) => group_rights.some((one) => one === right)))
    throw followsGroups()
  return group_rights.filter((right) => rights.includes(right) || given.includes(right))
}

/** Its rights are those of its groups at each sign-in, and a token would outlive them. */
function checkHasNoProvider({ identity }: Principal): void {
  if (identity !== undefined) throw followsGroups()
}

function followsGroups(): PublicError {
  return wrongStatus('the person signs in by OpenID Connect')
}

/** The back office answers it as NOT_FOUND (O15). */
export function unknownPrincipal(): PublicError {
  return fieldError(1003, 'principal_id', 'nothing has this id')
}

function wrongStatus(reason: string): PublicError {
  return new PublicError(1003, { details: { reason } })
}
