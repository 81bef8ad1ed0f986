import { now } from '#lib/base/time.ts'
import { type PageRequest, readPage } from '#lib/patterns/paging/read-page.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { dueAgain, type Effect, type EffectDocument } from './effect.ts'

/** A stuck effect with the document that it belongs to. */
export interface StuckEffect<D extends EffectDocument> {
  readonly document: Stored<D>
  readonly effect: Effect
}

/**
 * Lists stuck effects, the longest stuck first. A page counts documents, each of which may have several. The collection has
 * `EFFECT_INDEXES`; `key_fields` are the fields of its key, which are texts. Throws 9000 for a page size outside 1 to 1,000 and
 * for a token of another list.
 */
export async function listStuckEffects<D extends EffectDocument>(
  collection: Pick<Collection<D>, 'find'>,
  key_fields: readonly string[],
  page: PageRequest,
): Promise<{ readonly stuck: readonly StuckEffect<D>[]; readonly next_page_token: string }> {
  const key = Object.fromEntries(key_fields.map((field) => [field, 'text'] as const))
  const position = { stuck_at: 'instant', ...key } as const
  const list = { collection, index: 'by_stuck', range: {}, token_scope: {}, position }
  const { items, next_page_token } = await readPage<D>(list, page)
  const stuck = items.flatMap((document) =>
    document.effects.filter((effect) => effect.stuck).map((effect) => ({ document, effect })),
  )
  return { stuck, next_page_token }
}

/** Gives a stuck effect all its tries again, due at once; `undefined` when the document has no such effect. */
export function resetStuckEffect<D extends EffectDocument>(document: D, effect_id: string): D | undefined {
  if (!document.effects.some(({ id, stuck }) => id === effect_id && stuck)) return undefined
  const effects = document.effects.map((effect) => {
    const { stuck: _stuck, failure: _failure, ...rest } = effect
    return effect.id === effect_id ? dueAgain({ ...rest, tries_at_retry: rest.tries }, now()) : effect
  })
  return { ...document, effects }
}
