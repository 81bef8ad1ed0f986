import type { Actor, SimulatedProcess } from '../parts/simulated-process.ts'
import type { Change } from '../parts/store/memory-collection.ts'
import { createRunWatch } from './runs.ts'

/** A database and a collection of it, joined by a dot. */
type CollectionName = `${string}.${string}`

/** Judges what processes do with the leases of effects. */
export interface LeaseWatch {
  /** Judges one change of a document with effects, and notes one of a heartbeat. */
  onChange(name: CollectionName, change: Change, writer: Actor): Iterable<string>
  /** Judges that a process asks the provider whether it knows a key. */
  onLookup(idempotency_key: string, sender: Actor): Iterable<string>
  /** Judges a create that a process sends to the provider under the key of an attempt. */
  onCreate(idempotency_key: string, sender: Actor): Iterable<string>
}

interface StoredEffect {
  readonly id: string
  readonly kind: string
  readonly due_at: Date
  readonly tries_at_retry?: number
  readonly failure?: string
  readonly lease?: { readonly token: string; readonly until: Date; readonly run?: string }
  readonly data: Readonly<Record<string, unknown>>
}

interface DocumentWithEffects {
  readonly effects: readonly StoredEffect[]
  readonly payment_id?: string
  readonly p_id?: string
  readonly history?: readonly object[]
  readonly attempts?: readonly { readonly number: number; readonly provider_id?: string }[]
  readonly refunds?: readonly {
    readonly refund_id: string
    readonly state: string
    readonly provider_id?: string
  }[]
}

/** What a final status makes pointless, so that any process may drop it together with the transition. */
const DROPPED_WITH_TRANSITION = ['poll_provider', 'repeat_create', 'expire_payment', 'report_open']

/** A poll needs no lease: any process may poll at once for a merchant that asks. Its lease says when the next poll is due. */
const NEEDS_NO_LEASE = ['poll_provider', 'find_restored']

/** The answers of all accounts end it, whoever got them: a process that was paused can have the last ones (P19). */
const ENDS_WITH_ANY = 'find_restored'

/** What the end of a refund makes pointless, so that any process may drop it together with that. */
const DROPPED_WITH_REFUND = ['poll_provider', 'repeat_create', 'report_open']

/** The check of a claim begins anew when a call joins the claim, so any process may replace it together with the claim. */
const REPLACED_WITH_CLAIM = 'check_claim'

/** What another payment makes pointless that takes the place of a refused withdrawal: its record is stored before. */
const DROPPED_WITH_REFUSAL = ['record_refusal', 'discard_refused']

/** The database with the heartbeats of the processes that call providers. */
const PROVIDER_CALLER = 'payments'

