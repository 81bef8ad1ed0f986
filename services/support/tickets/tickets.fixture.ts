import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { FindPaymentResponseSchema } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { createBudget } from '#lib/patterns/effects/budget.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { type Publisher, publishEventHandler } from '#lib/patterns/effects/publisher.ts'
import { createEffectRunner, type EffectRunner } from '#lib/patterns/effects/runner.ts'
import { createIdempotency } from '#lib/patterns/idempotency/idempotency.ts'
import { openStore } from '#lib/store/open.ts'
import type { Collection } from '#lib/store/store.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { lastingRun } from '../../../test/support/runs.ts'
import { bindStoreComment } from '../comments/effects/store-comment.ts'
import { openSupportStore, type SupportStore } from '../store/support-store.ts'
import type { AttachmentClaims } from '../use-cases/claim-attachments.ts'
import type { Ticket } from './domain/ticket.ts'
import { keyOfTicket } from './store/tickets.ts'
import type { TicketDeps } from './use-cases/update-ticket.ts'

/** A process that works with tickets. Its writes can be counted, and end at a chosen one as if it had crashed. */
export interface TicketProcess {
  readonly deps: TicketDeps
  readonly runner: EffectRunner<Ticket>
  /** How many writes it has made. */
  writes(): number
}

/** Tickets in an embedded store, with payments and a bus that the test decides about. */
export interface TicketsFixture extends AsyncDisposable {
  readonly store: SupportStore
  /** The keys of the events that were published, each as often as it was. */
  readonly published: string[]
  /**
   * Starts a process. With `writes_max` each call after that number of writes fails, so that the process is dead. Without
   * `attachments` no merchant has files.
   */
  newProcess(writes_max?: number, attachments?: AttachmentClaims): TicketProcess
}

/** The merchant of these tests has the payments `pay-1` to `pay-9`. */
const PAYMENT = /^pay-[1-9]$/

const NO_FILES: AttachmentClaims = {
  claimAttachments: () => Promise.reject(new PublicError(13001)),
  releaseAttachments: () => Promise.reject(new Error('nothing was claimed')),
}

/** Opens the collections in a new directory, which is deleted on disposal. */
export async function openTickets(): Promise<TicketsFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-tickets-'))
  const opened = await openStore({ database: 'support', directory, timeout_ms: HANG_LIMIT_MS })
  const store = await openSupportStore(opened)
  const published: string[] = []
  const runners: EffectRunner<Ticket>[] = []
  const publisher: Publisher = {
    budget: createBudget(100),
    usesBus: () => true,
    publish: async (_subject, event_key) => void published.push(event_key),
    close: async () => {},
  }
  return {
    store,
    published,
    newProcess(writes_max = Number.POSITIVE_INFINITY, attachments = NO_FILES) {
      let writes = 0
      const mortal = <D extends object>(collection: Collection<D>): Collection<D> =>
        crashing(collection, () => {
          if (writes >= writes_max) throw new Error('this process has crashed')
          return () => {
            writes += 1
          }
        })
      const tickets = mortal(store.tickets)
      const comments = mortal(store.ticket_comments)
      const runner = createEffectRunner<Ticket>({
        name: 'tickets',
        collection: tickets,
        clock_guard: trustedClock,
        runs: lastingRun,
        keyOf: keyOfTicket,
        sweep_ms: 10,
        effects: [
          bindStoreComment(comments),
          publishEventEffect.bind<Ticket>(publishEventHandler(publisher)),
        ],
      })
      runners.push(runner)
      const deps: TicketDeps = {
        tickets,
        comments,
        runner,
        idempotency: createIdempotency(mortal(store.idempotency_records), trustedClock),
        keys: testKeys(),
        payments: {
          async findPayment({ cId = '' }) {
            if (!PAYMENT.test(cId)) throw new PublicError(6010)
            const payment = { paymentId: `id of ${cId}`, cId, hId: `public id of ${cId}` }
            return create(FindPaymentResponseSchema, { payment })
          },
        },
        attachments,
      }
      return { deps, runner, writes: () => writes }
    },
    async [Symbol.asyncDispose]() {
      for (const runner of runners) await runner.stop()
      await opened.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** A collection whose calls fail when `begin` throws. `begin` returns what to call after a write. */
function crashing<D extends object>(collection: Collection<D>, begin: () => () => void): Collection<D> {
  const write = async <R>(act: () => Promise<R>): Promise<R> => {
    const end = begin()
    const result = await act()
    end()
    return result
  }
  const read = async <R>(act: () => Promise<R>): Promise<R> => {
    begin()
    return act()
  }
  return {
    get: (...call) => read(() => collection.get(...call)),
    find: (...call) => read(() => collection.find(...call)),
    count: (...call) => read(() => collection.count(...call)),
    insert: (...call) => write(() => collection.insert(...call)),
    replace: (...call) => write(() => collection.replace(...call)),
    delete: (...call) => write(() => collection.delete(...call)),
  }
}
