import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import type { EffectDocument } from '#lib/patterns/effects/effect.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import { listStuckEffects } from '#lib/patterns/effects/stuck-effects.ts'
import type { PageRequest } from '#lib/patterns/paging/read-page.ts'
import type { Collection, Fields, Stored } from '#lib/store/store.ts'

/** Documents of one kind, as the operator's retry of stuck effects reaches them. */
export interface StuckDocumentsDeps<D extends EffectDocument & MerchantScope> {
  readonly collection: Collection<D>
  readonly runner: Pick<EffectRunner<D>, 'retry'>
  /** The fields of the key of the collection. */
  readonly key_fields: readonly string[]
  keyOf(document: D): Fields
  idOf(document: D): string
  /** The document of any merchant with this id. Throws when there is none. */
  get(id: string): Promise<Stored<D>>
}

/** The stuck effects of one kind of documents. */
export type StuckDocuments = ReturnType<typeof stuckDocuments<EffectDocument & MerchantScope>>

/** Makes the list and the retry of one kind of documents. */
export function stuckDocuments<D extends EffectDocument & MerchantScope>(deps: StuckDocumentsDeps<D>) {
  return {
    /** Lists them, the longest stuck first. Throws 9000 for a page size outside 1 to 1,000 and for a token of another list. */
    async list(page: PageRequest) {
      const { stuck, next_page_token } = await listStuckEffects(deps.collection, deps.key_fields, page)
      return {
        stuck: stuck.map((one) => ({ ...one, document_id: deps.idOf(one.document) })),
        next_page_token,
      }
    },
    /**
     * Gives a stuck effect all its tries again and runs it. Returns whether it still waits, because it failed again or runs
     * in the background. Throws the refusal of an unknown document, and 8801 for one without such a stuck effect.
     */
    async retry(document_id: string, effect_id: string): Promise<boolean> {
      const retried = await deps.runner.retry(deps.keyOf(await deps.get(document_id)), effect_id)
      if (!retried) throw new PublicError(8801)
      return retried.effects.some(({ id }) => id === effect_id)
    },
  }
}
