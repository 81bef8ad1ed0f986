import { Code } from '@connectrpc/connect'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { now } from '#lib/base/time.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { RpcStatusError } from '#lib/rpc/errors.ts'
import type { Principal } from '../domain/principal.ts'
import type { Right } from '../domain/rights.ts'
import type { Principals } from '../store/principals.ts'
import { idFromHash } from './principals.ts'

/** A person as the OpenID provider knows it, with the rights that its groups give now. */
export interface SignedInPerson {
  readonly issuer: string
  readonly subject: string
  readonly name: string
  readonly rights: readonly Right[]
}

const NAME_MAX = 128

/**
 * The principal of a person who has signed in, who is stored at the first time. Name and rights follow the provider. Throws
 * PERMISSION_DENIED for a revoked principal, and for a person without a right, who has lost all rights that it had.
 */
export async function signInPerson(
  principals: Pick<Principals, 'insertOrGet' | 'update'>,
  { issuer, subject, name: given_name, rights }: SignedInPerson,
): Promise<Principal> {
  const identity = { issuer, subject }
  const principal_id = idFromHash(sha256Hex(`person ${JSON.stringify([issuer, subject])}`))
  const name = [...given_name.replaceAll(/\p{Cc}/gu, ' ').toWellFormed()].slice(0, NAME_MAX).join('')
  const at = now()
  if (rights.length > 0) {
    const principal: Principal = {
      principal_id,
      name,
      kind: 'person',
      rights,
      identity,
      status: 'active',
      tokens: [],
      created_at: at,
      updated_at: at,
    }
    await principals.insertOrGet(principal, payloadHash(identity))
  }
  const stored = await principals.update(principal_id, (current) =>
    current.status === 'revoked' || (current.name === name && current.rights.join() === rights.join())
      ? undefined
      : { ...current, name, rights, updated_at: at },
  )
  if (stored?.status === 'revoked') throw refusal('your access was revoked')
  if (stored === undefined || rights.length === 0) throw refusal('none of your groups has a right here')
  return stored
}

function refusal(reason: string): RpcStatusError {
  return new RpcStatusError(Code.PermissionDenied, reason)
}
