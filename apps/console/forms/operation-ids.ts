import { create, type DescMessage, type MessageInitShape, toJsonString } from '@bufbuild/protobuf'
import { isUnclear } from '../values/problem.ts'
import type { Act } from './act.ts'
import { type Decision, requestOf } from './run-act.ts'

/**
 * The idempotency keys of the requests whose answers were lost or are still to come, by request. They outlive the dialog that sent
 * them: the same request from another dialog has the same key, so that it is not done twice.
 */
export type UnclearRequests = Map<string, string>

/**
 * The idempotency keys of the decisions in one dialog. A key stays the same while its decision is sent again, and after an answer that
 * was lost also when the person changes the decision: if the first one was done after all, the server refuses the second one instead
 * of doing both.
 */
export class OperationIds<T> {
  readonly #act: Act<T>
  readonly #item: T
  readonly #unclear: UnclearRequests
  readonly #newId: () => string
  #sent: { readonly id: string; readonly decision: string; readonly request: string } | undefined
  #is_unclear = false

  constructor(act: Act<T>, item: T, unclear: UnclearRequests, newId: () => string) {
    this.#act = act
    this.#item = item
    this.#unclear = unclear
    this.#newId = newId
  }

  /** The key under which a decision is sent, and whether the same request was sent before without a clear answer. */
  idOf(given: Omit<Decision, 'operation_id'>): string {
    const { file, ...rest } = given
    const decision = JSON.stringify([rest, file?.name, file?.size])
    const request = this.#requestText(given)
    const kept = this.#sent
    const id =
      this.#unclear.get(request) ??
      (kept !== undefined && (this.#is_unclear || kept.decision === decision) ? kept.id : this.#newId())
    this.#sent = { id, decision, request }
    return id
  }

  /** Whether the same request was sent before, also from another dialog, and its answer was lost. */
  isKnown(given: Omit<Decision, 'operation_id'>): boolean {
    return this.#unclear.has(this.#requestText(given))
  }

  /** The last decision was refused, or its answer was lost. */
  noteFailure(error: unknown): void {
    this.#is_unclear = isUnclear(error)
    if (this.#sent === undefined) return
    if (this.#is_unclear) this.#unclear.set(this.#sent.request, this.#sent.id)
    else this.#unclear.delete(this.#sent.request)
  }

  /** The last decision was done, so nothing else was done under its key. */
  noteDone(): void {
    this.#is_unclear = false
    for (const [request, id] of this.#unclear) if (id === this.#sent?.id) this.#unclear.delete(request)
  }

  #requestText(given: Omit<Decision, 'operation_id'>): string {
    const { parent, name, input } = this.#act.method
    const { request } = requestOf(this.#act, this.#item, { ...given, operation_id: '' })
    const { file } = given
    return JSON.stringify([
      `${parent.typeName}/${name}`,
      toJsonString(input, create(input, request as MessageInitShape<DescMessage>)),
      file?.name,
      file?.size,
    ])
  }
}
