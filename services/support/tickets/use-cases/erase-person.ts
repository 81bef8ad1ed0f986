import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { startDueWalk } from '#lib/patterns/due-walk.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { ErasureLog } from '#lib/patterns/erasures.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { eraseTicket } from '../domain/erase-ticket.ts'
import { type Ticket, withListing } from '../domain/ticket.ts'
import { findTicketById, keyOfTicket } from '../store/tickets.ts'

/** What erasing tickets needs. */
export interface EraseTicketDeps {
  readonly tickets: Collection<Ticket>
  readonly runner: Pick<EffectRunner<Ticket>, 'update' | 'runEffects'>
  readonly erasures: ErasureLog
}

/** A ticket of a merchant, or the payment that a ticket may be about. */
export type EraseTicketRequest =
  | { readonly merchant_id: string; readonly ticket_id: string }
  | (MerchantScope & { readonly payment_id: string })

/**
 * Destroys the texts and files of a ticket, also of a deleted one, or of the ticket of a payment, which may have none (O11). What is
 * written later stays until the next erasure. Throws 10001 for a ticket that the merchant does not have, and 8801 while its
 * effects wait.
 */
export async function erasePerson(deps: EraseTicketDeps, request: EraseTicketRequest): Promise<void> {
  const { merchant_id } = request
  if ('ticket_id' in request) {
    const ticket = await findTicketById(deps.tickets, request.ticket_id)
    if (ticket?.merchant_id !== merchant_id) throw new PublicError(10001)
    return erase(deps, ticket)
  }
  const { environment, payment_id: subject_id } = request
  const ticket = await deps.tickets.get({ merchant_id, environment, subject_id }, { linearizable: true })
  if (ticket) await erase(deps, ticket)
}

async function erase({ runner, erasures }: EraseTicketDeps, ticket: Stored<Ticket>): Promise<void> {
  const { merchant_id, ticket_id } = ticket
  eraseTicket(ticket, now())
  // First, so that a crash leaves no erasure that a restored backup would undo.
  await erasures.append({ kind: 'ticket', merchant_id, id: ticket_id })
  const stored = await runner.update(keyOfTicket(ticket), (current) =>
    current.ticket_id === ticket_id ? eraseTicket(current, now()) : undefined,
  )
  if (stored) await runner.runEffects(stored)
}

const WALK_MS = 60_000

/** Erases, once a minute, the tickets that ended more than `retention_ms` ago. `stop` waits for the walk in progress. */
export function startRetentionWalk(
  deps: EraseTicketDeps & { readonly clock_guard: ClockGuard },
  retention_ms: number,
): { stop(): Promise<void> } {
  const { tickets, runner, clock_guard } = deps
  const dueBefore = (): Date => new Date(now().getTime() - retention_ms)
  return startDueWalk(tickets, 'by_erasable', {
    clock_guard,
    interval_ms: WALK_MS,
    failure: 'old tickets could not be erased',
    dueBefore,
    async visit(ticket) {
      const { erasable_since } = withListing(ticket)
      if (erasable_since !== undefined && erasable_since < dueBefore()) return erase(deps, ticket)
      // It got a comment since it ended.
      await runner.update(keyOfTicket(ticket), withListing)
    },
  })
}
