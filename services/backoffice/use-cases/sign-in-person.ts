import { Code } from '@connectrpc/connect'
import { idFromHash, sha256Hex } from '#lib/base/crypto/hash.ts'
import { now } from '#lib/base/time.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { RpcStatusError } from '#lib/rpc/errors.ts'
import { type Principal, rightsAtSignIn } from '../domain/principal.ts'
import type { Right } from '../domain/rights.ts'
import type { Principals } from '../store/principals.ts'

/** A person as the OpenID provider knows it, with the rights that its groups give now. */
export interface SignedInPerson {
  readonly issuer: string
  readonly subject: string
  readonly name: string
  readonly rights: readonly Right[]
}

const NAME_MAX = 128

/** The id of the principal of a person, which follows from who it is at the provider. */
export function principalIdOf({ issuer, subject }: Pick<SignedInPerson, 'issuer' | 'subject'>): string {
  return idFromHash(sha256Hex(`person ${JSON.stringify([issuer, subject])}`))
}

/** The name of a person as it is stored: one line that is not too long. */
export function nameOfPerson(name: string): string {
  return [...name.replaceAll(/\p{Cc}/gu, ' ').toWellFormed()].slice(0, NAME_MAX).join('')
}

/**
 * The principal of a person who has signed in, who is stored at the first time. Name and rights follow the provider, but powers that
 * it did not have before are left out while `holds_back` (O5). Throws PERMISSION_DENIED for a revoked principal, and for a person
 * without a right, who has lost all rights that it had.
 */
export async function signInPerson(
  principals: Pick<Principals, 'insertOrGet' | 'update'>,
  { issuer, subject, name: given_name, rights: group_rights }: SignedInPerson,
  { holds_back }: { readonly holds_back: boolean },
): Promise<Principal> {
  const identity = { issuer, subject }
  const principal_id = principalIdOf(identity)
  const name = nameOfPerson(given_name)
  const at = now()
  if (group_rights.length > 0) {
    const principal: Principal = {
      principal_id,
      name,
      kind: 'person',
      rights: rightsAtSignIn([], group_rights, holds_back),
      identity,
      group_rights,
      status: 'active',
      tokens: [],
      created_at: at,
      updated_at: at,
    }
    await principals.insertOrGet(principal, payloadHash(identity))
  }
  const stored = await principals.update(principal_id, (current) => {
    const rights = rightsAtSignIn(current.rights, group_rights, holds_back)
    const is_same =
      current.name === name &&
      current.rights.join() === rights.join() &&
      current.group_rights?.join() === group_rights.join()
    return current.status === 'revoked' || is_same
      ? undefined
      : { ...current, name, rights, group_rights, updated_at: at }
  })
  if (stored?.status === 'revoked') throw refusal('your access was revoked')
  if (stored === undefined || group_rights.length === 0) throw refusal('none of your groups has a right here')
  return stored
}

function refusal(reason: string): RpcStatusError {
  return new RpcStatusError(Code.PermissionDenied, reason)
}