/** Makes the watch of one simulation. `sent` are the keys of the creates that were sent before the system was restored. */
export function createLeaseWatch(sent: Set<string>): LeaseWatch {
  /** The process that wrote each token. */
  const owners = new Map<string, SimulatedProcess>()
  /** The last lease that a process had of an effect. */
  const leases = new Map<string, NonNullable<StoredEffect['lease']>>()
  /** The leases of repeated creates whose operation the provider had reported, with its id. */
  const known = new Set<string>()
  /** The keys of all lookups. */
  const looked_up = new Set<string>()
  const runs = createRunWatch()
  const leaseName = (process: SimulatedProcess, effect_id: string): string => `${process.name} ${effect_id}`

  return {
    *onChange(name, { key, before, after }, writer) {
      const [database = '', collection] = name.split('.')
      if (collection === 'members') yield* runs.onHeartbeat(database, { key, before, after }, writer)
      const old = effectsOf(before)
      const next = new Map(effectsOf(after).map((effect) => [effect.id, effect]))
      const is_transition = transitionsOf(before) !== transitionsOf(after)
      for (const effect of old) {
        const owner = owners.get(effect.lease?.token ?? '')
        if (owner === undefined || !isLive(effect, writer)) continue
        const left = next.get(effect.id)
        if (left?.lease?.token === effect.lease?.token) continue
        if (effect.kind === REPLACED_WITH_CLAIM && claimOf(before) !== claimOf(after)) continue
        if (DROPPED_WITH_REFUSAL.includes(effect.kind) && paymentOf(before) !== paymentOf(after)) continue
        if ((left !== undefined || effect.kind === ENDS_WITH_ANY) && NEEDS_NO_LEASE.includes(effect.kind))
          continue
        const refund_id = effect.data['refund_id']
        if (refund_id === undefined && is_transition && DROPPED_WITH_TRANSITION.includes(effect.kind))
          continue
        if (DROPPED_WITH_REFUND.includes(effect.kind) && hasEnded(after, refund_id)) continue
        if (owner === writer.process && (left === undefined || isTriedAgain(effect, left))) continue
        const is_takeover = left !== undefined && left.lease === undefined
        if (is_takeover && runs.isDead(effect.lease?.run)) continue
        yield `${writer.process.name} changed the effect ${effect.id} within the lease of ${owner.name}`
      }
      for (const { id, lease } of next.values()) {
        if (lease === undefined || owners.has(lease.token)) continue
        owners.set(lease.token, writer.process)
        leases.set(leaseName(writer.process, id), lease)
        if (isKnown(after, id)) known.add(leaseName(writer.process, id))
      }
    },
    *onLookup(idempotency_key, sender) {
      looked_up.add(idempotency_key)
      if (!runs.mayAct(PROVIDER_CALLER, sender))
        yield `${sender.process.name} asked for ${idempotency_key} without a heartbeat that is confirmed`
    },
    *onCreate(idempotency_key, sender) {
      const { process, now_ms } = sender
      if (!runs.mayAct(PROVIDER_CALLER, sender))
        yield `${process.name} sent the create ${idempotency_key} without a heartbeat that is confirmed`
      // The sender cannot know that the first one was lost.
      if (sent.has(idempotency_key) && !looked_up.has(idempotency_key))
        yield `${process.name} sent the create ${idempotency_key} again without a lookup`
      sent.add(idempotency_key)
      const effectOf = (name: string): string => `${idempotency_key}:${name}`
      const leaseOf = (kind: string) => leases.get(leaseName(process, effectOf(kind)))
      const sent_under = [leaseOf('create'), leaseOf('repeat')].filter((lease) => lease?.run !== undefined)
      if (sent_under.length > 0 && sent_under.every((lease) => runs.isDead(lease?.run)))
        yield `${process.name} sent the create ${idempotency_key} under a lease of a run that was declared dead`
      if (known.has(leaseName(process, effectOf('repeat'))))
        yield `${process.name} sent the create ${idempotency_key} again, whose id at the provider was known (P4)`
      // What follows a lookup may have been paused since its lease was checked.
      if (leaseOf('poll') || leaseOf('repeat')) return
      const end_ms = leaseOf('create')?.until.getTime()
      if (end_ms === undefined) yield `${process.name} sent the create ${idempotency_key} without a lease`
      else if (end_ms <= now_ms)
        yield `${process.name} sent the create ${idempotency_key} after the end of its lease`
    },
  }
}

/** Whether a try of an effect ended without success. It can be due again in the millisecond in which it was before. */
function isTriedAgain(before: StoredEffect, after: StoredEffect): boolean {
  const has_failed = after.tries_at_retry !== before.tries_at_retry || after.failure !== before.failure
  return has_failed || after.due_at.getTime() !== before.due_at.getTime()
}

/** Whether the lease of an effect has not ended by the clock of a process that it can rely on. */
function isLive({ lease }: StoredEffect, { now_ms, has_steady_clock }: Actor): boolean {
  return has_steady_clock && lease !== undefined && lease.until.getTime() > now_ms
}

/** Whether the provider has reported, with its id, what an effect sends again. The id of the effect begins with its key. */
function isKnown(body: Change['before'], effect_id: string): boolean {
  const { payment_id, p_id, attempts = [], refunds = [] } = (body ?? {}) as Partial<DocumentWithEffects>
  const reported = [
    // What merchants see is the id of a payment's only attempt.
    ...attempts.map(({ number, provider_id = attempts.length === 1 ? p_id : undefined }) => [
      `${payment_id}:${number}`,
      provider_id,
    ]),
    ...refunds.map(({ refund_id, provider_id }) => [`${payment_id}:refund:${refund_id}`, provider_id]),
  ]
  return reported.some(([key, id]) => id !== undefined && effect_id === `${key}:repeat`)
}

/** Whether a refund of a payment waits for its provider no more. */
function hasEnded(body: Change['before'], refund_id: unknown): boolean {
  const { refunds = [] } = (body ?? {}) as Partial<DocumentWithEffects>
  return refunds.some((refund) => refund.refund_id === refund_id && refund.state !== 'approved')
}

/** The calls that have claimed a file, as a text that can be compared. */
function claimOf(body: Change['before']): string {
  const { claim } = (body ?? {}) as { claim?: { executions: readonly string[] } }
  return claim?.executions.join() ?? ''
}

function paymentOf(body: Change['before']): unknown {
  return body?.['payment_id']
}

function effectsOf(body: Change['before']): readonly StoredEffect[] {
  return (body as Partial<DocumentWithEffects> | undefined)?.effects ?? []
}

function transitionsOf(body: Change['before']): number | undefined {
  return (body as Partial<DocumentWithEffects> | undefined)?.history?.length
}
