import type { Client } from '@connectrpc/connect'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { PaymentRefundService } from '#gen/multihub/payments/v1/payment_refund_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { createPublisher, type Publisher, publishEventHandler } from '#lib/patterns/effects/publisher.ts'
import { createEffectRunner, type EffectRunner } from '#lib/patterns/effects/runner.ts'
import { createIdempotency } from '#lib/patterns/idempotency/idempotency.ts'
import type { Role } from '#lib/role/role.ts'
import type { Chargeback } from './chargebacks/domain/chargeback.ts'
import { bindReturnAmount } from './chargebacks/effects/return-amount.ts'
import { createChargebackRpc } from './chargebacks/rpc/chargeback-service.ts'
import { createMerchantChargebackRpc } from './chargebacks/rpc/merchant-chargeback-service.ts'
import { CHARGEBACKS, findChargebackById, keyOfChargeback } from './chargebacks/store/chargebacks.ts'
import { isUsedByChargeback } from './chargebacks/use-cases/change-chargeback.ts'
import { bindStoreComment } from './effects/store-comment.ts'
import type { Refund } from './refunds/domain/refund.ts'
import { storeRefundCommentEffect } from './refunds/domain/refund-comment.ts'
import { createMerchantRefundRpc } from './refunds/rpc/merchant-refund-service.ts'
import { createRefundRpc } from './refunds/rpc/refund-service.ts'
import { storeRefundComment } from './refunds/store/refund-comments.ts'
import { findRefundById, keyOfRefund, REFUNDS } from './refunds/store/refunds.ts'
import { createAttachmentUseRpc } from './rpc/attachment-use-service.ts'
import { createEffectRpc } from './rpc/effect-service.ts'
import { openSupportStore, type SupportStore } from './store/support-store.ts'
import { storeCommentEffect } from './tickets/domain/comment.ts'
import type { Ticket } from './tickets/domain/ticket.ts'
import { createMerchantTicketRpc } from './tickets/rpc/merchant-ticket-service.ts'
import { createTicketRpc } from './tickets/rpc/ticket-service.ts'
import { storeComment } from './tickets/store/comments.ts'
import { findTicketOfAny, keyOfTicket, TICKETS } from './tickets/store/tickets.ts'
import { isUsedByComment, isUsedByTicket } from './tickets/use-cases/use-files.ts'
import type { FileOwners } from './use-cases/attachment-use.ts'
import { type StuckDocuments, stuckDocuments } from './use-cases/stuck-effects.ts'

/** The support service: tickets, refunds and chargebacks. It has no settings of its own. */
export const role: Role = {
  name: 'support',
  settings: {},
  async start(context) {
    const store = await openSupportStore(await context.openStore())
    const { tickets, comments, refunds, chargebacks } = store
    const idempotency = createIdempotency(store.idempotency_records, context.clock_guard)
    const payment_refunds = context.clientOf(PaymentRefundService)
    const attachments = context.clientOf(AttachmentService)
    const publisher = await createPublisher(context.bus)
    const runners = createRunners(store, { publisher, payment_refunds, clock_guard: context.clock_guard })
    const ticket_deps = {
      tickets,
      comments,
      runner: runners.tickets,
      idempotency,
      payments: context.clientOf(PaymentService),
      keyring: context.keyring,
      attachments,
    }
    const refund_deps = {
      refunds,
      runner: runners.refunds,
      idempotency,
      refund_comments: store.refund_comments,
      payments: payment_refunds,
      keyring: context.keyring,
    }
    const chargeback_deps = {
      chargebacks,
      runner: runners.chargebacks,
      idempotency,
      attachments,
      payments: payment_refunds,
      keyring: context.keyring,
    }
    return {
      services: [
        createMerchantTicketRpc(ticket_deps),
        createTicketRpc(ticket_deps),
        createMerchantRefundRpc(refund_deps),
        createRefundRpc(refund_deps),
        createMerchantChargebackRpc(chargeback_deps),
        createChargebackRpc(chargeback_deps),
        createAttachmentUseRpc(fileOwners(store)),
        createEffectRpc(
          new Map([
            ['tickets', stuckTickets(store, runners.tickets)],
            ['refunds', stuckRefunds(store, runners.refunds)],
            ['chargebacks', stuckChargebacks(store, runners.chargebacks)],
          ]),
        ),
      ],
      async open() {
        for (const runner of Object.values(runners)) runner.start()
        return {}
      },
      async stop() {
        for (const runner of Object.values(runners)) await runner.stop()
        await publisher.close()
      },
    }
  },
}

