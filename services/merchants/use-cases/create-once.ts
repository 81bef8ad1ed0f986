import { now } from '#lib/base/time.ts'
import type { DoneOperation, RequestedOperation } from '#lib/patterns/idempotency/done-operations.ts'
import { type JsonValue, payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { Duplicate } from '#lib/store/errors.ts'
import type { RegistryDocument } from '../domain/settings.ts'
import type { MerchantsStore } from '../store/merchants-store.ts'
import type { NewDocument, RegistryCollection } from '../store/registry-collection.ts'

/** A creation that the operator asks for. */
interface CreationRequest {
  /** The merchant that owns the resource; empty for a merchant. */
  readonly merchant_id: string
  readonly operation_id: string
  /** Who asks, where the answer holds a secret: no other principal gets it by the same request. */
  readonly principal_id?: string
  /** All other fields: a repetition has the same. */
  readonly given: object
}

/** A creation whose request is valid. */
interface CheckedCreation<D extends RegistryDocument> {
  issueId(): Promise<string>
  documentOf(id: string): NewDocument<D>
}

/**
 * Creates a resource once per merchant, kind and `operation_id` (O12): a repetition returns the resource as it is by now.
 * `check` validates the request, and may refuse it; a repetition is not checked again, because other changes of the registry
 * may forbid by now what it created. Throws 1013 for an `operation_id` of another request or principal.
 */
export async function createOnce<D extends RegistryDocument>(
  { creations }: Pick<MerchantsStore, 'creations'>,
  collection: RegistryCollection<D>,
  { given, ...requested }: CreationRequest,
  check: () => Promise<CheckedCreation<D>>,
): Promise<D> {
  const payload_hash = payloadHash(given as JsonValue)
  const creation = { kind: collection.spec.name, ...requested, payload_hash }
  const known = await creations.find(creation)
  const existing = known === undefined ? undefined : await collection.find(known)
  if (existing) return existing
  const { issueId, documentOf } = await check()
  const id = known ?? (await creations.reserve(creation, await issueId()))
  try {
    return await collection.insert(documentOf(id))
  } catch (error) {
    // An equal request was faster, or an earlier try of this one was not lost.
    const inserted = error instanceof Duplicate ? await collection.find(id) : undefined
    if (!inserted) throw error
    return inserted
  }
}

/** Long enough for an operator's program to crash and repeat its call, short enough that a log of calls reveals little. */
const SECRET_SHOWN_MS = 10 * 60_000

/** Whether a repetition of the request that issued a secret at this time still returns it (O12). */
export function isSecretShown(issued_at: Date): boolean {
  return now().getTime() - issued_at.getTime() < SECRET_SHOWN_MS
}

/**
 * Whether the answer to a rotation, or to a repetition of it, has the secret that it issued (O12): for a while, and only while no later
 * rotation has replaced it. The time tells a rotation by a release that remembers none.
 */
export function isRotationShown(
  rotations: readonly DoneOperation[] | undefined,
  { operation_id }: RequestedOperation,
  secret_created_at: Date,
): boolean {
  const newest = rotations?.at(-1)
  return (
    newest?.operation_id === operation_id &&
    newest.at.getTime() === secret_created_at.getTime() &&
    isSecretShown(newest.at)
  )
}
