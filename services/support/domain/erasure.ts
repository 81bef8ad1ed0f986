import { PublicError } from '#lib/contract/errors/public-error.ts'
import { defineEffect } from '#lib/patterns/effects/define-effect.ts'
import type { EffectDocument } from '#lib/patterns/effects/effect.ts'
import type { AttachedFile } from './support-resource.ts'

/** What stands in the place of an erased text. */
const ERASED = '[erased]'

/** A ticket, refund or chargeback, whose texts and files can be erased (O11). */
export interface Erasable extends EffectDocument {
  /** When its texts and files were erased. What was written later is still there. */
  readonly erased_at?: Date | undefined
  /** Set in a restored resource that was erased after its backup: it is erased when its effects have ended. */
  readonly is_to_be_erased?: true | undefined
  /** See `erasableSince`; the store derives it. */
  readonly erasable_since?: Date | undefined
  /** See `testEndedAt`; the store derives it. */
  readonly test_ended_at?: Date | undefined
}

/** The effect that erases what an erased resource has outside its document: comments, files and callbacks. */
export const eraseRestEffect = defineEffect({
  kind: 'erase_rest',
  lane: 'independent',
  data: {},
  id: ({ id, erased_at }: { readonly id: string; readonly erased_at: Date }) =>
    `${id}:erase:${erased_at.getTime()}`,
})

/**
 * The resource, whose own texts are gone, as erased. Throws 8801 while effects wait: they carry texts too. `id` is its public id.
 * Pure.
 */
export function asErased<D extends Erasable>(resource: D, id: string, erased_at: Date): D {
  if (resource.effects.length > 0)
    throw new PublicError(8801, { details: { description: id, reason: 'its effects must end first' } })
  const effects = [eraseRestEffect.newEffect({ id, erased_at }, {}, { at: erased_at })]
  return { ...resource, erased_at, is_to_be_erased: undefined, effects }
}

/**
 * Since when a resource can be erased, for the index of the walk that erases: since the last text after its end, or the beginning
 * of time for one that an erasure waits for. `undefined` while it is open, and when nothing was written since its erasure. Pure.
 */
export function erasableSince(
  { erased_at, is_to_be_erased }: Erasable,
  ended_since: Date | undefined,
): Date | undefined {
  if (is_to_be_erased) return new Date(0)
  if (ended_since === undefined || (erased_at !== undefined && erased_at >= ended_since)) return undefined
  return ended_since
}

/** Whether a resource that ended at a time, or is open (`undefined`), waits for nothing. Pure. */
export function hasEnded({ effects }: Erasable, ended_since: Date | undefined): boolean {
  return ended_since !== undefined && effects.length === 0
}

/** What an erasure leaves of a text: an empty one stays empty. */
export function erasedText(text: string): string {
  return text === '' ? '' : ERASED
}

/** The file without its name. */
export function withoutName(file: AttachedFile): AttachedFile {
  return { ...file, name: ERASED }
}