/** The resources that have files, each asked by the part that it belongs to (F7). */
export function fileOwners({ tickets, comments, chargebacks }: SupportStore): FileOwners {
  return {
    ticket: (use, id) => isUsedByTicket({ tickets }, use, id),
    comment: (use, id) => isUsedByComment({ tickets, comments }, use, id),
    chargeback: (use, id) => isUsedByChargeback(chargebacks, use, id),
  }
}

/** What effects need besides the store. */
interface EffectDeps {
  readonly publisher: Publisher
  readonly payment_refunds: Client<typeof PaymentRefundService>
  readonly clock_guard: ClockGuard
}

/** The runners of the effects of each kind of resource. */
interface Runners {
  readonly tickets: EffectRunner<Ticket>
  readonly refunds: EffectRunner<Refund>
  readonly chargebacks: EffectRunner<Chargeback>
}

function createRunners(store: SupportStore, deps: EffectDeps): Runners {
  const { tickets, comments, refunds, refund_comments, chargebacks } = store
  const { publisher, payment_refunds, clock_guard } = deps
  const publish = publishEventHandler(publisher)
  return {
    tickets: createEffectRunner<Ticket>({
      name: 'tickets',
      collection: tickets,
      clock_guard,
      keyOf: keyOfTicket,
      effects: [
        bindStoreComment(storeCommentEffect, (comment) => storeComment(comments, comment)),
        publishEventEffect.bind<Ticket>(publish),
      ],
    }),
    refunds: createEffectRunner<Refund>({
      name: 'refunds',
      collection: refunds,
      clock_guard,
      keyOf: keyOfRefund,
      effects: [
        bindStoreComment(storeRefundCommentEffect, (comment) => storeRefundComment(refund_comments, comment)),
        publishEventEffect.bind<Refund>(publish),
      ],
    }),
    chargebacks: createEffectRunner<Chargeback>({
      name: 'chargebacks',
      collection: chargebacks,
      clock_guard,
      keyOf: keyOfChargeback,
      effects: [bindReturnAmount(payment_refunds), publishEventEffect.bind<Chargeback>(publish)],
    }),
  }
}

function stuckTickets({ tickets }: SupportStore, runner: EffectRunner<Ticket>): StuckDocuments {
  return stuckDocuments({
    collection: tickets,
    runner,
    key_fields: TICKETS.key,
    keyOf: keyOfTicket,
    not_found: 10001,
    idOf: ({ ticket_id }) => ticket_id,
    find: (id) => findTicketOfAny(tickets, id),
  })
}

function stuckRefunds({ refunds }: SupportStore, runner: EffectRunner<Refund>): StuckDocuments {
  return stuckDocuments({
    collection: refunds,
    runner,
    key_fields: REFUNDS.key,
    keyOf: keyOfRefund,
    not_found: 11001,
    idOf: ({ refund_id }) => refund_id,
    find: (id) => findRefundById(refunds, id),
  })
}

function stuckChargebacks({ chargebacks }: SupportStore, runner: EffectRunner<Chargeback>): StuckDocuments {
  return stuckDocuments({
    collection: chargebacks,
    runner,
    key_fields: CHARGEBACKS.key,
    keyOf: keyOfChargeback,
    not_found: 12001,
    idOf: ({ chargeback_id }) => chargeback_id,
    find: (id) => findChargebackById(chargebacks, id),
  })
}
